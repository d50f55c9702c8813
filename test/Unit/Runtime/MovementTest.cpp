//===- MovementTest.cpp - slices, padding, step inputs --------------------===//

#include "Support.h"

using namespace galv;
using namespace galv::test;

namespace {

TEST(MovementTest, PadAndUnpad) {
  for (int64_t dimension : {0, 1, 2}) {
    auto x = normal<float>("x", {2, 3, 4});
    Tensor<float> wide({2 + 2 * (dimension == 0), 3 + 2 * (dimension == 1),
                        4 + 2 * (dimension == 2)});
    std::fill(wide.values.begin(), wide.values.end(), 9.f);
    Tensor<float> back = x;
    std::fill(back.values.begin(), back.values.end(), 9.f);
    onOneRank([&](Context &c) {
      pad(c, wide, x, dimension);
      unpad(c, back, wide, dimension);
    });
    EXPECT_EQ(back.values, x.values);
    double sum = 0, expected = 0;
    for (float value : wide.values)
      sum += std::abs(value);
    for (float value : x.values)
      expected += std::abs(value);
    EXPECT_NEAR(sum, expected, 1e-5); // all that was added is zero
  }
}

TEST(MovementTest, SliceAndKeepFirst) {
  Line line(2);
  auto x = normal<double>("x", {3, 4});
  runInProcess(line.program, [&](Context &c) {
    int rank = c.world().rank();
    Tensor<double> part({3, 2}), kept({3, 4});
    slice(c, part, x, 1, axis);
    keep_first(c, kept, x, axis);
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 2; ++j)
        EXPECT_EQ(part[i * 2 + j], x[i * 4 + rank * 2 + j]);
    for (int i = 0; i < 12; ++i)
      EXPECT_EQ(kept[i], rank == 0 ? x[i] : 0);
    Tensor<double> odd({3, 3});
    EXPECT_THROW(slice(c, odd, x, 1, axis), Error);
  });
}

/// A batch of 8 in 2 microbatches over rows and columns of a 2 x 2 mesh.
TEST(MovementTest, Input) {
  const Axis mesh[] = {{"a", 2}, {"b", 2}};
  const int a[] = {0}, b[] = {1};
  const GroupDescription groups[] = {{{}, false}, {a, false}, {b, false}};
  Stage stage{};
  Program program{};
  program.mesh = mesh;
  program.groups = groups;
  program.stages = {&stage, 1};
  program.microbatches = 2;
  runInProcess(program, [&](Context &c) {
    for (int row = 0; row < 8; ++row)
      for (int column = 0; column <= 6; ++column)
        c.step.samples.push_back(row * 100 + column);
    c.microbatch = 1;
    int64_t ra = c.coordinate(0), rb = c.coordinate(1);
    Tensor<int64_t> tokens({2, 3}), labels({4, 6}), places({3});
    input(c, tokens, 8, {2}, true, "tokens", {1}, 6);
    input(c, labels, 8, {0}, false, "labels", {1}, 6);
    positions(c, places, {2}, 6);
    for (int i = 0; i < 2; ++i)
      for (int j = 0; j < 3; ++j)
        EXPECT_EQ(tokens[i * 3 + j], (4 + ra * 2 + i) * 100 + rb * 3 + j);
    for (int i = 0; i < 4; ++i)
      for (int j = 0; j < 6; ++j)
        EXPECT_EQ(labels[i * 6 + j], (ra * 4 + i) * 100 + j + 1);
    EXPECT_EQ(places[1], rb * 3 + 1);

    Tensor<double> count({});
    c.step.ignoredToken = ra * 400 + 1;
    labels[5] = -1;
    count_valid(c, count, labels);
    EXPECT_EQ(count[0], 22);
  });
}

} // namespace
