//===- Optimizer.cpp - norm, clipping and AdamW ---------------------------===//

#include "../Context.h"
#include "Tensors.h"

#include <ATen/TensorIterator.h>

#include <algorithm>
#include <cmath>

using namespace galv;

namespace {

/// The scalars of one AdamW step in the type of the parameter, computed in
/// double and then rounded, as torch.optim does.
template <typename T>
struct AdamScalars {
  T keep;                // 1 - learning rate * weight decay
  T mean, mixMean;       // 1 - beta1, beta1
  T beta2, square;       // beta2, 1 - beta2
  T root, epsilon, size; // sqrt(1 - beta2^t), epsilon, lr / (1 - beta1^t)
  T coefficient;         // of clipping

  AdamScalars(const StepInputs &step, double coefficient, bool decay)
      : keep(static_cast<T>(1 - step.learningRate *
                                    (decay ? step.weightDecay : 0))),
        mean(static_cast<T>(1 - step.beta1)),
        mixMean(static_cast<T>(step.beta1)), beta2(static_cast<T>(step.beta2)),
        square(static_cast<T>(1 - step.beta2)),
        root(static_cast<T>(std::sqrt(
            1 - std::pow(step.beta2, static_cast<double>(step.number))))),
        epsilon(static_cast<T>(step.epsilon)),
        size(static_cast<T>(
            step.learningRate /
            (1 - std::pow(step.beta1, static_cast<double>(step.number))))),
        coefficient(static_cast<T>(coefficient)) {}

  void update(T &p, T &m, T &v, T gradient) const {
    T g = gradient * coefficient;
    p *= keep;
    // torch.lerp, whose formula depends on the weight.
    m = mean < T(0.5) ? m + mean * (g - m) : g - (g - m) * mixMean;
    v = v * beta2 + square * g * g;
    p -= size * m / (std::sqrt(v) / root + epsilon);
  }
};

template <typename T>
T &at_(char *base, int64_t stride, int64_t i) {
  return *reinterpret_cast<T *>(base + i * stride);
}

} // namespace

void galv::sum_of_squares(Context &, View result, View x) {
  // In double and in eight lanes, then rounded to the result's type: at least
  // as accurate as adding in that type, and in one fixed order.
  double total = 0;
  dispatchFloating(x.type, [&](auto zero) {
    using T = decltype(zero);
    constexpr int lanes = 8;
    double sums[lanes] = {};
    const T *at = elementsOf<T>(x);
    int64_t n = x.elements(), i = 0;
    for (; i + lanes <= n; i += lanes)
      for (int lane = 0; lane < lanes; ++lane)
        sums[lane] += static_cast<double>(at[i + lane]) *
                      static_cast<double>(at[i + lane]);
    for (; i < n; ++i)
      sums[i % lanes] +=
          static_cast<double>(at[i]) * static_cast<double>(at[i]);
    for (double sum : sums)
      total += sum;
  });
  dispatchFloating(result.type, [&](auto zero) {
    *elementsOf<decltype(zero)>(result) = static_cast<decltype(zero)>(total);
  });
}

void galv::clip_coefficient(Context &context, View coefficient, View norm,
                            View sumOfSquares) {
  dispatchFloating(norm.type, [&](auto zero) {
    using T = decltype(zero);
    T length = std::sqrt(static_cast<T>(readScalar(sumOfSquares)));
    *elementsOf<T>(norm) = length;
    T factor = 1;
    // Written so that a norm that is not a number gives a coefficient that is
    // none, as torch's clamp does.
    if (context.step.clipNorm) {
      factor = static_cast<T>(*context.step.clipNorm) / (length + T(1e-6));
      factor = factor > 1 ? 1 : factor;
    }
    *elementsOf<T>(coefficient) = factor;
  });
}

void galv::adamw(Context &context, View parameter, View expAvg, View expAvgSq,
                 View gradient, View coefficient, bool decay) {
  // ATen's iterator hands out the elements to its threads; the loop is ours,
  // since its fused kernel cannot scale the gradient without changing it.
  int64_t n = parameter.elements();
  at::TensorIterator iterator =
      at::TensorIteratorConfig()
          .add_owned_output(tensor(parameter, {n}))
          .add_owned_output(tensor(expAvg, {n}))
          .add_owned_output(tensor(expAvgSq, {n}))
          .add_owned_const_input(tensor(gradient, {n}))
          .resize_outputs(false)
          .build();
  double factor = readScalar(coefficient);
  dispatchFloating(parameter.type, [&](auto zero) {
    using T = decltype(zero);
    AdamScalars<T> scalars(context.step, factor, decay);
    iterator.for_each([&](char **data, const int64_t *strides, int64_t count) {
      for (int64_t i = 0; i < count; ++i)
        scalars.update(
            at_<T>(data[0], strides[0], i), at_<T>(data[1], strides[1], i),
            at_<T>(data[2], strides[2], i), at_<T>(data[3], strides[3], i));
    });
  });
}
