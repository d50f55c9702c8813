//===- Microbatches.cpp - forwards and backwards of all stages -----------===//

#include "passes/Autodiff/StepDerivative.h"

using namespace mlir;
using namespace galv;

LogicalResult StepDerivative::buildForward(int64_t stage) {
  PhaseOp old = oldForwards[stage];
  phases.push_back(std::make_unique<PhaseBuilder>(context, stages[stage],
                                                  "forward", old.getLoc()));
  PhaseBuilder &phase = *phases.back();
  records.emplace_back();
  IRMapping inside;
  for (auto [operand, argument] :
       llvm::zip_equal(old.getOperands(), old.getBody().getArguments())) {
    auto transfer = operand.getDefiningOp<TransferOp>();
    Value received =
        TransferOp::create(builder, transfer.getLoc(), operand.getType(),
                           outside.lookup(transfer.getInput()));
    inside.map(argument, phase.getArgument(received));
  }
  for (Operation &op : old.getBody().front().without_terminator()) {
    if (isa<UseOp>(op))
      continue;
    auto call = dyn_cast<CallOp>(op);
    if (!call) {
      int64_t block = 0;
      for (Operation *user : op.getUsers())
        if (auto reader = dyn_cast<CallOp>(user))
          block = reader.getBlock();
      tag(phase.inside().clone(op, inside), block, "redistribute");
      continue;
    }
    FailureOr<BlockDerivative> derivative =
        differentiate(symbols.lookup<func::FuncOp>(call.getCallee()),
                      call.getRecompute(), outliner);
    if (failed(derivative))
      return failure();
    SmallVector<Value> operands;
    for (Value operand : call.getOperands()) {
      auto use = operand.getDefiningOp<UseOp>();
      if (!use) {
        operands.push_back(inside.lookup(operand));
        continue;
      }
      ParameterState &state = getState(use.getParameter());
      operands.push_back(state.use ? phase.getArgument(state.use)
                                   : tag(MaterializeOp::create(
                                             phase.inside(), call.getLoc(),
                                             state.useType, use.getParameter()),
                                         call.getBlock(), "materialize")
                                         .getResult());
    }
    auto forward = CallOp::create(
        phase.inside(), call.getLoc(),
        derivative->forward.getFunctionType().getResults(),
        derivative->forward.getSymName(), operands, call.getBlock(),
        call.getLayerAttr(), call.getRecompute());
    CallRecord record{call, *derivative, {}};
    for (BlockDerivative::Kept kept : derivative->kept) {
      Value value = kept.isArgument ? operands[kept.index]
                                    : forward->getResult(kept.index);
      phase.addResult(value);
      record.kept.push_back(value);
    }
    records.back().push_back(record);
    for (auto [result, value] :
         llvm::zip(call.getResults(), forward.getResults()))
      inside.map(result, value);
  }
  auto yield = cast<YieldOp>(old.getBody().front().getTerminator());
  for (Value value : yield.getValues())
    phase.addResult(inside.lookup(value));
  phase.create(builder);
  for (auto [result, value] :
       llvm::zip_equal(old.getResults(), yield.getValues()))
    outside.map(result, phase.getResult(inside.lookup(value)));
  return success();
}

/// Adds one call's gradient to the microbatch's; when it is whole, ZeRO-2 and 3
/// reduce it to the placement of rest.
LogicalResult StepDerivative::addGradient(PhaseBuilder &phase,
                                          Insertion &insertion,
                                          ParameterState &state,
                                          Value gradient) {
  if (state.gradient) {
    auto sum =
        tag(AddOp::create(phase.inside(), loc(), {state.gradient, gradient}),
            state.block, "add");
    if (failed(insertion.insert(sum)))
      return failure();
    gradient = sum.getResult();
  }
  state.gradient = gradient;
  if (++state.seen < state.uses || state.op.getZero() < 2)
    return success();
  auto type = cast<RankedTensorType>(gradient.getType());
  Placement reduced = *Placement::of(type);
  reduced.flat = Placement::of(state.op.getRestType())->flat;
  for (int32_t axis : reduced.flat)
    reduced.removePartial(axis);
  FailureOr<RankedTensorType> placed =
      getPlacedType([&] { return state.op.emitError(); }, type, reduced);
  if (failed(placed))
    return failure();
  state.gradient =
      tag(ReduceOp::create(phase.inside(), loc(), *placed, gradient),
          state.block, "reduce")
          .getResult();
  return success();
}

LogicalResult StepDerivative::buildBackward(int64_t stage) {
  PhaseOp old = oldForwards[stage];
  PhaseBuilder &forward = *phases[stage];
  auto phase = std::make_unique<PhaseBuilder>(context, stages[stage],
                                              "backward", old.getLoc());
  Insertion insertion(mesh);
  // Cotangents of values inside the old forward, inside the new backward.
  llvm::DenseMap<Value, Value> inside;
  auto addCotangent = [&](Value value, Value cotangent) -> LogicalResult {
    auto [it, fresh] = inside.try_emplace(value, cotangent);
    if (fresh)
      return success();
    auto sum =
        tag(AddOp::create(phase->inside(), loc(), {it->second, cotangent}), 0,
            "add");
    it->second = sum.getResult();
    return insertion.insert(sum);
  };
  auto moveTo = [&](Value value, Type type, int64_t block) -> Value {
    if (value.getType() == type)
      return value;
    return tag(RedistributeOp::create(phase->inside(), loc(), type, value),
               block, "redistribute")
        .getResult();
  };
  auto yield = cast<YieldOp>(old.getBody().front().getTerminator());
  for (auto [result, value] :
       llvm::zip_equal(old.getResults(), yield.getValues()))
    if (Value cotangent = cotangents.lookup(result))
      if (failed(addCotangent(value, phase->getArgument(cotangent))))
        return failure();

  size_t record = records[stage].size();
  for (Operation &op :
       llvm::reverse(old.getBody().front().without_terminator())) {
    if (auto move = dyn_cast<RedistributeOp>(op)) {
      if (Value cotangent = inside.lookup(move.getResult()))
        if (failed(addCotangent(move.getInput(), cotangent)))
          return failure();
      continue;
    }
    auto call = dyn_cast<CallOp>(op);
    if (!call)
      continue;
    CallRecord &current = records[stage][--record];
    BlockDerivative derivative = current.derivative;
    SmallVector<Value> operands;
    auto wanted = derivative.backward.getArgumentTypes();
    for (Value result : call.getResults()) {
      Value cotangent = inside.lookup(result);
      if (!cotangent)
        return call.emitError("has a result that the loss does not depend on");
      operands.push_back(
          moveTo(cotangent, wanted[operands.size()], call.getBlock()));
    }
    for (Value kept : current.kept)
      operands.push_back(phase->getArgument(forward.getResult(kept)));
    for (auto [operand, reads] : llvm::zip_equal(
             call.getOperands().drop_front(derivative.numActivations),
             derivative.backwardReads))
      if (reads) {
        auto use = operand.getDefiningOp<UseOp>();
        ParameterState &state = getState(use.getParameter());
        operands.push_back(
            state.use
                ? phase->getArgument(state.use)
                : tag(MaterializeOp::create(phase->inside(), call.getLoc(),
                                            state.useType, use.getParameter()),
                      call.getBlock(), "materialize")
                      .getResult());
      }
    auto backward = CallOp::create(
        phase->inside(), call.getLoc(),
        derivative.backward.getFunctionType().getResults(),
        derivative.backward.getSymName(), operands, call.getBlock(),
        call.getLayerAttr(), call.getRecompute());
    for (auto [operand, made] :
         llvm::zip_equal(call.getOperands(), backward.getResults())) {
      auto use = operand.getDefiningOp<UseOp>();
      if (failed(use ? addGradient(*phase, insertion,
                                   getState(use.getParameter()), made)
                     : addCotangent(operand, made)))
        return failure();
    }
  }
  SmallVector<std::pair<Value, Value>> leaving; // transfer's input, cotangent
  for (auto [operand, argument] :
       llvm::zip_equal(old.getOperands(), old.getBody().getArguments())) {
    Value cotangent = inside.lookup(argument);
    if (!cotangent)
      continue;
    cotangent = moveTo(cotangent, argument.getType(), 0);
    phase->addResult(cotangent);
    leaving.push_back(
        {operand.getDefiningOp<TransferOp>().getInput(), cotangent});
  }
  for (auto &[name, state] : states)
    if (state.stage == stage)
      phase->addResult(state.gradient);
  phase->create(builder);
  for (auto &[source, cotangent] : leaving) {
    Value sent = phase->getResult(cotangent);
    cotangents[source] = TransferOp::create(
        builder, loc(),
        OnType::get(context, cast<OnType>(source.getType()).getStage(),
                    cast<OnType>(sent.getType()).getValue()),
        sent);
  }
  for (auto &[name, state] : states)
    if (state.stage == stage)
      state.gradient = phase->getResult(state.gradient);
  return success();
}

/// The type of a value once the time axis is summed.
static OnType getAccumulatedType(OnType type) {
  Placement placement = *Placement::of(type.getValue());
  for (int32_t axis : Axes(placement.partial))
    if (placement.isTime(axis))
      placement.removePartial(axis);
  return OnType::get(type.getContext(), type.getStage(),
                     RankedTensorType::get(type.getValue().getShape(),
                                           type.getValue().getElementType(),
                                           placement.getAttr()));
}

LogicalResult StepDerivative::buildMicrobatches() {
  auto *inner = new Block;
  OpBuilder::InsertPoint outer = builder.saveInsertionPoint();
  builder.setInsertionPointToEnd(inner);
  int64_t count = stages.size();
  bool failedInside = false;
  for (int64_t s = 0; s < count && !failedInside; ++s)
    failedInside = failed(buildForward(s));
  auto accumulate =
      cast<AccumulateOp>(oldMicrobatches.getBody().front().getTerminator());
  Value oldLoss = accumulate.getValues().front();
  cotangents[oldLoss] = seed;
  for (int64_t s = count - 1; s >= 0 && !failedInside; --s)
    failedInside = failed(buildBackward(s));
  if (failedInside) {
    delete inner;
    return failure();
  }
  SmallVector<Value> values = {outside.lookup(oldLoss)};
  for (auto &[name, state] : states)
    values.push_back(state.gradient);
  AccumulateOp::create(builder, loc(), values);
  SmallVector<Type> types;
  for (Value value : values)
    types.push_back(getAccumulatedType(cast<OnType>(value.getType())));
  builder.restoreInsertionPoint(outer);
  auto microbatches = MicrobatchesOp::create(builder, loc(), types);
  microbatches.getBody().push_back(inner);
  loss = microbatches.getResult(0);
  unsigned index = 1;
  for (auto &[name, state] : states)
    state.accumulated = microbatches.getResult(index++);
  return success();
}
