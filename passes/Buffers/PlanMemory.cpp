//===- PlanMemory.cpp - every value has a buffer --------------------------===//

#include "dialects/Rank/Rank.h"
#include "lib/Analysis/ArenaPlan.h"
#include "passes/Buffers/DestinationPassing.h"
#include "passes/Passes.h"

namespace galv {
#define GEN_PASS_DEF_PLANMEMORYPASS
#include "passes/Passes.h.inc"
} // namespace galv

using namespace mlir;
using namespace galv;

namespace {
struct PlanMemory : galv::impl::PlanMemoryPassBase<PlanMemory> {
  void runOnOperation() override;

private:
  int64_t planFunction(func::FuncOp function);
  void planStage(rank::StageOp stage);

  llvm::StringMap<int64_t> scratchBytes; // by function
};
} // namespace

static int64_t getBytes(Value buffer) {
  auto type = cast<MemRefType>(buffer.getType());
  return type.getNumElements() * getElementBytes(type.getElementType());
}

/// Offsets of the values inside a function, by the time they live; returns the
/// bytes of scratch area that it needs.
int64_t PlanMemory::planFunction(func::FuncOp function) {
  llvm::DenseMap<Operation *, int64_t> times;
  for (auto [time, op] : llvm::enumerate(function.getBody().front()))
    times[&op] = time;
  ArenaPlan plan;
  SmallVector<rank::LocalOp> locals(function.getOps<rank::LocalOp>());
  for (rank::LocalOp local : locals) {
    int64_t begin = function.getBody().front().getOperations().size();
    int64_t end = 0;
    for (Operation *user : local->getUsers()) {
      begin = std::min(begin, times.lookup(user));
      end = std::max(end, times.lookup(user));
    }
    plan.add(getBytes(local.getResult()), begin, end);
  }
  int64_t bytes = plan.place();
  for (auto [i, local] : llvm::enumerate(locals))
    local.setOffset(plan.getOffset(i));
  return bytes;
}

/// The arena of a stage:
///   reports | kept, block by block | slots of microbatches | locals | scratch
/// Blocks of a kind have buffers of the same sizes in the same order, so the
/// addresses of one layer's are those of the next at a constant distance.
void PlanMemory::planStage(rank::StageOp stage) {
  SmallVector<rank::BufferOp> kept, slotted, local;
  for (auto buffer : stage.getOps<rank::BufferOp>()) {
    if (buffer.getKind() == "slotted")
      slotted.push_back(buffer);
    else if (buffer.getKind() == "local")
      local.push_back(buffer);
    else
      kept.push_back(buffer);
  }
  auto byBlock = [](rank::BufferOp a, rank::BufferOp b) {
    return a.getBlock() < b.getBlock();
  };
  llvm::stable_sort(kept, [&](rank::BufferOp a, rank::BufferOp b) {
    auto rank = [](rank::BufferOp op) {
      return !op.getReport() ? 2 : *op.getReport() == "loss" ? 0 : 1;
    };
    if (rank(a) != rank(b))
      return rank(a) < rank(b);
    return byBlock(a, b);
  });
  llvm::stable_sort(slotted, byBlock);

  int64_t end = 0;
  auto append = [&](ArrayRef<rank::BufferOp> buffers) {
    for (rank::BufferOp buffer : buffers) {
      buffer.setOffset(end);
      end += alignArena(getBytes(buffer.getResult()));
    }
  };
  append(kept);
  int64_t slotsBegin = end;
  append(slotted);
  int64_t slotStride = end - slotsBegin;
  int64_t localsBegin = slotsBegin + slotStride * stage.getSlots();

  // Locals of different segments share their place.
  int64_t localBytes = 0, scratch = 0;
  for (auto segment : stage.getOps<rank::SegmentOp>()) {
    ArenaPlan plan;
    SmallVector<rank::BufferOp> mine;
    llvm::DenseMap<Operation *, int64_t> times;
    for (auto [time, op] : llvm::enumerate(segment.getBody().front())) {
      times[&op] = time;
      auto call = cast<rank::CallOp>(op);
      scratch = std::max(scratch, scratchBytes.lookup(call.getCallee()));
    }
    for (rank::BufferOp buffer : local) {
      int64_t first = -1, last = -1;
      for (Operation *user : buffer->getUsers())
        if (auto it = times.find(user); it != times.end()) {
          first = first < 0 ? it->second : std::min(first, it->second);
          last = std::max(last, it->second);
        }
      if (first < 0)
        continue;
      plan.add(getBytes(buffer.getResult()), first, last);
      mine.push_back(buffer);
    }
    localBytes = std::max(localBytes, plan.place());
    for (auto [i, buffer] : llvm::enumerate(mine))
      buffer.setOffset(localsBegin + plan.getOffset(i));
  }
  stage.setSlotStride(slotStride);
  stage.setScratch(localsBegin + alignArena(localBytes));
  stage.setArena(localsBegin + alignArena(localBytes) + alignArena(scratch));
}

void PlanMemory::runOnOperation() {
  ModuleOp module = getOperation();
  SmallVector<func::FuncOp> functions(module.getOps<func::FuncOp>());
  for (func::FuncOp function : functions) {
    FailureOr<func::FuncOp> made = passDestinations(function);
    if (failed(made))
      return signalPassFailure();
    scratchBytes[made->getSymName()] = alignArena(planFunction(*made));
  }
  for (auto program : module.getOps<rank::ProgramOp>())
    for (auto stage : program.getOps<rank::StageOp>())
      planStage(stage);
}
