//===- FinishPhase.cpp - reduction, norm, clip, update -------------------===//

#include "passes/Autodiff/StepDerivative.h"

using namespace mlir;
using namespace galv;

/// Copies reduce their gradient to the placement of rest and send it home.
LogicalResult StepDerivative::sendGradientsHome() {
  for (auto [s, stage] : llvm::enumerate(stages)) {
    PhaseBuilder phase(context, stage, "finish", loc());
    SmallVector<std::pair<StringRef, Value>> sent;
    for (auto &[name, state] : states) {
      if (!state.op.getCopyOf() || state.stage != static_cast<int64_t>(s))
        continue;
      Value gradient = phase.getArgument(state.accumulated);
      if (gradient.getType() != state.op.getRestType())
        gradient = tag(ReduceOp::create(phase.inside(), loc(),
                                        state.op.getRestType(), gradient),
                       state.block, "reduce")
                       .getResult();
      phase.addResult(gradient);
      sent.push_back({name, gradient});
    }
    if (sent.empty())
      continue;
    phase.create(builder);
    for (auto &[name, gradient] : sent) {
      ParameterState &home = getState(*getState(name).op.getCopyOf());
      Value result = phase.getResult(gradient);
      sentHome[name] = TransferOp::create(
          builder, loc(),
          OnType::get(
              context,
              FlatSymbolRefAttr::get(stages[home.stage].getSymNameAttr()),
              cast<OnType>(result.getType()).getValue()),
          result);
    }
  }
  return success();
}

/// The loss on every stage: the sum over labels, times one over their number.
Value StepDerivative::buildLoss(PhaseBuilder &phase, int64_t stage) {
  OpBuilder &inside = phase.inside();
  Value value;
  if (stage == static_cast<int64_t>(stages.size()) - 1) {
    value = phase.getArgument(loss);
    if (value.getType() != getReplicatedScalar())
      value = tag(RedistributeOp::create(inside, loc(), getReplicatedScalar(),
                                         value),
                  headBlock(), "loss")
                  .getResult();
    value = tag(ScaleOp::create(inside, loc(), getReplicatedScalar(), value,
                                phase.getArgument(seed)),
                headBlock(), "loss")
                .getResult();
  } else {
    value = tag(ZeroOp::create(inside, loc(), getReplicatedScalar()),
                headBlock(), "loss")
                .getResult();
  }
  if (stages.size() > 1)
    value =
        tag(SumOverStagesOp::create(inside, loc(), value), headBlock(), "loss")
            .getResult();
  tag(ReportOp::create(inside, loc(), "loss", value), headBlock(), "loss");
  return value;
}

LogicalResult StepDerivative::buildFinish(int64_t s) {
  PhaseBuilder phase(context, stages[s], "finish", loc());
  OpBuilder &inside = phase.inside();
  Insertion insertion(mesh);
  buildLoss(phase, s);

  SmallVector<std::pair<ParameterState *, Value>> gradients;
  for (auto &[name, state] : states) {
    if (state.stage != s || state.op.getCopyOf())
      continue;
    RankedTensorType rest = state.op.getRestType();
    Value gradient = phase.getArgument(state.accumulated);
    if (gradient.getType() != rest)
      gradient = tag(ReduceOp::create(inside, loc(), rest, gradient),
                     state.block, "reduce")
                     .getResult();
    for (auto &[copyName, copy] : states)
      if (copy.op.getCopyOf() && *copy.op.getCopyOf() == name) {
        auto sum =
            tag(AddOp::create(inside, loc(), rest, gradient,
                              phase.getArgument(sentHome.lookup(copyName))),
                state.block, "add");
        gradient = sum.getResult();
      }
    gradients.push_back({&state, gradient});
  }
  // Every global element once: shared, split and replicated ones too.
  Value total;
  for (auto &[state, gradient] : gradients) {
    auto squares = tag(SumOfSquaresOp::create(inside, loc(), gradient),
                       state->block, "norm");
    if (failed(insertion.insert(squares)))
      return failure();
    if (!total) {
      total = squares.getResult();
      continue;
    }
    auto sum = tag(AddOp::create(inside, loc(), {total, squares.getResult()}),
                   state->block, "norm");
    Operation *before = squares;
    if (failed(insertion.insert(sum)))
      return failure();
    for (Operation *op = before->getNextNode(); op != sum.getOperation();
         op = op->getNextNode())
      tag(op, state->block, "norm");
    total = sum.getResult();
  }
  if (total.getType() != getReplicatedScalar())
    total =
        tag(RedistributeOp::create(inside, loc(), getReplicatedScalar(), total),
            headBlock(), "clip")
            .getResult();
  if (stages.size() > 1)
    total =
        tag(SumOverStagesOp::create(inside, loc(), total), headBlock(), "clip")
            .getResult();
  auto clip =
      tag(ClipCoefficientOp::create(
              inside, loc(),
              TypeRange{getReplicatedScalar(), getReplicatedScalar()}, total),
          headBlock(), "clip");
  tag(ReportOp::create(inside, loc(), "gradient_norm", clip.getNorm()),
      headBlock(), "clip");
  for (auto &[state, gradient] : gradients)
    tag(UpdateOp::create(inside, loc(), state->op.getSymName(), gradient,
                         clip.getCoefficient(),
                         /*decay=*/state->op.getTensorType().getRank() > 1),
        state->block, "update");
  phase.create(builder);
  return success();
}
