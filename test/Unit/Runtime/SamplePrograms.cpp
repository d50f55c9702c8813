//===- SamplePrograms.cpp - programs as the compiler would emit -----------===//

#include "SamplePrograms.h"

#include <cstring>

using namespace galv;
using namespace sample;

namespace {

constexpr Type real = Type::f64;
constexpr int64_t elements = vocabulary * width;
constexpr int64_t rows = batch / microbatches; // of a microbatch
constexpr Group none{0}, over{1};

/// Values of the arena, a kilobyte each.
enum Value {
  table,
  tableGradient,
  tableMean,
  tableSquare,
  head,
  headGradient,
  headMean,
  headSquare, // at rest
  headUse,
  headSum,
  inverse,
  lossSum,
  loss,
  squares,
  coefficient,
  norm,
  copyOfTable,
  slots
};
constexpr int64_t unit = 1024;
constexpr int64_t slotStride = 2 * unit; // x and its cotangent
constexpr int64_t scratch = slots * unit + microbatches * slotStride;
constexpr int64_t arenaBytes = scratch + 16 * unit;

constexpr Operand at(int value) { return {value * unit, 0, false}; }
constexpr Operand slotX = {slots * unit, 0, true};
constexpr Operand slotDx = {(slots + 1) * unit, 0, true};
constexpr Operand absent = {-1, 0, false};

/// Scratch values, by number.
View local(const Frame &f, int number, Type type,
           std::initializer_list<int64_t> shape) {
  return f.local(number * unit, type, shape);
}
View matrix(const Frame &f, int argument) {
  return f.argument(argument, real, {vocabulary, width});
}
View scalar(const Frame &f, int argument) {
  return f.argument(argument, real, {});
}

/// 1 / number of labels over the group: (inverse).
void count(Context &c, const Frame &f, int64_t localRows) {
  View labels = local(f, 0, Type::i64, {localRows, sequence});
  View mine = local(f, 1, real, {}), all = local(f, 2, real, {});
  input(c, labels, "labels", batch, sequence, false, over, none);
  count_valid(c, mine, labels);
  all_reduce(c, all, mine, over, "sum");
  reciprocal(c, scalar(f, 0), all);
}

/// loss += ..., head gradient += ..., cotangent of x: with x, labels, logits
/// and their like in the scratch area from number 4 on.
void headBoth(Context &c, const Frame &f, View x, View dx, View labels,
              View headUse, View headSum, View inverse, View lossSum,
              int64_t r) {
  View logits = local(f, 4, real, {r, sequence, vocabulary});
  View gradient = local(f, 5, real, {r, sequence, vocabulary});
  View lse = local(f, 6, real, {r, sequence}), part = local(f, 7, real, {});
  View dhead = local(f, 8, real, {vocabulary, width});
  linear(c, logits, x, headUse);
  cross_entropy(c, part, lse, logits, labels, vocabulary, none);
  accumulate(c, lossSum, part);
  cross_entropy_gradient(c, gradient, inverse, logits, labels, lse, vocabulary,
                         none);
  linear_weight_gradient(c, dhead, gradient, x);
  accumulate(c, headSum, dhead);
  linear_input_gradient(c, dx, gradient, headUse);
}

//===----------------------------------------------------------------------===//
// One rank, or N data-parallel ranks
//===----------------------------------------------------------------------===//

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
  input(c, tokens, "tokens", batch, sequence, true, over, none);
  input(c, labels, "labels", batch, sequence, true, over, none);
  embedding(c, x, tokens, matrix(f, 0), vocabulary, none);
  headBoth(c, f, x, dx, labels, matrix(f, 1), matrix(f, 4), scalar(f, 2),
           scalar(f, 5), r);
  embedding_gradient(c, dtable, dx, tokens, vocabulary, none);
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
  all_reduce(c, matrix(f, 1), matrix(f, 1), over, "sum");
  reshape(c, flat, matrix(f, 8));
  pad(c, padded, flat, 0);
  reduce_scatter(c, rest(5), padded, 0, over);
  all_reduce(c, sum, scalar(f, 10), over, "sum");
  scale(c, scalar(f, 11), sum, scalar(f, 9));
  sum_of_squares(c, part, matrix(f, 1));
  keep_first(c, kept, part, over);
  sum_of_squares(c, part, rest(5));
  accumulate(c, kept, part);
  all_reduce(c, scalar(f, 12), kept, over, "sum");
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

constexpr Parameter tableParameter = {"wte.weight",
                                      real,
                                      2,
                                      {vocabulary, width},
                                      {vocabulary, width},
                                      {0, 0},
                                      false,
                                      Initializer::normal,
                                      0.5,
                                      false,
                                      {{}, {}},
                                      {},
                                      0,
                                      1,
                                      at(table),
                                      at(tableGradient),
                                      {at(tableMean), at(tableSquare)}};
/// The head is stored as [width, vocabulary].
constexpr Parameter headOver(Span<int> flat) {
  return {"head.weight",
          real,
          2,
          {vocabulary, width},
          {width, vocabulary},
          {0, 0},
          true,
          Initializer::normal,
          0.5,
          false,
          {{}, {}},
          flat,
          0,
          1,
          at(head),
          at(headGradient),
          {at(headMean), at(headSquare)}};
}
constexpr Parameter lineParameters[] = {tableParameter, headOver(firstAxis)};

constexpr const char *configuration = "{\"model_type\": \"sample\"}\n";

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

//===----------------------------------------------------------------------===//
// Two pipeline stages
//===----------------------------------------------------------------------===//

/// (tableGradient)
void firstBegin(Context &c, const Frame &f) { fill_zero(c, matrix(f, 0)); }

/// (x, table)
void firstForward(Context &c, const Frame &f) {
  View tokens = local(f, 0, Type::i64, {rows, sequence});
  input(c, tokens, "tokens", batch, sequence, true, none, none);
  embedding(c, f.argument(0, real, {rows, sequence, width}), tokens,
            matrix(f, 1), vocabulary, none);
}

/// (tableGradient, dx)
void firstBackward(Context &c, const Frame &f) {
  View tokens = local(f, 0, Type::i64, {rows, sequence});
  View dtable = local(f, 1, real, {vocabulary, width});
  input(c, tokens, "tokens", batch, sequence, true, none, none);
  embedding_gradient(c, dtable, f.argument(1, real, {rows, sequence, width}),
                     tokens, vocabulary, none);
  accumulate(c, matrix(f, 0), dtable);
}

/// (parameter, gradient, state, state, loss, coefficient, norm), on both
/// stages; the loss comes in as this stage's part.
void stageFinish(Context &c, const Frame &f) {
  View mine = local(f, 0, real, {}), part = local(f, 1, real, {});
  View all = local(f, 2, real, {});
  sum_of_squares(c, part, matrix(f, 1));
  all_reduce(c, all, part, over, "sum");
  copy(c, mine, scalar(f, 4));
  all_reduce(c, scalar(f, 4), mine, over, "sum");
  clip_coefficient(c, scalar(f, 5), scalar(f, 6), all);
  adamw(c, matrix(f, 0), matrix(f, 2), matrix(f, 3), matrix(f, 1), scalar(f, 5),
        true);
}

/// (inverse, headGradient, lossSum)
void secondBegin(Context &c, const Frame &f) {
  View labels = local(f, 0, Type::i64, {batch, sequence});
  View number = local(f, 1, real, {});
  input(c, labels, "labels", batch, sequence, false, none, none);
  count_valid(c, number, labels);
  reciprocal(c, scalar(f, 0), number);
  fill_zero(c, matrix(f, 1));
  fill_zero(c, scalar(f, 2));
}

/// (x, dx, head, headGradient, inverse, lossSum)
void secondBoth(Context &c, const Frame &f) {
  View labels = local(f, 0, Type::i64, {rows, sequence});
  input(c, labels, "labels", batch, sequence, true, none, none);
  headBoth(c, f, f.argument(0, real, {rows, sequence, width}),
           f.argument(1, real, {rows, sequence, width}), labels, matrix(f, 2),
           matrix(f, 3), scalar(f, 4), scalar(f, 5), rows);
}

/// (loss, lossSum, inverse)
void secondLoss(Context &c, const Frame &f) {
  scale(c, scalar(f, 0), scalar(f, 1), scalar(f, 2));
}

/// (loss)
void firstLoss(Context &c, const Frame &f) { fill_zero(c, scalar(f, 0)); }

constexpr int64_t xBytes = rows * sequence * width * 8;
constexpr Operand o1[] = {at(tableGradient)};
constexpr Operand o2[] = {slotX, at(table)};
constexpr Operand o3[] = {at(tableGradient), slotDx};
constexpr Operand o4[] = {at(loss)};
constexpr Operand o5[] = {at(table),       at(tableGradient), at(tableMean),
                          at(tableSquare), at(loss),          at(coefficient),
                          at(norm)};
constexpr Row firstRows[] = {
    {"begin", "embedding", firstBegin, 0, 1, 1, o1},
    {"forward", "embedding", firstForward, 0, 1, 1, o2},
    {"backward", "embedding", firstBackward, 0, 1, 1, o3},
    {"loss", "embedding", firstLoss, 0, 1, 1, o4},
    {"finish", "embedding", stageFinish, 0, 1, 1, o5}};
constexpr Segment firstSegments[] = {{"begin", {firstRows, 1}},
                                     {"forward", {firstRows + 1, 1}},
                                     {"backward", {firstRows + 2, 1}},
                                     {"finish", {firstRows + 3, 2}}};
constexpr Transfer firstTransfers[] = {
    {true, 1, 0, at(table), elements * 8}, // refreshes the copy
    {true, 1, 1, slotX, xBytes},
    {false, 1, 2, slotDx, xBytes}};

constexpr Operand p1[] = {at(inverse), at(headGradient), at(lossSum)};
constexpr Operand p2[] = {slotX,       slotDx,     at(head), at(headGradient),
                          at(inverse), at(lossSum)};
constexpr Operand p3[] = {at(loss), at(lossSum), at(inverse)};
constexpr Operand p4[] = {at(head),       at(headGradient), at(headMean),
                          at(headSquare), at(loss),         at(coefficient),
                          at(norm)};
constexpr Row secondRows[] = {{"begin", "head", secondBegin, 0, 1, 1, p1},
                              {"both", "head", secondBoth, 0, 1, 1, p2},
                              {"loss", "head", secondLoss, 0, 1, 1, p3},
                              {"finish", "head", stageFinish, 0, 1, 1, p4}};
constexpr Segment secondSegments[] = {{"begin", {secondRows, 1}},
                                      {"both", {secondRows + 1, 1}},
                                      {"finish", {secondRows + 2, 2}}};
constexpr Transfer secondTransfers[] = {
    {false, 0, 0, at(copyOfTable), elements * 8},
    {false, 0, 1, slotX, xBytes},
    {true, 0, 2, slotDx, xBytes}};

// One forward, one backward. The middle group of each stage sends one value and
// receives another: started one after the other they would wait for ever.
constexpr int g0[] = {0, -1}, x0[] = {1, 0}, x1dx0[] = {1, 1, 2, 0},
              dx1[] = {2, 1}, dx0x1[] = {2, 0, 1, 1};
constexpr Action firstOrder[] = {
    {Action::run, 0, -1, {}}, {Action::transfers, 0, 0, g0},
    {Action::run, 1, 0, {}},  {Action::transfers, 0, 0, x0},
    {Action::run, 1, 1, {}},  {Action::transfers, 0, 0, x1dx0},
    {Action::run, 2, 0, {}},  {Action::transfers, 0, 0, dx1},
    {Action::run, 2, 1, {}},  {Action::run, 3, -1, {}}};
constexpr Action secondOrder[] = {
    {Action::run, 0, -1, {}},         {Action::transfers, 0, 0, g0},
    {Action::transfers, 0, 0, x0},    {Action::run, 1, 0, {}},
    {Action::transfers, 0, 0, dx0x1}, {Action::run, 1, 1, {}},
    {Action::transfers, 0, 0, dx1},   {Action::run, 2, -1, {}}};

constexpr Parameter copyParameter() {
  Parameter copy = tableParameter;
  copy.copy = true;
  copy.rest = at(copyOfTable);
  copy.gradient = copy.state[0] = copy.state[1] = absent;
  return copy;
}
constexpr Parameter firstParameters[] = {tableParameter};
constexpr Parameter secondParameters[] = {copyParameter(), headOver({})};
constexpr GroupDescription stageGroups[] = {{{}, false}, {{}, true}};
constexpr Stage pipelineStages[] = {
    {"first", 0, arenaBytes, scratch, slotStride, microbatches, firstSegments,
     firstTransfers, firstOrder, firstParameters},
    {"second", 1, arenaBytes, scratch, slotStride, microbatches, secondSegments,
     secondTransfers, secondOrder, secondParameters}};
constexpr Program pipelineProgram = {
    "sample",    configuration,  real,     {},
    stageGroups, pipelineStages, batch,    sequence,
    vocabulary,  microbatches,   at(loss), at(norm)};

} // namespace

const Program *sample::find(const char *name) {
  if (!std::strcmp(name, "one"))
    return &lineProgram<1>();
  if (!std::strcmp(name, "data"))
    return &lineProgram<2>();
  if (!std::strcmp(name, "pipeline"))
    return &pipelineProgram;
  return nullptr;
}
