//===- LibraryTest.cpp - every operation on every split -------------------===//
//
// Runs the functions that galv-op-library emitted, ranks as threads, in fp64.
// Nothing in here knows an operation: it splits what is drawn by the placements
// of the operands and puts results together by theirs.
//
//===----------------------------------------------------------------------===//

#include "InProcess.h"
#include "test/Unit/Library/Ranks.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <sys/wait.h>
#include <unistd.h>

using namespace galv;
using namespace galv::library;

namespace {

/// Sums in another order: a few hundred roundings of 1e-16 at most.
constexpr double splitBound = 1e-12;
/// Fourth-order differences: h^4/30 times a fifth derivative, and rounding by
/// h, each near 1e-12 for h = 2e-3.
constexpr double derivativeBound = 1e-8, h = 2e-3;

std::string getName(const Instance &instance, size_t operand) {
  return std::string(instance.name) + " " + std::to_string(operand);
}

std::vector<Values> drawOperands(const Instance &instance) {
  std::vector<Values> operands;
  for (int64_t i = 0; i < instance.draws.size; ++i)
    operands.push_back(draw(instance.draws[i], getName(instance, i),
                            getElements(tensors[instance.whole.operands[i]]),
                            drawNormal));
  return operands;
}

Call makeCall(const Case &what, Span<Axis> mesh,
              const std::vector<Values> &operands, const std::string &name,
              Random random) {
  Call call{what, {}, {}, ""};
  for (size_t i = 0; i < operands.size(); ++i)
    call.operands.push_back(split(tensors[what.operands[i]], mesh, operands[i],
                                  name + " " + std::to_string(i), random));
  for (int result : what.results)
    call.results.push_back(makeEmpty(tensors[result], mesh));
  return call;
}

/// The results of an instance on one rank.
std::vector<Values> getWhole(const Instance &instance,
                             const std::vector<Values> &operands) {
  std::vector<Call> calls = {
      makeCall(instance.whole, one, operands, instance.name, drawNormal)};
  run(one, calls);
  EXPECT_EQ(calls[0].failure, "") << instance.name;
  std::vector<Values> results(instance.whole.results.size);
  for (size_t i = 0; i < results.size(); ++i)
    EXPECT_EQ(join(tensors[instance.whole.results[i]], one, calls[0].results[i],
                   results[i]),
              "");
  return results;
}

/// "[{a}, {}], [{a}] -> [{}] partial {a}"
std::string describe(const Case &what) {
  std::string text;
  for (int64_t i = 0; i < what.operands.size; ++i)
    text += (i ? ", " : "") + std::string(tensors[what.operands[i]].text);
  text += " ->";
  for (int64_t i = 0; i < what.results.size; ++i)
    text += (i ? ", " : " ") + std::string(tensors[what.results[i]].text);
  return text;
}

/// What is wrong with a call's results; nothing where they are `wanted`.
std::string check(const Call &call, Span<Axis> mesh,
                  const std::vector<Values> &wanted, double bound,
                  double &worst) {
  if (!call.failure.empty())
    return call.failure;
  for (int64_t i = 0; i < call.what.results.size; ++i) {
    Values values;
    std::string error =
        join(tensors[call.what.results[i]], mesh, call.results[i], values);
    if (error.empty()) {
      double deviation = getDeviation(values, wanted[i]);
      if (!(deviation <= bound))
        error = "differs by " + std::to_string(deviation / bound) +
                " times the bound";
      worst = std::max(worst, deviation);
    }
    if (!error.empty())
      return "result " + std::to_string(i) + " " + error;
  }
  return "";
}

/// Reports the first failures and counts all.
class Failures {
public:
  void add(const std::string &text) {
    if (++count_ <= 20)
      ADD_FAILURE() << text;
  }
  ~Failures() {
    if (count_ > 20)
      ADD_FAILURE() << count_ << " failures in all";
  }

private:
  int count_ = 0;
};

/// An instance's splits, run once for all tests.
struct SplitRun {
  const Instance *instance;
  std::vector<Values> wanted;
  std::vector<Call> calls;
};

const std::vector<SplitRun> &getSplitRuns() {
  static const std::vector<SplitRun> runs = [] {
    std::vector<SplitRun> runs;
    for (const Instance &instance : instances) {
      std::vector<Values> operands = drawOperands(instance);
      SplitRun made{&instance, getWhole(instance, operands), {}};
      for (const Case &what : instance.splits)
        made.calls.push_back(
            makeCall(what, square, operands, instance.name, drawNormal));
      run(square, made.calls);
      runs.push_back(std::move(made));
    }
    return runs;
  }();
  return runs;
}

TEST(Library, SplitAgainstWhole) {
  Failures failures;
  std::map<std::string, std::pair<int, double>> operations;
  int count = 0;
  for (const SplitRun &made : getSplitRuns()) {
    auto &[splits, worst] = operations[made.instance->operation];
    EXPECT_FALSE(made.calls.empty()) << made.instance->name;
    for (const Call &call : made.calls) {
      std::string error = check(call, square, made.wanted, splitBound, worst);
      if (!error.empty())
        failures.add(std::string(made.instance->name) + ": " +
                     describe(call.what) + ": " + error);
      ++splits, ++count;
    }
  }
  for (const auto &[name, result] : operations)
    std::printf("%-32s %5d splits, %.1e\n", name.c_str(), result.first,
                result.second);
  std::printf("%zu operations, %d splits\n", operations.size(), count);
}

/// The checks above would see each of these.
TEST(Library, PlantedFaults) {
  Failures failures;
  int values = 0, padding = 0, exchanged = 0;
  double ignored = 0;
  for (const SplitRun &made : getSplitRuns())
    for (const Call &call : made.calls) {
      if (!call.failure.empty())
        continue;
      auto plant = [&](const char *what, int &count, const Call &faulty) {
        ++count;
        if (check(faulty, square, made.wanted, splitBound, ignored).empty())
          failures.add(std::string(made.instance->name) + ": " +
                       describe(call.what) + ": " + what + " is not seen");
      };
      for (int64_t r = 0; r < call.what.results.size; ++r) {
        const Tensor &tensor = tensors[call.what.results[r]];
        double scale = 1;
        for (double value : made.wanted[r])
          scale = std::max(scale, std::abs(value));
        for (int64_t rank = 0; rank < getRanks(square); ++rank) {
          Layout layout(tensor, square, rank);
          bool value = false, pad = false;
          for (size_t i = 0; i < layout.places.size(); ++i) {
            bool &done = layout.places[i] < 0 ? pad : value;
            if (done)
              continue;
            Call faulty = call;
            Part &part = faulty.results[r][rank];
            if (layout.places[i] < 0) {
              part.set(i, 1);
              plant("padding", padding, faulty);
            } else {
              part.set(i, part.get(i) +
                              (tensor.type == Type::i64 ? 1 : 1e-11 * scale));
              plant("a value", values, faulty);
            }
            done = true;
          }
          const Part &mine = call.results[r][rank];
          const Part &first = call.results[r][0];
          if (tensor.partial.size || mine.words == first.words)
            continue;
          Call faulty = call;
          std::swap(faulty.results[r][rank], faulty.results[r][0]);
          plant("an exchange of ranks", exchanged, faulty);
        }
      }
    }
  EXPECT_GT(values, 0);
  EXPECT_GT(padding, 0);
  EXPECT_GT(exchanged, 0);
  std::printf("%d values, %d paddings, %d exchanges of ranks\n", values,
              padding, exchanged);
}

TEST(Library, Derivatives) {
  std::map<std::string, double> operations;
  int count = 0;
  for (const Instance &instance : instances) {
    if (!instance.needed.size)
      continue;
    std::vector<Values> operands = drawOperands(instance);
    const Tensor &result = tensors[instance.whole.results[0]];
    Values cotangent = draw({Draw::normal, 0}, getName(instance, 99),
                            getElements(result), drawNormal);
    std::vector<Values> more = operands;
    more.push_back(cotangent);
    std::vector<Call> calls = {
        makeCall(instance.derivative, one, more, instance.name, drawNormal)};
    // One call for each place and each of the four points.
    for (int operand : instance.needed)
      for (double &value : operands[operand])
        for (double step : {-2 * h, -h, h, 2 * h}) {
          double old = value;
          value += step;
          calls.push_back(makeCall(instance.whole, one, operands, instance.name,
                                   drawNormal));
          value = old;
        }
    run(one, calls);
    size_t next = 1;
    for (int64_t i = 0; i < instance.needed.size; ++i) {
      const Tensor &tensor = tensors[instance.derivative.results[i]];
      Values derivative, differences;
      ASSERT_EQ(calls[0].failure, "") << instance.name;
      ASSERT_EQ(join(tensor, one, calls[0].results[i], derivative), "");
      for (size_t place = 0; place < derivative.size(); ++place) {
        double at[4];
        for (double &sum : at) {
          ASSERT_EQ(calls[next].failure, "") << instance.name;
          Values values;
          join(result, one, calls[next++].results[0], values);
          sum = 0;
          for (size_t k = 0; k < values.size(); ++k)
            sum += cotangent[k] * values[k];
        }
        differences.push_back((at[0] - 8 * at[1] + 8 * at[2] - at[3]) /
                              (12 * h));
      }
      double deviation = getDeviation(derivative, differences);
      EXPECT_LE(deviation, derivativeBound)
          << instance.name << " by operand " << instance.needed[i];
      // The net holds: a derivative that is off by little is seen.
      double scale = 1;
      for (double value : differences)
        scale = std::max(scale, std::abs(value));
      derivative[0] += 1e-7 * scale;
      EXPECT_GT(getDeviation(derivative, differences), derivativeBound);
      double &worst = operations[instance.operation];
      worst = std::max(worst, deviation);
      ++count;
    }
  }
  for (const auto &[name, worst] : operations)
    std::printf("%-32s %.1e\n", name.c_str(), worst);
  std::printf("%zu operations, %d derivatives\n", operations.size(), count);
  EXPECT_GT(count, 0);
}

/// Whole numbers, so that every sum is exact and every difference an error.
TEST(Library, Redistribution) {
  constexpr size_t batch = 4000;
  Failures failures;
  int count = 0, planted = 0;
  double worst = 0;
  for (const Movement &movement : movements) {
    int64_t elements = getElements(tensors[movement.moves[0].from]);
    std::vector<Values> values = {
        draw({Draw::normal, 0}, movement.shape, elements, drawWhole)};
    // The operands of a Case are spans: they live here.
    std::vector<Move> moves(movement.moves.begin(), movement.moves.end());
    std::sort(moves.begin(), moves.end(),
              [](const Move &a, const Move &b) { return a.groups < b.groups; });
    for (size_t begin = 0; begin < moves.size(); begin += batch) {
      std::vector<Call> calls;
      for (size_t i = begin; i < std::min(begin + batch, moves.size()); ++i)
        calls.push_back(makeCall({moves[i].function,
                                  moves[i].groups,
                                  {&moves[i].from, 1},
                                  {&moves[i].to, 1}},
                                 cube, values, movement.shape, drawWhole));
      run(cube, calls);
      for (Call &call : calls) {
        std::string error = check(call, cube, values, 0, worst);
        if (!error.empty())
          failures.add(std::string(movement.shape) + ": " +
                       describe(call.what) + ": " + error);
        if (++count % 100 || !error.empty())
          continue;
        // The net holds: one wrong number of one rank is seen (a large one,
        // for it may be a part of a maximum).
        Part &part = call.results[0][count / 100 % getRanks(cube)];
        part.set(0, part.get(0) + 100);
        double ignored = 0;
        EXPECT_NE(check(call, cube, values, 0, ignored), "");
        ++planted;
      }
    }
    std::printf("%-8s %6zu pairs\n", movement.shape, moves.size());
  }
  std::printf("%d pairs, %d faults planted and seen\n", count, planted);
  EXPECT_GT(planted, 0);
}

/// An operation without an instance makes the library fail to build.
TEST(Library, OperationWithoutInstance) {
  std::string folder =
      testing::TempDir() + "/galv_library_" + std::to_string(getpid());
  std::string file = folder + ".mlir", log = folder + ".log";
  {
    std::ifstream from(GALV_INSTANCES);
    std::ofstream to(file);
    bool inside = false;
    for (std::string line; std::getline(from, line);) {
      inside |= line.find("@scale") != std::string::npos;
      if (!inside)
        to << line << '\n';
      inside &= line != "}";
    }
  }
  std::string command = std::string(GALV_OP_LIBRARY) + " " + file + " -o " +
                        testing::TempDir() + " 2> " + log;
  int status = std::system(command.c_str());
  EXPECT_EQ(WIFEXITED(status) ? WEXITSTATUS(status) : -1, 1);
  std::ifstream from(log);
  std::string text((std::istreambuf_iterator<char>(from)), {});
  EXPECT_NE(text.find("galv.scale has no instance"), std::string::npos) << text;
  std::remove(file.c_str());
  std::remove(log.c_str());
}

} // namespace
