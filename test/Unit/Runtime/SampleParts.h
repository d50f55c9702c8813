//===- SampleParts.h - what the sample programs share -----------*- C++ -*-===//

#ifndef GALV_TEST_UNIT_RUNTIME_SAMPLEPARTS_H
#define GALV_TEST_UNIT_RUNTIME_SAMPLEPARTS_H

#include "SamplePrograms.h"

namespace sample {

using namespace galv;

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
inline View local(const Frame &f, int number, Type type,
                  std::initializer_list<int64_t> shape) {
  return f.local(number * unit, type, shape);
}
inline View matrix(const Frame &f, int argument) {
  return f.argument(argument, real, {vocabulary, width});
}
inline View scalar(const Frame &f, int argument) {
  return f.argument(argument, real, {});
}

/// 1 / number of labels over the group: (inverse).
inline void count(Context &c, const Frame &f, int64_t localRows) {
  View labels = local(f, 0, Type::i64, {localRows, sequence});
  View mine = local(f, 1, real, {}), all = local(f, 2, real, {});
  input(c, labels, batch, none, false, "labels", over, sequence);
  count_valid(c, mine, labels);
  all_reduce(c, all, mine, "sum", over);
  reciprocal(c, scalar(f, 0), all);
}

/// loss += ..., head gradient += ..., cotangent of x: with x, labels, logits
/// and their like in the scratch area from number 4 on.
inline void headBoth(Context &c, const Frame &f, View x, View dx, View labels,
                     View headUse, View headSum, View inverse, View lossSum,
                     int64_t r) {
  View logits = local(f, 4, real, {r, sequence, vocabulary});
  View gradient = local(f, 5, real, {r, sequence, vocabulary});
  View lse = local(f, 6, real, {r, sequence}), part = local(f, 7, real, {});
  View dhead = local(f, 8, real, {vocabulary, width});
  linear(c, logits, x, headUse);
  cross_entropy(c, part, lse, logits, labels, none, vocabulary);
  accumulate(c, lossSum, part);
  cross_entropy_gradient(c, gradient, inverse, logits, labels, lse, none, vocabulary);
  linear_weight_gradient(c, dhead, gradient, x);
  accumulate(c, headSum, dhead);
  linear_input_gradient(c, dx, gradient, headUse);
}

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
constexpr const char *configuration = "{\"model_type\": \"sample\"}\n";

/// The programs' tables live in files of their own.
const Program &oneProgram();
const Program &dataProgram();
const Program &pipelineProgram();

} // namespace sample

#endif // GALV_TEST_UNIT_RUNTIME_SAMPLEPARTS_H
