//===- Autodiff.cpp - begin, forward, backward, finish --------------------===//

#include "passes/Autodiff/StepDerivative.h"

namespace galv {
#define GEN_PASS_DEF_AUTODIFFPASS
#include "passes/Passes.h.inc"
} // namespace galv

using namespace mlir;
using namespace galv;

namespace {
struct Autodiff : galv::impl::AutodiffPassBase<Autodiff> {
  void runOnOperation() override {
    if (failed(requireSteps(getOperation())))
      return signalPassFailure();
    SymbolTable symbols(getOperation());
    Outliner outliner(getOperation());
    for (StepOp step : getOperation().getOps<StepOp>())
      if (failed(StepDerivative(step, symbols, outliner).run()))
        return signalPassFailure();
    // Blocks have a forward and a backward now.
    llvm::DenseSet<Attribute> used;
    if (auto uses = SymbolTable::getSymbolUses(&getOperation().getBodyRegion()))
      for (SymbolTable::SymbolUse use : *uses)
        used.insert(use.getSymbolRef().getRootReference());
    for (auto function :
         llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>()))
      if (!used.contains(function.getSymNameAttr()))
        function.erase();
  }
};
} // namespace

LogicalResult StepDerivative::collect() {
  for (StageOp stage : step->getParentOfType<ModuleOp>().getOps<StageOp>())
    stages.push_back(stage);
  for (auto op : step.getOps<MicrobatchesOp>())
    oldMicrobatches = op;
  if (!oldMicrobatches)
    return step.emitError("has no galv.microbatches");
  for (auto phase : oldMicrobatches.getOps<PhaseOp>()) {
    if (phase.getName() != "forward")
      return phase.emitError("stands in a step that autodiff has yet to write");
    int64_t stage = oldForwards.size();
    oldForwards.push_back(phase);
    for (auto call : phase.getOps<CallOp>())
      for (Value operand : call.getOperands())
        if (auto use = operand.getDefiningOp<UseOp>()) {
          auto parameter = symbols.lookup<ParameterOp>(use.getParameter());
          if (!parameter || !parameter.getRest())
            return use.emitError()
                   << "uses @" << use.getParameter()
                   << ", which has no rest: galv-shard-data-parallel comes "
                      "first";
          auto [it, fresh] = states.try_emplace(parameter.getSymName());
          if (fresh) {
            it->second.op = parameter;
            it->second.stage = stage;
            it->second.block = call.getBlock();
            it->second.useType = cast<RankedTensorType>(use.getType());
          } else if (it->second.useType != use.getType()) {
            return use.emitError()
                   << "uses @" << use.getParameter() << " as " << use.getType()
                   << ", another block of the stage as " << it->second.useType;
          }
          ++it->second.uses;
        }
  }
  auto accumulate =
      cast<AccumulateOp>(oldMicrobatches.getBody().front().getTerminator());
  elementType = cast<OnType>(accumulate.getValues().front().getType())
                    .getValue()
                    .getElementType();
  return success();
}

LogicalResult StepDerivative::run() {
  if (failed(collect()))
    return failure();
  builder.setInsertionPointToEnd(&step.getBody().front());
  buildBegin();
  buildRefresh();
  if (failed(buildMicrobatches()) || failed(sendGradientsHome()))
    return failure();
  for (size_t s = 0; s < stages.size(); ++s)
    if (failed(buildFinish(s)))
      return failure();
  oldMicrobatches.erase();
  return success();
}
