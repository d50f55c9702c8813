//===- SamplePipeline.cpp - two pipeline stages ---------------------------===//

#include "SampleParts.h"

using namespace sample;

namespace {

/// (tableGradient)
void firstBegin(Context &c, const Frame &f) { fill_zero(c, matrix(f, 0)); }

/// (x, table)
void firstForward(Context &c, const Frame &f) {
  View tokens = local(f, 0, Type::i64, {rows, sequence});
  input(c, tokens, batch, none, true, "tokens", none, sequence);
  embedding(c, f.argument(0, real, {rows, sequence, width}), tokens,
            matrix(f, 1), none, vocabulary);
}

/// (tableGradient, dx)
void firstBackward(Context &c, const Frame &f) {
  View tokens = local(f, 0, Type::i64, {rows, sequence});
  View dtable = local(f, 1, real, {vocabulary, width});
  input(c, tokens, batch, none, true, "tokens", none, sequence);
  embedding_gradient(c, dtable, f.argument(1, real, {rows, sequence, width}),
                     tokens, none, vocabulary);
  accumulate(c, matrix(f, 0), dtable);
}

/// (parameter, gradient, state, state, loss, coefficient, norm), on both
/// stages; the loss comes in as this stage's part.
void stageFinish(Context &c, const Frame &f) {
  View mine = local(f, 0, real, {}), part = local(f, 1, real, {});
  View all = local(f, 2, real, {});
  sum_of_squares(c, part, matrix(f, 1));
  all_reduce(c, all, part, "sum", over);
  copy(c, mine, scalar(f, 4));
  all_reduce(c, scalar(f, 4), mine, "sum", over);
  clip_coefficient(c, scalar(f, 5), scalar(f, 6), all);
  adamw(c, matrix(f, 0), matrix(f, 2), matrix(f, 3), matrix(f, 1), scalar(f, 5),
        true);
}

/// (inverse, headGradient, lossSum)
void secondBegin(Context &c, const Frame &f) {
  View labels = local(f, 0, Type::i64, {batch, sequence});
  View number = local(f, 1, real, {});
  input(c, labels, batch, none, false, "labels", none, sequence);
  count_valid(c, number, labels);
  reciprocal(c, scalar(f, 0), number);
  fill_zero(c, matrix(f, 1));
  fill_zero(c, scalar(f, 2));
}

/// (x, dx, head, headGradient, inverse, lossSum)
void secondBoth(Context &c, const Frame &f) {
  View labels = local(f, 0, Type::i64, {rows, sequence});
  input(c, labels, batch, none, true, "labels", none, sequence);
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
// Both microbatches are forward before the first is sent: their slots must
// differ.
constexpr Action firstOrder[] = {
    {Action::run, 0, -1, {}},      {Action::transfers, 0, 0, g0},
    {Action::run, 1, 0, {}},       {Action::run, 1, 1, {}},
    {Action::transfers, 0, 0, x0}, {Action::transfers, 0, 0, x1dx0},
    {Action::run, 2, 0, {}},       {Action::transfers, 0, 0, dx1},
    {Action::run, 2, 1, {}},       {Action::run, 3, -1, {}}};
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
constexpr Program program = {"sample",    configuration,  real,     {},
                             stageGroups, pipelineStages, batch,    sequence,
                             vocabulary,  microbatches,   at(loss), at(norm)};

} // namespace

const Program &sample::pipelineProgram() { return program; }
