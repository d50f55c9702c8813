//===- BeginPhase.cpp - what a step does before its microbatches ---------===//

#include "passes/Autodiff/StepDerivative.h"

using namespace mlir;
using namespace galv;

/// One over the number of labels that count in the whole step.
Value StepDerivative::buildSeed(PhaseBuilder &phase) {
  auto strategy = cast<BlockStrategyAttr>(step.getBlocks()[headBlock()]);
  Placement placement = Placement::replicated(mesh, 2);
  placement.dims[0].axes.assign(strategy.getData().begin(),
                                strategy.getData().end());
  auto labelsType =
      RankedTensorType::get({static_cast<int64_t>(step.getBatch()),
                             static_cast<int64_t>(step.getSequence())},
                            builder.getI64Type(), placement.getAttr());
  Placement partial = Placement::replicated(mesh, 0);
  for (int32_t axis : strategy.getData())
    partial.addPartial(axis);
  OpBuilder &inside = phase.inside();
  auto block = headBlock();
  auto labels = tag(InputOp::create(inside, loc(), labelsType, "labels",
                                    IntegerAttr(), IntegerAttr(), BoolAttr(),
                                    comm::GroupAttr(), comm::GroupAttr()),
                    block, "count");
  Value count = tag(CountValidOp::create(inside, loc(), getScalar(partial),
                                         labels.getResult()),
                    block, "count")
                    .getResult();
  if (count.getType() != getReplicatedScalar())
    count =
        tag(RedistributeOp::create(inside, loc(), getReplicatedScalar(), count),
            block, "count")
            .getResult();
  return tag(ReciprocalOp::create(inside, loc(), getReplicatedScalar(), count),
             block, "count")
      .getResult();
}

/// Parameters from rest to use, once a step; those of ZeRO-3 go each time.
void StepDerivative::buildBegin() {
  int64_t last = stages.size() - 1;
  for (auto [s, stage] : llvm::enumerate(stages)) {
    PhaseBuilder phase(context, stage, "begin", loc());
    Value seedInside;
    if (static_cast<int64_t>(s) == last)
      phase.addResult(seedInside = buildSeed(phase));
    SmallVector<std::pair<ParameterState *, Value>> made;
    SmallVector<std::pair<StringRef, Value>> sent;
    for (auto &[name, state] : states) {
      if (state.stage == static_cast<int64_t>(s) && !state.op.getCopyOf() &&
          state.op.getZero() < 3) {
        Value use = tag(MaterializeOp::create(phase.inside(), loc(),
                                              state.useType, name),
                        state.block, "materialize")
                        .getResult();
        phase.addResult(use);
        made.push_back({&state, use});
      }
      // The home sends its rest to each copy.
      if (state.op.getCopyOf() &&
          getState(*state.op.getCopyOf()).stage == static_cast<int64_t>(s)) {
        ParameterState &home = getState(*state.op.getCopyOf());
        Value rest = tag(MaterializeOp::create(phase.inside(), loc(),
                                               home.op.getRestType(),
                                               home.op.getSymName()),
                         home.block, "send")
                         .getResult();
        phase.addResult(rest);
        sent.push_back({name, rest});
      }
    }
    if (phase.empty())
      continue;
    phase.create(builder);
    if (seedInside)
      seed = phase.getResult(seedInside);
    for (auto &[state, use] : made)
      state->use = phase.getResult(use);
    for (auto &[name, rest] : sent)
      sentHome[name] = phase.getResult(rest);
  }
}

/// Copies of tied parameters take the value that their home sent.
void StepDerivative::buildRefresh() {
  for (auto [s, stage] : llvm::enumerate(stages)) {
    PhaseBuilder phase(context, stage, "begin", loc());
    SmallVector<std::pair<ParameterState *, Value>> made;
    for (auto &[name, state] : states) {
      if (!state.op.getCopyOf() || state.stage != static_cast<int64_t>(s))
        continue;
      auto type =
          OnType::get(context, FlatSymbolRefAttr::get(stage.getSymNameAttr()),
                      state.op.getRestType());
      Value received =
          TransferOp::create(builder, loc(), type, sentHome.lookup(name));
      tag(RefreshOp::create(phase.inside(), loc(), name,
                            phase.getArgument(received)),
          state.block, "refresh");
      if (state.op.getZero() < 3) {
        Value use = tag(MaterializeOp::create(phase.inside(), loc(),
                                              state.useType, name),
                        state.block, "materialize")
                        .getResult();
        phase.addResult(use);
        made.push_back({&state, use});
      }
    }
    if (phase.empty())
      continue;
    phase.create(builder);
    for (auto &[state, use] : made)
      state->use = phase.getResult(use);
  }
  sentHome.clear();
}
