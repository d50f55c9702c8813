//===- StepTest.cpp - how the tables of a stage are run -------------------===//

#include "Step.h"
#include "Support.h"

using namespace galv;
using namespace galv::test;

namespace {

/// What was called, with which addresses (offsets into the arena).
struct Call {
  char function;
  int64_t first, second;
  bool operator==(const Call &other) const {
    return function == other.function && first == other.first &&
           second == other.second;
  }
};
std::ostream &operator<<(std::ostream &out, const Call &call) {
  return out << call.function << '(' << call.first << ", " << call.second
             << ')';
}

std::vector<Call> calls; // of the only rank

int64_t offset(Context &c, void *address) {
  return static_cast<std::byte *>(address) - c.address({0, 0, false});
}

template <char name>
void record(Context &c, const Frame &f) {
  EXPECT_EQ(offset(c, f.scratch), 8192);
  calls.push_back({name, offset(c, f.arguments[0]), offset(c, f.arguments[1])});
}

void throws(Context &, const Frame &) { fail("no such thing"); }

TEST(StepTest, RowsLayersAndSlots) {
  // Two rows that take turns over three layers downwards, then one alone.
  const Operand a[] = {{100, -10, false}, {200, 0, false, 7}};
  const Operand b[] = {{300, 1, true}, {400, 0, true}};
  const Row rows[] = {{"backward", "h.{layer}", record<'a'>, 2, 3, -1, a, 2},
                      {"reduce", "h.{layer}", record<'b'>, 2, 3, -1, b},
                      {"backward", "wte", record<'c'>, 0, 1, 1, b}};
  const Segment segments[] = {{"backward", rows}};
  const Action order[] = {{Action::run, 0, 4, {}}};
  Line line(1);
  line.stage.name = "all";
  line.stage.arenaBytes = 16384;
  line.stage.scratch = 8192;
  line.stage.slots = 3;
  line.stage.slotStride = 1000;
  line.stage.segments = segments;
  line.stage.order = order;
  calls.clear();
  runInProcess(line.program, runStep);
  // Microbatch 4 lies in slot 1.
  EXPECT_EQ(calls, (std::vector<Call>{{'a', 100, 200},
                                      {'b', 1300, 1400},
                                      {'a', 90, 207},
                                      {'b', 1301, 1400},
                                      {'a', 80, 200},
                                      {'b', 1302, 1400},
                                      {'c', 1300, 1400}}));
}

TEST(StepTest, AnErrorNamesItsPlace) {
  const Row rows[] = {{"forward", "h.{layer}.mlp", throws, 5, 2, 1, {}}};
  const Segment segments[] = {{"forward", rows}};
  const Action order[] = {{Action::run, 0, 1, {}}};
  Line line(1);
  line.stage.name = "all";
  line.stage.segments = segments;
  line.stage.order = order;
  try {
    runInProcess(line.program, runStep);
    FAIL() << "no error";
  } catch (const Error &error) {
    EXPECT_STREQ(error.what(), "rank 0: no such thing in forward of h.5.mlp, "
                               "stage 'all', microbatch 1");
  }
}

} // namespace
