//===- AnnotateCheckpoint.cpp - what every block's backward keeps ---------===//

#include "passes/Passes.h"

namespace galv {
#define GEN_PASS_DEF_ANNOTATECHECKPOINTPASS
#include "passes/Passes.h.inc"
} // namespace galv

using namespace mlir;
using namespace galv;

namespace {
struct AnnotateCheckpoint
    : galv::impl::AnnotateCheckpointPassBase<AnnotateCheckpoint> {
  void runOnOperation() override {
    if (failed(requireSteps(getOperation())))
      return signalPassFailure();
    for (StepOp step : getOperation().getOps<StepOp>())
      step.walk([&](CallOp call) {
        auto strategy =
            cast<BlockStrategyAttr>(step.getBlocks()[call.getBlock()]);
        call.setRecompute(call.getRecompute() || strategy.getRecompute());
      });
  }
};
} // namespace
