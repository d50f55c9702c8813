//===- Ranks.h - global values on ranks, and back --------------*- C++ -*-===//

#ifndef GALV_TEST_UNIT_LIBRARY_RANKS_H
#define GALV_TEST_UNIT_LIBRARY_RANKS_H

#include "test/Unit/Library/Library.h"

#include <functional>
#include <string>
#include <vector>

namespace galv::library {

/// The elements of a whole tensor; an integer is exact.
using Values = std::vector<double>;

/// One rank's part of a tensor. Elements of both types have eight bytes.
struct Part {
  Type type = Type::f64;
  std::vector<uint64_t> words;

  double get(size_t i) const;
  void set(size_t i, double value);
};

/// Where a rank's elements lie in the whole.
struct Layout {
  std::vector<int64_t> places; // -1: padding
  int64_t part = 0, parts = 1; // coordinate over the partial axes

  Layout(const Tensor &tensor, Span<Axis> mesh, int64_t rank);
};

int64_t getRanks(Span<Axis> mesh);
int64_t getElements(const Tensor &tensor);

/// A whole number in [-8, 8] or a normal value, for a name and an index.
using Random = double (*)(const std::string &name, int64_t index);
double drawNormal(const std::string &name, int64_t index);
double drawWhole(const std::string &name, int64_t index);
Values draw(const Draw &draw, const std::string &name, int64_t count,
            Random random);

/// The parts of all ranks. What is partial falls into parts drawn at random
/// whose sum, or maximum, is the value.
std::vector<Part> split(const Tensor &tensor, Span<Axis> mesh,
                        const Values &values, const std::string &name,
                        Random random);
/// Parts of the right size, full of what no function leaves behind.
std::vector<Part> makeEmpty(const Tensor &tensor, Span<Axis> mesh);

/// The whole tensor again, or what is wrong: padding that is not zero, copies
/// that are not equal bit by bit.
std::string join(const Tensor &tensor, Span<Axis> mesh,
                 const std::vector<Part> &parts, Values &values);

/// The largest difference by the largest value of `right`.
double getDeviation(const Values &values, const Values &right);

/// A function on all ranks of a mesh.
struct Call {
  Case what;
  std::vector<std::vector<Part>> operands, results; // by tensor, then rank
  std::string failure;                              // what was thrown
};

/// Runs calls, each rank a thread; a call that throws is marked and left out.
void run(Span<Axis> mesh, std::vector<Call> &calls);

} // namespace galv::library

#endif // GALV_TEST_UNIT_LIBRARY_RANKS_H
