//===- Support.h - tensors with memory, for the runtime's tests -*- C++ -*-===//

#ifndef GALV_TEST_UNIT_RUNTIME_SUPPORT_H
#define GALV_TEST_UNIT_RUNTIME_SUPPORT_H

#include "InProcess.h"
#include "Random.h"
#include "Types.h"

#include <cmath>
#include <functional>
#include <gtest/gtest.h>
#include <vector>

namespace galv::test {

/// A tensor that owns its memory.
template <typename T>
struct Tensor {
  std::vector<int64_t> shape;
  std::vector<T> values;

  Tensor(std::initializer_list<int64_t> shape) : shape(shape) {
    int64_t n = 1;
    for (int64_t extent : shape)
      n *= extent;
    values.assign(n, T(0));
  }

  operator View() {
    Type type = std::is_same_v<T, float>    ? Type::f32
                : std::is_same_v<T, double> ? Type::f64
                                            : Type::i64;
    View view{values.data(), type, static_cast<int>(shape.size()), {}};
    std::copy(shape.begin(), shape.end(), view.shape);
    return view;
  }
  T &operator[](int64_t i) { return values[i]; }
  const T &operator[](int64_t i) const { return values[i]; }
  int64_t size() const { return values.size(); }
};

/// Standard normal values; another `site` gives other values.
template <typename T>
Tensor<T> normal(const char *site, std::initializer_list<int64_t> shape) {
  Tensor<T> tensor(shape);
  NormalValues values(1, site);
  for (int64_t i = 0; i < tensor.size(); ++i)
    tensor[i] = static_cast<T>(values(i));
  return tensor;
}

/// Whole numbers in [0, bound).
inline Tensor<int64_t> integers(const char *site, int64_t bound,
                                std::initializer_list<int64_t> shape) {
  Tensor<int64_t> tensor(shape);
  for (int64_t i = 0; i < tensor.size(); ++i)
    tensor[i] = philox(1, i, hashName(site))[0] % bound;
  return tensor;
}

/// A mesh of one axis `a`; group 0 is one rank, group 1 is the axis.
struct Line {
  Axis mesh[1];
  int axes[1] = {0};
  GroupDescription groups[2] = {{{}, false}, {axes, false}};
  Stage stage{};
  Program program{};

  explicit Line(int size) : mesh{{"a", size}} {
    program.mesh = mesh;
    program.groups = groups;
    program.stages = {&stage, 1};
    program.name = "line";
    program.microbatches = 1;
  }
  Line(const Line &) = delete;
};

constexpr Group solo{0}, axis{1};

/// Runs `body` on one rank.
inline void onOneRank(const std::function<void(Context &)> &body) {
  Line line(1);
  runInProcess(line.program, body);
}

/// max |x - y| relative to max |y|.
template <typename T>
double difference(const Tensor<T> &x, const Tensor<T> &y) {
  EXPECT_EQ(x.size(), y.size());
  double worst = 0, scale = 1e-30;
  for (int64_t i = 0; i < y.size(); ++i) {
    if (!(std::abs(x[i] - y[i]) <= worst)) // also for NaN
      worst = std::abs(x[i] - y[i]);
    scale = std::max<double>(scale, std::abs(y[i]));
  }
  return worst / scale;
}

/// Rounding of a few hundred operations in T, with a wide margin.
template <typename T>
constexpr double rounding = std::is_same_v<T, float> ? 2e-5 : 1e-12;

} // namespace galv::test

#endif // GALV_TEST_UNIT_RUNTIME_SUPPORT_H
