//===- KernelTest.cpp - kernels against loops -----------------------------===//

#include "Support.h"

#include <limits>

using namespace galv;
using namespace galv::test;

namespace {

template <typename T>
class KernelTest : public testing::Test {};
using Floats = testing::Types<float, double>;
TYPED_TEST_SUITE(KernelTest, Floats);

TYPED_TEST(KernelTest, Linear) {
  using T = TypeParam;
  auto x = normal<T>("x", {2, 3, 5}), w = normal<T>("w", {7, 5});
  auto b = normal<T>("b", {7}), dy = normal<T>("dy", {2, 3, 7});
  Tensor<T> y({2, 3, 7}), plain({2, 3, 7}), dx({2, 3, 5}), dw({7, 5}), db({7});
  Tensor<T> ry = y, rplain = y, rdx = dx, rdw = dw, rdb = db;
  for (int r = 0; r < 6; ++r)
    for (int n = 0; n < 7; ++n) {
      for (int k = 0; k < 5; ++k) {
        rplain[r * 7 + n] += x[r * 5 + k] * w[n * 5 + k];
        rdx[r * 5 + k] += dy[r * 7 + n] * w[n * 5 + k];
        rdw[n * 5 + k] += dy[r * 7 + n] * x[r * 5 + k];
      }
      ry[r * 7 + n] = rplain[r * 7 + n] + b[n];
      rdb[n] += dy[r * 7 + n];
    }
  onOneRank([&](Context &c) {
    linear(c, plain, x, w);
    linear(c, y, x, w, b);
    linear_input_gradient(c, dx, dy, w);
    linear_weight_gradient(c, dw, dy, x);
    sum_leading(c, db, dy, 2);
  });
  EXPECT_LT(difference(plain, rplain), rounding<T>);
  EXPECT_LT(difference(y, ry), rounding<T>);
  EXPECT_LT(difference(dx, rdx), rounding<T>);
  EXPECT_LT(difference(dw, rdw), rounding<T>);
  EXPECT_LT(difference(db, rdb), rounding<T>);
}

TYPED_TEST(KernelTest, LayerNorm) {
  using T = TypeParam;
  constexpr int rows = 6, columns = 13;
  auto x = normal<T>("x", {2, 3, columns}), w = normal<T>("w", {columns});
  auto b = normal<T>("b", {columns});
  Tensor<T> y({2, 3, columns}), mean({2, 3}), rstd({2, 3});
  Tensor<T> ry = y, rmean = mean, rrstd = rstd;
  for (int r = 0; r < rows; ++r) {
    double m = 0, v = 0;
    for (int k = 0; k < columns; ++k)
      m += x[r * columns + k] / double(columns);
    for (int k = 0; k < columns; ++k)
      v += std::pow(x[r * columns + k] - m, 2) / double(columns);
    rmean[r] = m;
    rrstd[r] = 1 / std::sqrt(v + 1e-5);
    for (int k = 0; k < columns; ++k)
      ry[r * columns + k] =
          (x[r * columns + k] - m) / std::sqrt(v + 1e-5) * w[k] + b[k];
  }
  onOneRank([&](Context &c) { layer_norm(c, y, mean, rstd, x, w, b, 1e-5); });
  EXPECT_LT(difference(y, ry), rounding<T>);
  EXPECT_LT(difference(mean, rmean), rounding<T>);
  EXPECT_LT(difference(rstd, rrstd), rounding<T>);
}

TYPED_TEST(KernelTest, Pointwise) {
  using T = TypeParam;
  auto a = normal<T>("a", {3, 4}), b = normal<T>("b", {4});
  Tensor<T> scalar({}), inverse({}), sum({3, 4}), scaled({3, 4}), y({3, 4});
  Tensor<T> rsum = sum, rscaled = scaled, ry = y, grown = a, rgrown = a;
  scalar[0] = T(2.5);
  for (int i = 0; i < 12; ++i) {
    double x = a[i];
    rsum[i] = a[i] + b[i % 4];
    rscaled[i] = a[i] * T(2.5);
    rgrown[i] = a[i] + rsum[i];
    ry[i] = 0.5 * x *
            (1 + std::tanh(std::sqrt(2 / std::acos(-1.0)) *
                           (x + 0.044715 * x * x * x)));
  }
  onOneRank([&](Context &c) {
    add(c, sum, a, b);
    scale(c, scaled, a, scalar);
    accumulate(c, grown, sum);
    gelu(c, y, a);
    reciprocal(c, inverse, scalar);
  });
  EXPECT_EQ(sum.values, rsum.values);
  EXPECT_EQ(scaled.values, rscaled.values);
  EXPECT_EQ(grown.values, rgrown.values);
  EXPECT_LT(difference(y, ry), rounding<T>);
  EXPECT_EQ(inverse[0], T(0.4));
  scalar[0] = 0;
  onOneRank([&](Context &c) { reciprocal(c, inverse, scalar); });
  EXPECT_EQ(inverse[0], 0);
}

TYPED_TEST(KernelTest, Attention) {
  using T = TypeParam;
  // Longer than one block of ATen's kernel, and no multiple of it.
  constexpr int batch = 2, length = 70, heads = 3, d = 4, width = heads * d;
  auto q = normal<T>("q", {batch, length, width});
  auto k = normal<T>("k", {batch, length, width});
  auto v = normal<T>("v", {batch, length, width});
  Tensor<T> y({batch, length, width}), lse({batch, heads, length});
  Tensor<T> ry = y, rlse = lse;
  for (int b = 0; b < batch; ++b)
    for (int h = 0; h < heads; ++h)
      for (int i = 0; i < length; ++i) {
        auto at = [&](int row) { return (b * length + row) * width + h * d; };
        std::vector<double> p(i + 1);
        double sum = 0;
        for (int j = 0; j <= i; ++j) {
          double dot = 0;
          for (int e = 0; e < d; ++e)
            dot += double(q[at(i) + e]) * k[at(j) + e];
          sum += p[j] = std::exp(dot / std::sqrt(double(d)));
        }
        rlse[(b * heads + h) * length + i] = std::log(sum);
        for (int e = 0; e < d; ++e) {
          double o = 0;
          for (int j = 0; j <= i; ++j)
            o += p[j] / sum * v[at(j) + e];
          ry[at(i) + e] = o;
        }
      }
  onOneRank([&](Context &c) { attention(c, y, lse, q, k, v, d); });
  EXPECT_LT(difference(y, ry), rounding<T>);
  EXPECT_LT(difference(lse, rlse), rounding<T>);
}

TYPED_TEST(KernelTest, CrossEntropyWhole) {
  using T = TypeParam;
  constexpr int rows = 5, vocabulary = 11, columns = 13; // two are padding
  auto x = normal<T>("x", {rows, columns});
  Tensor<int64_t> labels({rows});
  labels.values = {3, 7, 10, 7, 0};
  Tensor<T> loss({}), lse({rows}), seed({}), dx({rows, columns});
  Tensor<T> rlse = lse, rdx = dx;
  seed[0] = T(0.25);
  double rloss = 0;
  for (int r = 0; r < rows; ++r) {
    double sum = 0;
    for (int j = 0; j < vocabulary; ++j)
      sum += std::exp(double(x[r * columns + j]));
    rlse[r] = std::log(sum);
    if (labels[r] == 7) // ignored
      continue;
    rloss += std::log(sum) - x[r * columns + labels[r]];
    for (int j = 0; j < vocabulary; ++j)
      rdx[r * columns + j] =
          0.25 *
          (std::exp(double(x[r * columns + j])) / sum - (j == labels[r]));
  }
  // Padding may hold anything and must come out as zero.
  for (int r = 0; r < rows; ++r)
    for (int j = vocabulary; j < columns; ++j) {
      x[r * columns + j] = std::numeric_limits<T>::quiet_NaN();
      dx[r * columns + j] = 5;
    }
  onOneRank([&](Context &c) {
    c.step.ignoredToken = 7;
    cross_entropy(c, loss, lse, x, labels, solo, vocabulary);
    cross_entropy_gradient(c, dx, seed, x, labels, lse, solo, vocabulary);
  });
  EXPECT_NEAR(loss[0], rloss, rloss * rounding<T>);
  EXPECT_LT(difference(lse, rlse), rounding<T>);
  EXPECT_LT(difference(dx, rdx), rounding<T>);
}

/// A vocabulary of 10 over 4 ranks of 3 rows each: the last rank has one, and
/// of 5 over 4 ranks of 2: the last has none.
TEST(VocabularyTest, SplitEqualsWhole) {
  for (int vocabulary : {10, 5}) {
    int chunk = (vocabulary + 3) / 4;
    constexpr int rows = 6, width = 3;
    auto x = normal<double>("x", {rows, vocabulary});
    auto table = normal<double>("table", {vocabulary, width});
    auto dy = normal<double>("dy", {rows, width});
    auto labels = integers("labels", vocabulary, {rows});
    labels[2] = -1;
    Tensor<double> seed({});
    seed[0] = 0.5;
    Tensor<double> loss({}), lse({rows}), dx({rows, vocabulary});
    Tensor<double> y({rows, width}), dtable({vocabulary, width});
    auto ids = integers("ids", vocabulary, {rows});
    onOneRank([&](Context &c) {
      cross_entropy(c, loss, lse, x, labels, solo, vocabulary);
      cross_entropy_gradient(c, dx, seed, x, labels, lse, solo, vocabulary);
      embedding(c, y, ids, table, solo, vocabulary);
      embedding_gradient(c, dtable, dy, ids, solo, vocabulary);
    });
    for (int i = 0; i < rows; ++i)
      for (int k = 0; k < width; ++k)
        EXPECT_EQ(y[i * width + k], table[ids[i] * width + k]);

    Line line(4);
    runInProcess(line.program, [&](Context &c) {
      int first = c.world().rank() * chunk;
      Tensor<double> part({rows, chunk}), dpart({rows, chunk});
      Tensor<double> rows_({chunk, width}), drows({chunk, width});
      for (int i = 0; i < rows; ++i)
        for (int j = 0; j < chunk; ++j)
          part[i * chunk + j] = first + j < vocabulary
                                    ? x[i * vocabulary + first + j]
                                    : 1e9; // padding: must not count
      for (int j = 0; j < chunk && first + j < vocabulary; ++j)
        for (int k = 0; k < width; ++k)
          rows_[j * width + k] = table[(first + j) * width + k];

      Tensor<double> top({rows}), all({rows}), sums({2, rows}),
          total({2, rows});
      Tensor<double> myLoss({}), myLse({rows}), looked({rows, width}),
          joined({rows, width});
      cross_entropy_maximum(c, top, part, axis, vocabulary);
      all_reduce(c, all, top, "max", axis);
      cross_entropy_parts(c, sums, part, labels, all, axis, vocabulary);
      all_reduce(c, total, sums, "sum", axis);
      cross_entropy_finish(c, myLoss, myLse, all, total, labels);
      cross_entropy_gradient(c, dpart, seed, part, labels, myLse, axis, vocabulary);
      embedding(c, looked, ids, rows_, axis, vocabulary);
      all_reduce(c, joined, looked, "sum", axis);
      embedding_gradient(c, drows, dy, ids, axis, vocabulary);

      EXPECT_NEAR(myLoss[0], loss[0], 1e-12 * loss[0]);
      EXPECT_LT(difference(myLse, lse), 1e-12);
      EXPECT_EQ(joined.values, y.values);
      for (int j = 0; j < chunk; ++j) {
        bool valid = first + j < vocabulary;
        for (int i = 0; i < rows; ++i)
          EXPECT_NEAR(dpart[i * chunk + j],
                      valid ? dx[i * vocabulary + first + j] : 0, 1e-14);
        for (int k = 0; k < width; ++k)
          EXPECT_EQ(drows[j * width + k],
                    valid ? dtable[(first + j) * width + k] : 0);
      }
    });
  }
}

TYPED_TEST(KernelTest, AdamWIsTorchs) {
  using T = TypeParam;
  // The formula of torch.optim.AdamW, in double.
  constexpr double rate = 0.1, beta1 = 0.9, beta2 = 0.95, epsilon = 1e-8,
                   decay = 0.3, clip = 0.7;
  auto p = normal<T>("p", {9}), gradient = normal<T>("g", {9});
  Tensor<T> m({9}), v({9}), coefficient({}), norm({}), squares({});
  double total = 0;
  for (int i = 0; i < 9; ++i)
    total += double(gradient[i]) * gradient[i];
  double factor = std::min(1.0, clip / (std::sqrt(total) + 1e-6));
  ASSERT_LT(factor, 1);
  for (bool decays : {true, false}) {
    Tensor<T> rp = p, rm = m, rv = v;
    for (int step = 1; step <= 3; ++step) {
      for (int i = 0; i < 9; ++i) {
        double g = gradient[i] * factor;
        double mean = beta1 * rm[i] + (1 - beta1) * g;
        double square = beta2 * rv[i] + (1 - beta2) * g * g;
        double x = rp[i] * (1 - rate * (decays ? decay : 0));
        x -= rate / (1 - std::pow(beta1, step)) * mean /
             (std::sqrt(square) / std::sqrt(1 - std::pow(beta2, step)) +
              epsilon);
        rp[i] = x, rm[i] = mean, rv[i] = square;
      }
      onOneRank([&](Context &c) {
        c.step.number = step;
        c.step.learningRate = rate;
        c.step.beta1 = beta1;
        c.step.beta2 = beta2;
        c.step.epsilon = epsilon;
        c.step.weightDecay = decay;
        c.step.clipNorm = clip;
        sum_of_squares(c, squares, gradient);
        clip_coefficient(c, coefficient, norm, squares);
        adamw(c, p, m, v, gradient, coefficient, decays);
        c.step.clipNorm.reset();
      });
      EXPECT_NEAR(norm[0], std::sqrt(total), rounding<T>);
      EXPECT_NEAR(coefficient[0], factor, rounding<T>);
      EXPECT_LT(difference(p, rp), rounding<T>);
      EXPECT_LT(difference(m, rm), rounding<T>);
      EXPECT_LT(difference(v, rv), rounding<T>);
    }
    m = Tensor<T>({9}), v = Tensor<T>({9});
  }
  onOneRank(
      [&](Context &c) { clip_coefficient(c, coefficient, norm, squares); });
  EXPECT_EQ(coefficient[0], 1); // without --clip-norm
}

} // namespace
