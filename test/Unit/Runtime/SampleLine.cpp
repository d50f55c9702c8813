//===- SampleLine.cpp - one rank, or N data-parallel ranks ----------------===//

#include "SampleParts.h"

using namespace sample;

namespace {

template <int N>
constexpr int64_t piece = (elements + N - 1) / N;

/// (inverse, headUse, head, tableGradient, headSum, lossSum)
template <int N>
void begin(Context &c, const Frame &f) {
  count(c, f, batch / N);
  View padded = local(f, 3, real, {piece<N> * N});
  View flat = local(f, 4, real, {elements});
  all_gather(c, padded, f.argument(2, real, {piece<N>}), 0, over);
  unpad(c, flat, padded, 0);
  reshape(c, matrix(f, 1), flat);
  fill_zero(c, matrix(f, 3));
  fill_zero(c, matrix(f, 4));
  fill_zero(c, scalar(f, 5));
}

/// (table, headUse, inverse, tableGradient, headSum, lossSum)
template <int N>
void both(Context &c, const Frame &f) {
  constexpr int64_t r = rows / N;
  View tokens = local(f, 0, Type::i64, {r, sequence});
  View labels = local(f, 1, Type::i64, {r, sequence});
  View x = local(f, 2, real, {r, sequence, width});
  View dx = local(f, 3, real, {r, sequence, width});
  View dtable = local(f, 9, real, {vocabulary, width});
  input(c, tokens, batch, none, true, "tokens", over, sequence);
  input(c, labels, batch, none, true, "labels", over, sequence);
  embedding(c, x, tokens, matrix(f, 0), none, vocabulary);
  headBoth(c, f, x, dx, labels, matrix(f, 1), matrix(f, 4), scalar(f, 2),
           scalar(f, 5), r);
  embedding_gradient(c, dtable, dx, tokens, none, vocabulary);
  accumulate(c, matrix(f, 3), dtable);
}

/// (table, its gradient and state, head, its gradient and state, headSum,
/// inverse, lossSum, loss, squares, coefficient, norm)
template <int N>
void finish(Context &c, const Frame &f) {
  auto rest = [&](int argument) {
    return f.argument(argument, real, {piece<N>});
  };
  View padded = local(f, 0, real, {piece<N> * N});
  View flat = local(f, 1, real, {elements}), part = local(f, 2, real, {});
  View kept = local(f, 3, real, {}), sum = local(f, 4, real, {});
  all_reduce(c, matrix(f, 1), matrix(f, 1), "sum", over);
  reshape(c, flat, matrix(f, 8));
  pad(c, padded, flat, 0);
  reduce_scatter(c, rest(5), padded, 0, over);
  all_reduce(c, sum, scalar(f, 10), "sum", over);
  scale(c, scalar(f, 11), sum, scalar(f, 9));
  sum_of_squares(c, part, matrix(f, 1));
  keep_first(c, kept, part, over);
  sum_of_squares(c, part, rest(5));
  accumulate(c, kept, part);
  all_reduce(c, scalar(f, 12), kept, "sum", over);
  clip_coefficient(c, scalar(f, 13), scalar(f, 14), scalar(f, 12));
  adamw(c, matrix(f, 0), matrix(f, 2), matrix(f, 3), matrix(f, 1),
        scalar(f, 13), true);
  adamw(c, rest(4), rest(6), rest(7), rest(5), scalar(f, 13), true);
}

constexpr Operand beginOperands[] = {at(inverse), at(headUse),
                                     at(head),    at(tableGradient),
                                     at(headSum), at(lossSum)};
constexpr Operand bothOperands[] = {at(table),   at(headUse),
                                    at(inverse), at(tableGradient),
                                    at(headSum), at(lossSum)};
constexpr Operand finishOperands[] = {
    at(table),   at(tableGradient), at(tableMean), at(tableSquare),
    at(head),    at(headGradient),  at(headMean),  at(headSquare),
    at(headSum), at(inverse),       at(lossSum),   at(loss),
    at(squares), at(coefficient),   at(norm)};

constexpr int firstAxis[] = {0};
constexpr GroupDescription lineGroups[] = {{{}, false}, {firstAxis, false}};
constexpr Action lineOrder[] = {{Action::run, 0, -1, {}},
                                {Action::run, 1, 0, {}},
                                {Action::run, 1, 1, {}},
                                {Action::run, 2, -1, {}}};

constexpr Parameter lineParameters[] = {tableParameter, headOver(firstAxis)};

template <int N>
const Program &lineProgram() {
  static const Row beginRows[] = {
      {"begin", "all", begin<N>, 0, 1, 1, beginOperands}};
  static const Row bothRows[] = {
      {"forward and backward", "all", both<N>, 0, 1, 1, bothOperands}};
  static const Row finishRows[] = {
      {"finish", "all", finish<N>, 0, 1, 1, finishOperands}};
  static const Segment segments[] = {
      {"begin", beginRows}, {"both", bothRows}, {"finish", finishRows}};
  static const Axis mesh[] = {{"a", N}};
  static const Stage stages[] = {{"all",
                                  0,
                                  arenaBytes,
                                  scratch,
                                  slotStride,
                                  microbatches,
                                  segments,
                                  {},
                                  lineOrder,
                                  lineParameters}};
  static const Program program = {
      "sample", configuration, real,       mesh,         lineGroups, stages,
      batch,    sequence,      vocabulary, microbatches, at(loss),   at(norm)};
  return program;
}

} // namespace

const Program &sample::oneProgram() { return lineProgram<1>(); }
const Program &sample::dataProgram() { return lineProgram<2>(); }
