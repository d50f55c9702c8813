//===- PipelineOrder.cpp - orders of a pipeline, and their proof ----------===//

#include "lib/Analysis/PipelineOrder.h"
#include "llvm/ADT/STLExtras.h"
#include <map>
#include <set>

using namespace mlir;
using namespace galv;

namespace {
/// Collects actions; transfers that follow one another start together.
class OrderBuilder {
public:
  explicit OrderBuilder(const MicrobatchWork &work) : work(work) {}

  void forward(int32_t microbatch) { run(work.forward, microbatch); }
  void backward(int32_t microbatch) { run(work.backward, microbatch); }
  void transfer(ArrayRef<int32_t> numbers, int32_t microbatch) {
    for (int32_t number : numbers) {
      group.numbers.push_back(number);
      group.microbatches.push_back(microbatch);
    }
  }
  /// Ends a group: what comes next starts later.
  void flush() {
    if (!group.numbers.empty())
      actions.push_back(group);
    group = PipelineAction();
    group.run = false;
  }
  SmallVector<PipelineAction> take() {
    flush();
    return std::move(actions);
  }

private:
  void run(int32_t segment, int32_t microbatch) {
    flush();
    PipelineAction action;
    action.numbers = {segment};
    action.microbatches = {microbatch};
    actions.push_back(action);
  }
  const MicrobatchWork &work;
  PipelineAction group{false, {}, {}};
  SmallVector<PipelineAction> actions;
};
} // namespace

SmallVector<PipelineAction>
galv::orderMicrobatches(StringRef schedule, int64_t stage, int64_t stages,
                        int64_t microbatches, const MicrobatchWork &work) {
  OrderBuilder order(work);
  // Forwards that run before the first backward; all of them for GPipe.
  int64_t ahead = schedule == "gpipe"
                      ? microbatches
                      : std::min(stages - stage - 1, microbatches);
  int64_t steady = microbatches - ahead;
  //   stage 0:  F0 F1 F2 F3 B0    B1 ...        (3 ahead, of 4 stages)
  //   stage 2:        F0 F1 B0 F2 B1 ...        (1 ahead)
  //   stage 3:           F0 B0 F1 B1 ...        (0 ahead)
  for (int64_t i = 0; i < ahead; ++i) {
    order.transfer(work.receiveForward, i);
    order.forward(i);
    order.transfer(work.sendForward, i);
    order.flush();
  }
  if (steady > 0)
    order.transfer(work.receiveForward, ahead);
  for (int64_t i = 0; i < steady; ++i) {
    order.forward(ahead + i);
    order.transfer(work.sendForward, ahead + i);
    order.transfer(work.receiveBackward, i);
    order.backward(i);
    order.transfer(work.sendBackward, i);
    if (i + 1 < steady)
      order.transfer(work.receiveForward, ahead + i + 1);
  }
  order.flush();
  for (int64_t i = steady; i < microbatches; ++i) {
    order.transfer(work.receiveBackward, i);
    order.backward(i);
    order.transfer(work.sendBackward, i);
    order.flush();
  }
  return order.take();
}

LogicalResult
galv::simulatePipeline(ArrayRef<StageOrder> stages,
                       function_ref<InFlightDiagnostic()> emitError) {
  // A transfer of a microbatch: sender, receiver, tag, microbatch.
  using Key = std::tuple<int64_t, int64_t, int64_t, int32_t>;
  auto getKey = [&](int64_t stage, int32_t number, int32_t microbatch) {
    const TransferSide &side = stages[stage].transfers[number];
    return side.send ? Key(stage, side.peer, side.tag, microbatch)
                     : Key(side.peer, stage, side.tag, microbatch);
  };
  std::set<Key> sent, received;
  SmallVector<size_t> next(stages.size(), 0);
  auto start = [&](int64_t s) {
    if (next[s] == stages[s].actions.size())
      return;
    const PipelineAction &action = stages[s].actions[next[s]];
    if (action.run)
      return;
    for (auto [number, microbatch] :
         llvm::zip_equal(action.numbers, action.microbatches))
      (stages[s].transfers[number].send ? sent : received)
          .insert(getKey(s, number, microbatch));
  };
  auto waitsFor = [&](int64_t s) -> std::optional<Key> {
    const PipelineAction &action = stages[s].actions[next[s]];
    if (action.run)
      return std::nullopt;
    for (auto [number, microbatch] :
         llvm::zip_equal(action.numbers, action.microbatches)) {
      Key key = getKey(s, number, microbatch);
      if (!sent.count(key) || !received.count(key))
        return key;
    }
    return std::nullopt;
  };
  for (size_t s = 0; s < stages.size(); ++s)
    start(s);
  for (bool progress = true; progress;) {
    progress = false;
    for (size_t s = 0; s < stages.size(); ++s)
      while (next[s] < stages[s].actions.size() && !waitsFor(s)) {
        ++next[s];
        start(s);
        progress = true;
      }
  }
  for (size_t s = 0; s < stages.size(); ++s) {
    if (next[s] == stages[s].actions.size())
      continue;
    auto [sender, receiver, tag, microbatch] = *waitsFor(s);
    int64_t peer = static_cast<int64_t>(s) == sender ? receiver : sender;
    InFlightDiagnostic diag =
        emitError() << "the order deadlocks: " << stages[s].name
                    << (static_cast<int64_t>(s) == sender ? " sends "
                                                          : " receives ")
                    << "value " << tag << " of microbatch " << microbatch
                    << " at action " << next[s] << ", but "
                    << stages[peer].name;
    if (next[peer] == stages[peer].actions.size())
      diag << " has ended without its side of it";
    else
      diag << " waits at action " << next[peer];
    return diag;
  }
  return success();
}

int64_t galv::countSlots(ArrayRef<PipelineAction> actions,
                         int64_t microbatches) {
  std::map<int32_t, std::pair<int64_t, int64_t>> spans;
  for (auto [time, action] : llvm::enumerate(actions))
    for (int32_t microbatch : action.microbatches) {
      if (microbatch < 0)
        continue;
      auto [it, fresh] = spans.try_emplace(microbatch, time, time);
      it->second.second = time;
    }
  // Microbatch j's slot is j modulo the number of slots.
  for (int64_t slots = 1; slots < microbatches; ++slots) {
    bool fits = true;
    for (auto &[microbatch, span] : spans) {
      auto later = spans.find(microbatch + slots);
      if (later != spans.end() && later->second.first <= span.second)
        fits = false;
    }
    if (fits)
      return slots;
  }
  return std::max<int64_t>(microbatches, 1);
}
