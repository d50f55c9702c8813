//===- Schedule.cpp - tables of each stage's actions, and their order -----===//

#include "dialects/Rank/Rank.h"
#include "lib/Analysis/Outline.h"
#include "lib/Analysis/PipelineOrder.h"
#include "passes/Passes.h"
#include "passes/Schedule/ActionFunction.h"

namespace galv {
#define GEN_PASS_DEF_SCHEDULEPASS
#include "passes/Passes.h.inc"
} // namespace galv

using namespace mlir;
using namespace galv;

namespace {
/// One stage as it is built.
struct StageState {
  StageOp op;
  rank::StageOp made;
  OpBuilder buffers, segments, transfers;
  SmallVector<TransferSide> sides;
  SmallVector<rank::SegmentOp> segmentOps;
  MicrobatchWork work;
  SmallVector<PipelineAction> actions;
  PipelineAction pending{false, {}, {}};
  Value loss, norm;

  StageState(MLIRContext *context)
      : buffers(context), segments(context), transfers(context) {}
};

class Scheduler {
public:
  Scheduler(StepOp step, SymbolTable &symbols, Outliner &outliner)
      : step(step), symbols(symbols), outliner(outliner),
        builder(step.getContext()) {}
  LogicalResult run();

private:
  void makeStages();
  void scheduleTopLevel(Operation *op);
  void makeTransfer(TransferOp transfer, bool inMicrobatch);
  int32_t makeSegment(PhaseOp phase, bool inMicrobatch);
  void makeRow(rank::SegmentOp segment, StringRef callee, StringRef action,
               int64_t block, std::optional<int64_t> layer, ValueRange operands,
               ValueRange results);
  void accumulate(StageState &stage, rank::SegmentOp segment, int64_t block,
                  std::optional<int64_t> layer, ValueRange made);
  void runMicrobatches(MicrobatchesOp microbatches);
  LogicalResult finish();

  StageState &getStage(FlatSymbolRefAttr name) {
    return *stages[symbols.lookup<StageOp>(name.getValue()).getIndex()];
  }
  Value makeBuffer(StageState &stage, Type type, StringRef kind, int64_t block);
  Value getStorage(StageState &stage, StringRef parameter, StringRef kind);
  Value getReport(StageState &stage, StringRef name, Type type);
  /// The buffers of a group's inputs, parameters' storage among them.
  Value getInput(StageState &stage, const ActionInput &input);
  Value getResultBuffer(StageState &stage, Value value, bool inMicrobatch,
                        int64_t block);
  std::optional<int64_t> getLayer(int64_t block) {
    bool layer = block >= 1 && block <= static_cast<int64_t>(step.getLayers());
    return layer ? std::optional<int64_t>(block - 1) : std::nullopt;
  }

  StepOp step;
  SymbolTable &symbols;
  Outliner &outliner;
  OpBuilder builder;
  rank::ProgramOp program;
  SmallVector<std::unique_ptr<StageState>> stages;
  /// Tensors, and values on stages, by the buffer that holds them.
  llvm::DenseMap<Value, Value> bufferOf;
  llvm::DenseMap<std::pair<StringRef, StringRef>, Value> storage;
  /// Values that galv.accumulate sums, by their accumulator.
  llvm::DenseMap<Value, Value> accumulators;
  int64_t tags = 0;
};

struct SchedulePass : galv::impl::SchedulePassBase<SchedulePass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    SymbolTable symbols(module);
    Outliner outliner(module);
    SmallVector<StepOp> steps(module.getOps<StepOp>());
    for (StepOp step : steps) {
      if (failed(Scheduler(step, symbols, outliner).run()))
        return signalPassFailure();
      step.erase();
    }
    for (StageOp stage : llvm::make_early_inc_range(module.getOps<StageOp>()))
      stage.erase();
  }
};
} // namespace

static MemRefType getBufferType(Type type) {
  if (auto on = dyn_cast<OnType>(type))
    type = on.getValue();
  auto tensor = cast<RankedTensorType>(type);
  return MemRefType::get(tensor.getShape(), tensor.getElementType());
}

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

Value Scheduler::makeBuffer(StageState &stage, Type type, StringRef kind,
                            int64_t block) {
  return rank::BufferOp::create(
      stage.buffers, step.getLoc(), getBufferType(type), kind, block,
      FlatSymbolRefAttr(), StringAttr(), IntegerAttr());
}

Value Scheduler::getStorage(StageState &stage, StringRef name, StringRef kind) {
  auto parameter = symbols.lookup<ParameterOp>(name);
  Value &buffer = storage[{parameter.getSymName(), kind}];
  if (!buffer) {
    buffer = makeBuffer(stage, getLocalType(parameter.getRestType()), kind, 0);
    auto op = buffer.getDefiningOp<rank::BufferOp>();
    op.setParameterAttr(FlatSymbolRefAttr::get(parameter.getSymNameAttr()));
  }
  return buffer;
}

Value Scheduler::getReport(StageState &stage, StringRef name, Type type) {
  Value &buffer = name == "loss" ? stage.loss : stage.norm;
  if (!buffer) {
    buffer = makeBuffer(stage, type, "kept", 0);
    buffer.getDefiningOp<rank::BufferOp>().setReport(name);
  }
  return buffer;
}

Value Scheduler::getInput(StageState &stage, const ActionInput &input) {
  switch (input.kind) {
  case ActionInput::value:
    return bufferOf.lookup(input.tensor);
  case ActionInput::storage:
    return getStorage(stage, input.name, input.part);
  case ActionInput::report:
    return getReport(stage, input.name, input.type);
  }
  llvm_unreachable("all kinds are handled");
}

/// How long a value lives follows from who uses it: within its segment, until
/// its microbatch is done, or until the step ends.
Value Scheduler::getResultBuffer(StageState &stage, Value value,
                                 bool inMicrobatch, int64_t block) {
  StringRef kind = "local";
  for (OpOperand &operand : value.getUses()) {
    auto yield = dyn_cast<YieldOp>(operand.getOwner());
    if (!yield)
      continue;
    Value result = yield->getParentOp()->getResult(operand.getOperandNumber());
    for (Operation *user : result.getUsers()) {
      if (!inMicrobatch)
        kind = "kept";
      else if (!isa<AccumulateOp>(user))
        kind = "slotted";
      else if (step.getMicrobatches() == 1)
        kind = "kept";
    }
  }
  Value buffer = makeBuffer(stage, value.getType(), kind, block);
  bufferOf[value] = buffer;
  return buffer;
}

//===----------------------------------------------------------------------===//
// Segments
//===----------------------------------------------------------------------===//

void Scheduler::makeRow(rank::SegmentOp segment, StringRef callee,
                        StringRef action, int64_t block,
                        std::optional<int64_t> layer, ValueRange operands,
                        ValueRange results) {
  SmallVector<Value> all(operands);
  llvm::append_range(all, results);
  OpBuilder at = OpBuilder::atBlockEnd(&segment.getBody().front());
  rank::CallOp::create(at, segment.getLoc(), callee, action, block,
                       layer ? builder.getI64IntegerAttr(*layer)
                             : IntegerAttr(),
                       results.size(), all);
}

/// Adds what was made to its accumulators, directly after it was made.
void Scheduler::accumulate(StageState &stage, rank::SegmentOp segment,
                           int64_t block, std::optional<int64_t> layer,
                           ValueRange made) {
  SmallVector<Value> sums, parts;
  for (Value value : made)
    if (Value sum = accumulators.lookup(value)) {
      sums.push_back(sum);
      parts.push_back(bufferOf.lookup(value));
      sum.getDefiningOp<rank::BufferOp>().setBlock(block);
    }
  if (sums.empty())
    return;
  std::string kind = getBlockKind(block, step.getLayers());
  makeRow(segment,
          makeElementwiseFunction(outliner, "accumulate_" + kind, "accumulate",
                                  sums, parts)
              .getSymName(),
          "accumulate", block, layer,
          llvm::to_vector(llvm::concat<Value>(sums, parts)), {});
  rank::SegmentOp first = stage.segmentOps.front();
  makeRow(
      first,
      makeElementwiseFunction(outliner, "zero_" + kind, "fill_zero", sums, {})
          .getSymName(),
      "zero", block, layer, sums, {});
}

int32_t Scheduler::makeSegment(PhaseOp phase, bool inMicrobatch) {
  StageState &stage = getStage(phase.getStageAttr());
  auto segment =
      rank::SegmentOp::create(stage.segments, phase.getLoc(), phase.getName());
  segment.getBody().emplaceBlock();
  stage.segmentOps.push_back(segment);
  for (auto [operand, argument] :
       llvm::zip_equal(phase.getOperands(), phase.getBody().getArguments()))
    bufferOf[argument] = bufferOf.lookup(operand);

  SmallVector<Operation *> group;
  auto getTag = [](Operation *op) {
    return std::make_pair(op->getDiscardableAttr(actionAttrName),
                          op->getDiscardableAttr(blockAttrName));
  };
  auto flush = [&] {
    if (group.empty())
      return;
    auto action = group.front()->getAttrOfType<StringAttr>(actionAttrName);
    auto blockAttr = group.front()->getAttrOfType<IntegerAttr>(blockAttrName);
    int64_t block = blockAttr ? blockAttr.getInt() : 0;
    std::optional<int64_t> layer = getLayer(block);
    StringRef name = action ? action.getValue() : StringRef("compute");
    ActionFunction made = makeActionFunction(
        outliner, group,
        (name + "_" + getBlockKind(block, step.getLayers())).str(),
        step.getLayerPrefix(), layer);
    SmallVector<Value> operands, results;
    for (const ActionInput &input : made.inputs) {
      operands.push_back(getInput(stage, input));
      if (input.part == "exp_avg") {
        // The gradient of this update is what --dump-gradients shows.
        auto buffer =
            bufferOf.lookup(input.gradient).getDefiningOp<rank::BufferOp>();
        buffer.setKind("gradient");
        buffer.setParameterAttr(
            FlatSymbolRefAttr::get(builder.getContext(), input.name));
        for (StringRef part : {"rest", "exp_avg", "exp_avg_sq"})
          getStorage(stage, input.name, part)
              .getDefiningOp<rank::BufferOp>()
              .setBlock(block);
      }
    }
    for (Value result : made.results)
      results.push_back(getResultBuffer(stage, result, inMicrobatch, block));
    makeRow(segment, made.function.getSymName(), name, block, layer, operands,
            results);
    accumulate(stage, segment, block, layer, made.results);
    group.clear();
  };
  for (Operation &op : phase.getBody().front().without_terminator()) {
    if (auto materialize = dyn_cast<MaterializeOp>(op)) {
      // Rest itself; what goes from there to use stands behind it.
      bufferOf[materialize.getResult()] =
          getStorage(stage, materialize.getParameter(), "rest");
      continue;
    }
    auto call = dyn_cast<CallOp>(op);
    if (!group.empty() && (call || getTag(group.front()) != getTag(&op)))
      flush();
    if (!call) {
      group.push_back(&op);
      continue;
    }
    SmallVector<Value> operands, results;
    for (Value operand : call.getOperands())
      operands.push_back(bufferOf.lookup(operand));
    for (Value result : call.getResults())
      results.push_back(
          getResultBuffer(stage, result, inMicrobatch, call.getBlock()));
    std::optional<int64_t> layer = getLayer(call.getBlock());
    makeRow(segment, call.getCallee(), phase.getName(), call.getBlock(), layer,
            operands, results);
    accumulate(stage, segment, call.getBlock(), layer, call.getResults());
  }
  flush();
  auto yield = cast<YieldOp>(phase.getBody().front().getTerminator());
  for (auto [result, value] :
       llvm::zip_equal(phase.getResults(), yield.getValues()))
    bufferOf[result] = bufferOf.lookup(value);
  return stage.segmentOps.size() - 1;
}

//===----------------------------------------------------------------------===//
// Transfers and order
//===----------------------------------------------------------------------===//

void Scheduler::makeTransfer(TransferOp transfer, bool inMicrobatch) {
  OnType from = transfer.getInput().getType(), to = transfer.getType();
  StageState &sender = getStage(from.getStage());
  StageState &receiver = getStage(to.getStage());
  int64_t tag = tags++;
  Value source = bufferOf.lookup(transfer.getInput());
  Value target = makeBuffer(receiver, to, inMicrobatch ? "slotted" : "kept", 0);
  bufferOf[transfer.getResult()] = target;
  auto add = [&](StageState &stage, bool send, int64_t peer, Value buffer) {
    rank::TransferOp::create(stage.transfers, transfer.getLoc(), send, peer,
                             tag, buffer);
    stage.sides.push_back({send, peer, tag});
    return static_cast<int32_t>(stage.sides.size() - 1);
  };
  int64_t senderIndex = sender.op.getIndex();
  int64_t receiverIndex = receiver.op.getIndex();
  int32_t sent = add(sender, true, receiverIndex, source);
  int32_t got = add(receiver, false, senderIndex, target);
  if (!inMicrobatch) {
    for (auto [stage, number] :
         {std::make_pair(&sender, sent), std::make_pair(&receiver, got)}) {
      stage->pending.numbers.push_back(number);
      stage->pending.microbatches.push_back(-1);
    }
    return;
  }
  bool forward =
      transfer.getInput().getDefiningOp<PhaseOp>().getName() == "forward";
  (forward ? sender.work.sendForward : sender.work.sendBackward)
      .push_back(sent);
  (forward ? receiver.work.receiveForward : receiver.work.receiveBackward)
      .push_back(got);
}

static void flushPending(StageState &stage) {
  if (stage.pending.numbers.empty())
    return;
  stage.actions.push_back(stage.pending);
  stage.pending = PipelineAction{false, {}, {}};
}

void Scheduler::runMicrobatches(MicrobatchesOp microbatches) {
  Block &body = microbatches.getBody().front();
  auto sum = cast<AccumulateOp>(body.getTerminator());
  int64_t count = step.getMicrobatches();
  // Accumulators first: rows add to them as soon as a part is made.
  for (auto [value, result] :
       llvm::zip_equal(sum.getValues(), microbatches.getResults())) {
    if (count == 1)
      continue;
    auto phase = value.getDefiningOp<PhaseOp>();
    StageState &stage = getStage(phase.getStageAttr());
    Value inner = phase.getBody().front().getTerminator()->getOperand(
        cast<OpResult>(value).getResultNumber());
    Value buffer = makeBuffer(stage, result.getType(), "kept", 0);
    accumulators[inner] = buffer;
    bufferOf[result] = buffer;
  }
  for (Operation &op : body.without_terminator()) {
    if (auto transfer = dyn_cast<TransferOp>(op)) {
      makeTransfer(transfer, true);
      continue;
    }
    auto phase = cast<PhaseOp>(op);
    int32_t segment = makeSegment(phase, true);
    MicrobatchWork &work = getStage(phase.getStageAttr()).work;
    (phase.getName() == "forward" ? work.forward : work.backward) = segment;
  }
  if (count == 1)
    for (auto [value, result] :
         llvm::zip_equal(sum.getValues(), microbatches.getResults()))
      bufferOf[result] = bufferOf.lookup(value);
  for (auto [s, stage] : llvm::enumerate(stages)) {
    flushPending(*stage);
    llvm::append_range(stage->actions,
                       orderMicrobatches(step.getSchedule(), s, stages.size(),
                                         count, stage->work));
  }
}

void Scheduler::scheduleTopLevel(Operation *op) {
  if (auto microbatches = dyn_cast<MicrobatchesOp>(op))
    return runMicrobatches(microbatches);
  if (auto transfer = dyn_cast<TransferOp>(op))
    return makeTransfer(transfer, false);
  auto phase = cast<PhaseOp>(op);
  StageState &stage = getStage(phase.getStageAttr());
  flushPending(stage);
  PipelineAction action;
  action.numbers = {makeSegment(phase, false)};
  action.microbatches = {-1};
  stage.actions.push_back(action);
}

//===----------------------------------------------------------------------===//
// The whole
//===----------------------------------------------------------------------===//

void Scheduler::makeStages() {
  Location loc = step.getLoc();
  builder.setInsertionPoint(step);
  program = rank::ProgramOp::create(
      builder, loc, step.getSymName(), step.getBatch(), step.getSequence(),
      step.getVocabulary(), step.getLayers(), step.getLayerPrefix(),
      step.getConfiguration(), step.getMesh(), step.getMicrobatches(),
      step.getSchedule());
  Block &body = program.getBody().emplaceBlock();
  builder.setInsertionPointToEnd(&body);
  for (StageOp op : step->getParentOfType<ModuleOp>().getOps<StageOp>()) {
    auto state = std::make_unique<StageState>(op.getContext());
    state->op = op;
    state->made =
        rank::StageOp::create(builder, loc, op.getSymName(), op.getFirstRank(),
                              op.getIndex(), builder.getArrayAttr({}), 1,
                              IntegerAttr(), IntegerAttr(), IntegerAttr());
    // Buffers, then segments, then transfers: each list grows at its end.
    Block &inside = state->made.getBody().emplaceBlock();
    OpBuilder at = OpBuilder::atBlockEnd(&inside);
    auto marks = {rank::SegmentOp::create(at, loc, ""),
                  rank::SegmentOp::create(at, loc, ""),
                  rank::SegmentOp::create(at, loc, "")};
    auto it = marks.begin();
    state->buffers.setInsertionPoint(*it++);
    state->segments.setInsertionPoint(*it++);
    state->transfers.setInsertionPoint(*it);
    auto first = rank::SegmentOp::create(state->segments, loc, "prepare");
    first.getBody().emplaceBlock();
    state->segmentOps.push_back(first);
    PipelineAction prepare;
    prepare.numbers = {0};
    prepare.microbatches = {-1};
    state->actions.push_back(prepare);
    stages.push_back(std::move(state));
  }
}

LogicalResult Scheduler::finish() {
  SmallVector<StageOrder> orders;
  for (auto &stage : stages) {
    flushPending(*stage);
    orders.push_back(
        {stage->op.getSymName().str(), stage->sides, stage->actions});
    SmallVector<Attribute> order;
    for (const PipelineAction &action : stage->actions)
      order.push_back(rank::ActionAttr::get(builder.getContext(), action.run,
                                            action.numbers,
                                            action.microbatches));
    stage->made.setOrderAttr(builder.getArrayAttr(order));
    stage->made.setSlots(countSlots(stage->actions, step.getMicrobatches()));
    for (Operation &op :
         llvm::make_early_inc_range(stage->made.getBody().front()))
      if (auto segment = dyn_cast<rank::SegmentOp>(op);
          segment && segment.getName().empty())
        segment.erase();
  }
  return simulatePipeline(orders, [&] { return step.emitError(); });
}

LogicalResult Scheduler::run() {
  makeStages();
  for (Operation &op : step.getBody().front())
    scheduleTopLevel(&op);
  return finish();
}
