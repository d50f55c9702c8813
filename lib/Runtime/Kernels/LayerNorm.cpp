//===- LayerNorm.cpp - layer normalisation --------------------------------===//
//
// Loops of our own: ATen's out form is its functional form and a copy. Sums
// over a row run in eight lanes, which the compiler turns into vectors and
// which add up in one fixed order.
//
//===----------------------------------------------------------------------===//

#include "../Context.h"
#include "../Types.h"

#include <cmath>
#include <vector>

using namespace galv;

namespace {

/// The sum of term(0), ..., term(count - 1).
template <typename T, typename Term>
T laneSum(int64_t count, Term term) {
  constexpr int lanes = 8;
  T sums[lanes] = {};
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes)
    for (int lane = 0; lane < lanes; ++lane)
      sums[lane] += term(i + lane);
  for (; i < count; ++i)
    sums[i % lanes] += term(i);
  return ((sums[0] + sums[4]) + (sums[1] + sums[5])) +
         ((sums[2] + sums[6]) + (sums[3] + sums[7]));
}

template <typename T>
void forward(T *y, T *mean, T *rstd, const T *x, const T *weight, const T *bias,
             T epsilon, int64_t rows, int64_t columns) {
  for (int64_t row = 0; row < rows; ++row, x += columns, y += columns) {
    T m = laneSum<T>(columns, [&](int64_t i) { return x[i]; }) /
          static_cast<T>(columns);
    // The second pass around the mean avoids the cancellation of
    // mean(x^2) - mean(x)^2.
    T variance =
        laneSum<T>(columns,
                   [&](int64_t i) { return (x[i] - m) * (x[i] - m); }) /
        static_cast<T>(columns);
    T r = 1 / std::sqrt(variance + epsilon);
    for (int64_t i = 0; i < columns; ++i)
      y[i] = (x[i] - m) * r * weight[i] + bias[i];
    mean[row] = m;
    rstd[row] = r;
  }
}

/// With g = cotangent * weight and n = (x - mean) rstd:
/// dx = rstd (g - mean(g) - n mean(g n)).
template <typename T>
void inputGradient(T *dx, const T *dy, const T *x, const T *weight,
                   const T *mean, const T *rstd, int64_t rows,
                   int64_t columns) {
  for (int64_t row = 0; row < rows; ++row) {
    T m = mean[row], r = rstd[row], scale = 1 / static_cast<T>(columns);
    T g = laneSum<T>(columns, [&](int64_t i) { return dy[i] * weight[i]; });
    T gn = laneSum<T>(columns, [&](int64_t i) {
      return dy[i] * weight[i] * ((x[i] - m) * r);
    });
    g *= scale;
    gn *= scale;
    for (int64_t i = 0; i < columns; ++i)
      dx[i] = r * (dy[i] * weight[i] - g - (x[i] - m) * r * gn);
    x += columns;
    dy += columns;
    dx += columns;
  }
}

} // namespace

void galv::layer_norm(Context &, View result, View mean, View rstd, View x,
                      View weight, View bias, double epsilon) {
  dispatchFloating(x.type, [&](auto zero) {
    using T = decltype(zero);
    forward(elementsOf<T>(result), elementsOf<T>(mean), elementsOf<T>(rstd),
            elementsOf<T>(x), elementsOf<T>(weight), elementsOf<T>(bias),
            static_cast<T>(epsilon), rowsOf(x), columnsOf(x));
  });
}

void galv::layer_norm_input_gradient(Context &, View result, View cotangent,
                                     View x, View weight, View mean,
                                     View rstd) {
  dispatchFloating(x.type, [&](auto zero) {
    using T = decltype(zero);
    inputGradient(elementsOf<T>(result), elementsOf<T>(cotangent),
                  elementsOf<T>(x), elementsOf<T>(weight), elementsOf<T>(mean),
                  elementsOf<T>(rstd), rowsOf(x), columnsOf(x));
  });
}

void galv::layer_norm_weight_gradient(Context &, View result, View cotangent,
                                      View x, View mean, View rstd) {
  int64_t rows = rowsOf(x), columns = columnsOf(x);
  // A plain running sum over all rows: in double, so that it stays accurate
  // however many there are.
  std::vector<double> sums(columns, 0);
  dispatchFloating(x.type, [&](auto zero) {
    using T = decltype(zero);
    const T *dy = elementsOf<T>(cotangent), *in = elementsOf<T>(x);
    for (int64_t row = 0; row < rows; ++row, dy += columns, in += columns) {
      T m = elementsOf<T>(mean)[row], r = elementsOf<T>(rstd)[row];
      for (int64_t i = 0; i < columns; ++i)
        sums[i] += static_cast<double>(dy[i] * ((in[i] - m) * r));
    }
    for (int64_t i = 0; i < columns; ++i)
      elementsOf<T>(result)[i] = static_cast<T>(sums[i]);
  });
}
