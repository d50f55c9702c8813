//===- DataTest.cpp - data files, sample order, random numbers ------------===//

#include "Data.h"
#include "Error.h"
#include "Random.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <gtest/gtest.h>
#include <set>
#include <unistd.h>

using namespace galv;

namespace {

/// Removes the files that a test has written.
class DataTest : public testing::Test {
protected:
  std::vector<std::string> files;

  std::string writeFile(const std::string &name, const std::string &content) {
    std::string path =
        testing::TempDir() + "galv_" + std::to_string(getpid()) + "_" + name;
    files.push_back(path);
    std::FILE *file = std::fopen(path.c_str(), "wb");
    std::fwrite(content.data(), 1, content.size(), file);
    std::fclose(file);
    return path;
  }
  void TearDown() override {
    for (const std::string &path : files)
      std::remove(path.c_str());
  }
};

/// The message of the error that `body` throws.
template <typename Body>
std::string errorOf(Body body) {
  try {
    body();
  } catch (const Error &error) {
    return error.what();
  }
  return "no error";
}

TEST_F(DataTest, SamplesOverlapByOneToken) {
  std::string path = writeFile("a.txt", "abcdefghij"); // 10 tokens
  Dataset data(path, TokenType::uint16, 3);
  EXPECT_EQ(data.tokens(), 10);
  EXPECT_EQ(data.samples(), 3);
  int64_t sample[4];
  data.copySample(2, sample);
  EXPECT_EQ(sample[0], 'g');
  EXPECT_EQ(sample[3], 'j');
  // Wraps at the end: step 1 of batch 2 takes samples 2 and 0.
  SampleOrder order(data.samples(), std::nullopt);
  std::vector<int64_t> step;
  fillStep(data, order, 1, 2, 3, step);
  EXPECT_EQ(step,
            (std::vector<int64_t>{'g', 'h', 'i', 'j', 'a', 'b', 'c', 'd'}));
}

TEST_F(DataTest, TokenTypes) {
  std::string bytes("\x01\x00\x02\x00\x03\x01\x00\x00", 8);
  std::string path = writeFile("b.bin", bytes);
  Dataset narrow(path, TokenType::uint16, 1);
  EXPECT_EQ(narrow.tokens(), 4);
  EXPECT_EQ(narrow.token(2), 259);
  Dataset wide(path, TokenType::uint32, 1);
  EXPECT_EQ(wide.tokens(), 2);
  EXPECT_EQ(wide.token(0), 0x20001);
  EXPECT_EQ(errorOf([&] { narrow.checkVocabulary(259); }),
            "token 259 at position 2 of '" + path +
                "' is not below the vocabulary of 259");
  narrow.checkVocabulary(260);
}

TEST_F(DataTest, BadFiles) {
  std::string odd = writeFile("odd.bin", "abc");
  EXPECT_EQ(errorOf([&] { Dataset(odd, TokenType::uint16, 1); }),
            "data file '" + odd +
                "' has 3 bytes, not a multiple of the 2 bytes of a token");
  std::string brief = writeFile("brief.txt", "abc");
  EXPECT_EQ(errorOf([&] { Dataset(brief, TokenType::uint16, 3); }),
            "data file '" + brief +
                "' has 3 tokens, one sample of 3 tokens and the next needs 4");
  std::string empty = writeFile("empty.txt", "");
  EXPECT_NE(errorOf([&] {
              Dataset(empty, TokenType::uint16, 3);
            }).find("has 0 tokens"),
            std::string::npos);
  EXPECT_EQ(errorOf([] { Dataset("/nowhere.txt", TokenType::uint16, 3); }),
            "cannot read '/nowhere.txt': No such file or directory");
}

TEST_F(DataTest, ShuffleIsAPermutationAnewEachEpoch) {
  SampleOrder order(100, 7), again(100, 7), other(100, 8);
  std::vector<int64_t> epochs[2];
  bool differs = false;
  for (int64_t place = 0; place < 200; ++place) {
    epochs[place / 100].push_back(order[place]);
    EXPECT_EQ(order[place], again[place]);
    differs |= order[place] != other[place];
  }
  EXPECT_TRUE(differs);
  EXPECT_NE(epochs[0], epochs[1]);
  for (std::vector<int64_t> &epoch : epochs)
    EXPECT_EQ(std::set<int64_t>(epoch.begin(), epoch.end()).size(), 100u);
  // The place alone decides, wherever one starts.
  SampleOrder late(100, 7);
  EXPECT_EQ(late[150], epochs[1][50]);
}

TEST(RandomTest, PhiloxKnownAnswers) {
  // From the authors' Random123 (kat_vectors, philox4x32 with 10 rounds).
  using Words = std::array<uint32_t, 4>;
  EXPECT_EQ(philox(0, 0, 0),
            (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox(~0ull, ~0ull, ~0ull),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox(0x299f31d0a4093822, 0x85a308d3243f6a88, 0x0370734413198a2e),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(RandomTest, NormalMoments) {
  NormalValues values(3, "h.0.weight");
  constexpr int n = 100000;
  double sum = 0, squares = 0, fourth = 0;
  for (int i = 0; i < n; ++i) {
    double x = values(i);
    sum += x;
    squares += x * x;
    fourth += x * x * x * x;
  }
  // Five standard errors: 1/sqrt(n), sqrt(2/n), sqrt(96/n).
  EXPECT_NEAR(sum / n, 0, 5 / std::sqrt(n));
  EXPECT_NEAR(squares / n, 1, 5 * std::sqrt(2. / n));
  EXPECT_NEAR(fourth / n, 3, 5 * std::sqrt(96. / n));
  NormalValues again(3, "h.0.weight"), other(3, "h.1.weight");
  EXPECT_EQ(again(12345), values(12345));
  EXPECT_NE(again(12345), other(12345));
}

} // namespace
