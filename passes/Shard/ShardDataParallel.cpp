//===- ShardDataParallel.cpp - where parameters rest ----------------------===//

#include "passes/Passes.h"

namespace galv {
#define GEN_PASS_DEF_SHARDDATAPARALLELPASS
#include "passes/Passes.h.inc"
} // namespace galv

using namespace mlir;
using namespace galv;

namespace {
struct ShardDataParallel
    : galv::impl::ShardDataParallelPassBase<ShardDataParallel> {
  void runOnOperation() override;
  LogicalResult shard(StepOp step, SymbolTable &symbols);
};
} // namespace

/// The call that reads a use; a use is read by one block.
static CallOp getReader(UseOp use) {
  for (Operation *user : use.getResult().getUsers())
    if (auto call = dyn_cast<CallOp>(user))
      return call;
  return {};
}

LogicalResult ShardDataParallel::shard(StepOp step, SymbolTable &symbols) {
  WalkResult walked = step.walk([&](UseOp use) {
    auto parameter = symbols.lookup<ParameterOp>(use.getParameter());
    CallOp call = getReader(use);
    if (!parameter || !call || parameter.getRest())
      return WalkResult::advance();
    auto strategy = cast<BlockStrategyAttr>(step.getBlocks()[call.getBlock()]);
    auto type = cast<RankedTensorType>(use.getResult().getType());
    // A copy rests as its home does; the home's stage comes first.
    if (parameter.getCopyOf()) {
      auto home = symbols.lookup<ParameterOp>(*parameter.getCopyOf());
      if (home && home.getRest()) {
        parameter.setRestAttr(home.getRestAttr());
        parameter.setZero(home.getZero());
        return WalkResult::advance();
      }
    }
    Placement rest = *Placement::of(type);
    if (strategy.getZero() > 0)
      for (int32_t axis : strategy.getData())
        if (!rest.isSplitOver(axis))
          rest.flat.push_back(axis);
    FailureOr<RankedTensorType> placed =
        getPlacedType([&] { return parameter.emitError(); }, type, rest);
    if (failed(placed))
      return WalkResult::interrupt();
    parameter.setRestAttr(TypeAttr::get(*placed));
    parameter.setZero(strategy.getZero());
    return WalkResult::advance();
  });
  return failure(walked.wasInterrupted());
}

void ShardDataParallel::runOnOperation() {
  if (failed(requireSteps(getOperation())))
    return signalPassFailure();
  SymbolTable symbols(getOperation());
  for (StepOp step : getOperation().getOps<StepOp>())
    if (failed(shard(step, symbols)))
      return signalPassFailure();
}
