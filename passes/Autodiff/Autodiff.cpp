//===- Autodiff.cpp - begin, forward, backward, finish --------------------===//

#include "lib/Analysis/Insertion.h"
#include "passes/Autodiff/BlockDerivative.h"
#include "passes/Autodiff/PhaseBuilder.h"
#include "mlir/IR/IRMapping.h"

namespace galv {
#define GEN_PASS_DEF_AUTODIFFPASS
#include "passes/Passes.h.inc"
} // namespace galv

using namespace mlir;
using namespace galv;

namespace {
/// A parameter on one stage, in program order of its first use there.
struct ParameterState {
  ParameterOp op;
  int64_t stage = 0, block = 0;
  RankedTensorType useType;
  unsigned uses = 0, seen = 0; // calls that read it; gradients met so far
  Value use;                   // of `begin`, on its stage; null for ZeRO-3
  Value gradient;              // of one microbatch, inside the backward
  Value accumulated;           // result of galv.microbatches
};

/// A call of the forward with what its backward needs.
struct CallRecord {
  CallOp call; // in the old step
  BlockDerivative derivative;
  SmallVector<Value> kept; // inside the new forward
};

class StepDerivative {
public:
  StepDerivative(StepOp step, SymbolTable &symbols, Outliner &outliner)
      : step(step), mesh(step.getMesh()), symbols(symbols), outliner(outliner),
        builder(step.getContext()), context(step.getContext()) {}
  LogicalResult run();

private:
  // Autodiff.cpp
  LogicalResult collect();
  void buildBegin();
  void buildRefresh();
  LogicalResult buildForward(int64_t stage);
  LogicalResult buildBackward(int64_t stage);
  LogicalResult addGradient(PhaseBuilder &phase, Insertion &insertion,
                            ParameterState &state, Value gradient);
  LogicalResult buildMicrobatches();
  LogicalResult sendGradientsHome();
  LogicalResult buildFinish(int64_t stage);
  Value buildSeed(PhaseBuilder &phase);
  Value buildLoss(PhaseBuilder &phase, int64_t stage);

  template <typename Op>
  Op tag(Op op, int64_t block, StringRef action) {
    op->setDiscardableAttr(blockAttrName, builder.getI64IntegerAttr(block));
    op->setDiscardableAttr(actionAttrName, builder.getStringAttr(action));
    return op;
  }
  ParameterState &getState(StringRef name) { return states.find(name)->second; }
  RankedTensorType getScalar(Placement placement) {
    return RankedTensorType::get({}, elementType, placement.getAttr());
  }
  RankedTensorType getReplicatedScalar() {
    return getScalar(Placement::replicated(mesh, 0));
  }
  Location loc() { return step.getLoc(); }
  int64_t headBlock() { return step.getLayers() + 1; }

  StepOp step;
  MeshAttr mesh;
  SymbolTable &symbols;
  Outliner &outliner;
  OpBuilder builder;
  MLIRContext *context;
  Type elementType;

  SmallVector<StageOp> stages;
  SmallVector<PhaseOp> oldForwards;
  MicrobatchesOp oldMicrobatches;
  llvm::MapVector<StringRef, ParameterState> states;
  SmallVector<PhaseOp> forwards;
  SmallVector<SmallVector<CallRecord>> records; // per stage
  SmallVector<std::unique_ptr<PhaseBuilder>> phases;
  /// Results of the old forward phases as they are in the new step.
  IRMapping outside;
  /// Cotangents of results of old forward phases, on their stage.
  llvm::DenseMap<Value, Value> cotangents;
  Value seed, loss;
  llvm::DenseMap<StringRef, Value> sentHome; // by copy's name, on its home
};

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
    for (auto function :
         llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>()))
      if (SymbolTable::symbolKnownUseEmpty(function, getOperation()))
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

//===----------------------------------------------------------------------===//
// Begin
//===----------------------------------------------------------------------===//

/// One over the number of labels that count in the whole step.
Value StepDerivative::buildSeed(PhaseBuilder &phase) {
  auto strategy = cast<BlockStrategyAttr>(step.getBlocks()[headBlock()]);
  Placement placement = Placement::replicated(mesh, 2);
  placement.dims[0].axes.assign(strategy.getData().begin(),
                                strategy.getData().end());
  auto labelsType = RankedTensorType::get(
      {static_cast<int64_t>(step.getBatch()),
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
    count = tag(RedistributeOp::create(inside, loc(), getReplicatedScalar(),
                                       count),
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
      auto type = OnType::get(
          context, FlatSymbolRefAttr::get(stage.getSymNameAttr()),
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

//===----------------------------------------------------------------------===//
// Microbatches
//===----------------------------------------------------------------------===//

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
      operands.push_back(
          state.use ? phase.getArgument(state.use)
                    : tag(MaterializeOp::create(phase.inside(), call.getLoc(),
                                                state.useType,
                                                use.getParameter()),
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
  forwards.push_back(phase.create(builder));
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
    auto sum = tag(AddOp::create(phase.inside(), loc(),
                                 {state.gradient, gradient}),
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
    auto sum = tag(AddOp::create(phase->inside(), loc(),
                                 {it->second, cotangent}),
                   0, "add");
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
    for (auto [operand, reads] :
         llvm::zip_equal(call.getOperands().drop_front(
                             derivative.numActivations),
                         derivative.backwardReads))
      if (reads) {
        auto use = operand.getDefiningOp<UseOp>();
        ParameterState &state = getState(use.getParameter());
        operands.push_back(
            state.use ? phase->getArgument(state.use)
                      : tag(MaterializeOp::create(
                                phase->inside(), call.getLoc(), state.useType,
                                use.getParameter()),
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

//===----------------------------------------------------------------------===//
// Finish
//===----------------------------------------------------------------------===//

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
    value = tag(SumOverStagesOp::create(inside, loc(), value), headBlock(),
                "loss")
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
        auto sum = tag(AddOp::create(
                           inside, loc(), rest, gradient,
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
    auto sum = tag(
        AddOp::create(inside, loc(), {total, squares.getResult()}),
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
    total = tag(RedistributeOp::create(inside, loc(), getReplicatedScalar(),
                                       total),
                headBlock(), "clip")
                .getResult();
  if (stages.size() > 1)
    total = tag(SumOverStagesOp::create(inside, loc(), total), headBlock(),
                "clip")
                .getResult();
  auto clip = tag(ClipCoefficientOp::create(
                      inside, loc(),
                      TypeRange{getReplicatedScalar(), getReplicatedScalar()},
                      total),
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

