//===- GradientTest.cpp - gradients against finite differences ------------===//
//
// Fourth-order central differences in fp64: with steps of 1e-3 on values of
// order 1 the error of the formula is about 1e-12 times the fifth derivative,
// and rounding adds about 1e-13; 1e-9 leaves a wide margin and yet sees any
// wrong term.
//
//===----------------------------------------------------------------------===//

#include "Support.h"

using namespace galv;
using namespace galv::test;

namespace {

constexpr double tolerance = 1e-9;

/// d/dx of sum(cotangent * f(x)).
Tensor<double> differences(Tensor<double> &x, const Tensor<double> &cotangent,
                           const std::function<Tensor<double>()> &f) {
  auto value = [&] {
    Tensor<double> y = f();
    double sum = 0;
    for (int64_t i = 0; i < y.size(); ++i)
      sum += y[i] * cotangent[i];
    return sum;
  };
  Tensor<double> result = x;
  constexpr double h = 1e-3;
  for (int64_t i = 0; i < x.size(); ++i) {
    double at = x[i];
    auto shifted = [&](double by) {
      x[i] = at + by;
      return value();
    };
    result[i] =
        (8 * (shifted(h) - shifted(-h)) - (shifted(2 * h) - shifted(-2 * h))) /
        (12 * h);
    x[i] = at;
  }
  return result;
}

TEST(GradientTest, Gelu) {
  auto x = normal<double>("x", {4, 5}), dy = normal<double>("dy", {4, 5});
  Tensor<double> dx = x;
  onOneRank([&](Context &c) {
    gelu_gradient(c, dx, dy, x);
    auto expected = differences(x, dy, [&] {
      Tensor<double> y = x;
      gelu(c, y, x);
      return y;
    });
    EXPECT_LT(difference(dx, expected), tolerance);
  });
}

TEST(GradientTest, LayerNorm) {
  auto x = normal<double>("x", {2, 3, 11}),
       dy = normal<double>("dy", {2, 3, 11});
  auto w = normal<double>("w", {11}), b = normal<double>("b", {11});
  Tensor<double> y = x, dx = x, dw = w, mean({2, 3}), rstd({2, 3});
  onOneRank([&](Context &c) {
    auto run = [&] {
      layer_norm(c, y, mean, rstd, x, w, b, 1e-5);
      return y;
    };
    run();
    layer_norm_input_gradient(c, dx, dy, x, w, mean, rstd);
    layer_norm_weight_gradient(c, dw, dy, x, mean, rstd);
    EXPECT_LT(difference(dx, differences(x, dy, run)), tolerance);
    EXPECT_LT(difference(dw, differences(w, dy, run)), tolerance);
  });
}

TEST(GradientTest, Attention) {
  constexpr int d = 4;
  auto q = normal<double>("q", {2, 9, 2 * d}),
       k = normal<double>("k", {2, 9, 2 * d});
  auto v = normal<double>("v", {2, 9, 2 * d}),
       dy = normal<double>("dy", {2, 9, 2 * d});
  Tensor<double> y = q, dq = q, dk = q, dv = q, lse({2, 2, 9});
  onOneRank([&](Context &c) {
    auto run = [&] {
      attention(c, y, lse, q, k, v, d);
      return y;
    };
    run();
    attention_gradient(c, dq, dk, dv, dy, q, k, v, y, lse, d);
    EXPECT_LT(difference(dq, differences(q, dy, run)), tolerance);
    EXPECT_LT(difference(dk, differences(k, dy, run)), tolerance);
    EXPECT_LT(difference(dv, differences(v, dy, run)), tolerance);
  });
}

/// Over several of the kernel's blocks, against the formula.
TEST(GradientTest, LongAttention) {
  constexpr int length = 150, d = 8;
  auto q = normal<double>("q", {1, length, d}),
       k = normal<double>("k", {1, length, d});
  auto v = normal<double>("v", {1, length, d}),
       dy = normal<double>("dy", {1, length, d});
  Tensor<double> y = q, dq = q, dk = q, dv = q, lse({1, 1, length});
  Tensor<double> rq({1, length, d}), rk = rq, rv = rq;
  for (int i = 0; i < length; ++i) {
    std::vector<double> p(i + 1), dp(i + 1);
    double sum = 0, mean = 0, scale = 1 / std::sqrt(double(d));
    for (int j = 0; j <= i; ++j) {
      double dot = 0;
      for (int e = 0; e < d; ++e) {
        dot += q[i * d + e] * k[j * d + e];
        dp[j] += dy[i * d + e] * v[j * d + e];
      }
      sum += p[j] = std::exp(dot * scale);
    }
    for (int j = 0; j <= i; ++j)
      mean += (p[j] /= sum) * dp[j];
    for (int j = 0; j <= i; ++j)
      for (int e = 0; e < d; ++e) {
        double ds = p[j] * (dp[j] - mean) * scale;
        rq[i * d + e] += ds * k[j * d + e];
        rk[j * d + e] += ds * q[i * d + e];
        rv[j * d + e] += p[j] * dy[i * d + e];
      }
  }
  onOneRank([&](Context &c) {
    attention(c, y, lse, q, k, v, d);
    attention_gradient(c, dq, dk, dv, dy, q, k, v, y, lse, d);
  });
  EXPECT_LT(difference(dq, rq), 1e-12);
  EXPECT_LT(difference(dk, rk), 1e-12);
  EXPECT_LT(difference(dv, rv), 1e-12);
}

TEST(GradientTest, CrossEntropy) {
  constexpr int vocabulary = 7;
  auto x = normal<double>("x", {2, 3, vocabulary});
  auto labels = integers("labels", vocabulary, {2, 3});
  labels[4] = -1;
  Tensor<double> dx = x, loss({}), lse({2, 3}), seed({});
  seed[0] = 0.3;
  onOneRank([&](Context &c) {
    auto run = [&] {
      cross_entropy(c, loss, lse, x, labels, solo, vocabulary);
      return loss;
    };
    run();
    cross_entropy_gradient(c, dx, seed, x, labels, lse, solo, vocabulary);
    EXPECT_LT(difference(dx, differences(x, seed, run)), tolerance);
  });
}

TEST(GradientTest, Embedding) {
  auto table = normal<double>("table", {5, 3}),
       dy = normal<double>("dy", {2, 4, 3});
  auto ids = integers("ids", 5, {2, 4});
  Tensor<double> y = dy, dtable = table;
  onOneRank([&](Context &c) {
    embedding_gradient(c, dtable, dy, ids, solo, 5);
    auto expected = differences(table, dy, [&] {
      embedding(c, y, ids, table, solo, 5);
      return y;
    });
    EXPECT_LT(difference(dtable, expected), tolerance);
  });
}

} // namespace
