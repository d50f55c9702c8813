//===- StagePipeline.cpp - every block on one stage -----------------------===//

#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "passes/Passes.h"
#include "llvm/ADT/SetVector.h"

namespace galv {
#define GEN_PASS_DEF_STAGEPIPELINEPASS
#include "passes/Passes.h.inc"
} // namespace galv

using namespace mlir;
using namespace galv;

namespace {
/// Turns one model into a step of stages.
class Staging {
public:
  Staging(ModelOp model, SymbolTable &symbols)
      : model(model), mesh(*model.getMesh()), symbols(symbols),
        builder(model.getContext()) {}
  LogicalResult run();

private:
  void assignStages();
  void makeStages();
  Value getOnStage(Value value, int64_t stage);
  LogicalResult makeForward(int64_t stage);
  StringAttr getHomeOrCopy(StringRef name, int64_t stage);
  FlatSymbolRefAttr getStage(int64_t stage) {
    return FlatSymbolRefAttr::get(stages[stage].getSymNameAttr());
  }

  ModelOp model;
  MeshAttr mesh;
  SymbolTable &symbols;
  OpBuilder builder;
  Block *body = nullptr;
  SmallVector<StageOp> stages;
  llvm::DenseMap<Operation *, int64_t> stageOf;
  llvm::DenseMap<StringRef, int64_t> homes;
  /// Values of the model's body as they lie on a stage.
  llvm::DenseMap<std::pair<Value, int64_t>, Value> onStage;
};

struct StagePipeline : galv::impl::StagePipelinePassBase<StagePipeline> {
  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    SmallVector<ModelOp> models(getOperation().getOps<ModelOp>());
    for (ModelOp model : models)
      if (failed(Staging(model, symbols).run()))
        return signalPassFailure();
  }
};
} // namespace

/// Calls go where their block is; uses and redistributions before a call, to
/// the stage of what reads them.
void Staging::assignStages() {
  for (Operation &op : llvm::reverse(*body)) {
    if (auto call = dyn_cast<CallOp>(op)) {
      stageOf[&op] =
          cast<BlockStrategyAttr>((*model.getBlocks())[call.getBlock()])
              .getStage();
      continue;
    }
    for (Operation *user : op.getUsers())
      if (auto it = stageOf.find(user); it != stageOf.end())
        stageOf[&op] = it->second;
  }
}

void Staging::makeStages() {
  builder.setInsertionPoint(model);
  int64_t count = *model.getStages();
  for (int64_t s = 0; s < count; ++s) {
    auto stage =
        StageOp::create(builder, model.getLoc(), "stage" + std::to_string(s),
                        mesh, s * mesh.getRanks(), s);
    symbols.insert(stage);
    stages.push_back(stage);
  }
}

/// A value crosses once, split over every axis that still divides one of its
/// dimensions, the first ones first; the receiver redistributes it.
static FailureOr<RankedTensorType> getCrossingType(Value value, MeshAttr mesh) {
  auto type = cast<RankedTensorType>(value.getType());
  Placement placement = *Placement::of(type);
  for (unsigned axis = 0; axis < mesh.getSpaceAxes(); ++axis) {
    if (placement.isSplitOver(axis) || placement.isPartialOver(axis))
      continue;
    for (size_t dim = 0; dim < placement.dims.size(); ++dim) {
      Placement further = placement;
      further.dims[dim].axes.push_back(axis);
      if (placement.dims[dim].pad ||
          !isLegalPlacement(type.getShape(), further))
        continue;
      placement = further;
      break;
    }
  }
  return getPlacedType([&] { return emitError(value.getLoc()); }, type,
                       placement);
}

/// The name of the parameter on this stage: its home's, or a copy's.
StringAttr Staging::getHomeOrCopy(StringRef name, int64_t stage) {
  auto parameter = symbols.lookup<ParameterOp>(name);
  auto [it, fresh] = homes.try_emplace(parameter.getSymName(), stage);
  if (fresh)
    parameter.setHomeAttr(getStage(stage));
  if (it->second == stage)
    return parameter.getSymNameAttr();
  std::string copyName = (name + "@" + stages[stage].getSymName()).str();
  if (auto copy = symbols.lookup<ParameterOp>(copyName))
    return copy.getSymNameAttr();
  auto copy = cast<ParameterOp>(parameter->clone());
  copy.setSymName(copyName);
  copy.setHomeAttr(getStage(stage));
  copy.setCopyOfAttr(FlatSymbolRefAttr::get(parameter.getSymNameAttr()));
  builder.setInsertionPointAfter(parameter);
  builder.insert(copy);
  symbols.insert(copy);
  return copy.getSymNameAttr();
}

LogicalResult Staging::makeForward(int64_t stage) {
  SmallVector<Operation *> ops;
  llvm::SetVector<Value> incoming;
  SmallVector<Value> outgoing;
  for (Operation &op : *body)
    if (auto it = stageOf.find(&op); it != stageOf.end() && it->second == stage)
      ops.push_back(&op);
  auto isHere = [&](Operation *op) {
    auto it = stageOf.find(op);
    return it != stageOf.end() && it->second == stage;
  };
  for (Operation *op : ops) {
    for (Value operand : op->getOperands())
      if (!isHere(operand.getDefiningOp()))
        incoming.insert(operand);
    for (Value result : op->getResults())
      if (llvm::any_of(result.getUsers(),
                       [&](Operation *user) { return !isHere(user); }))
        outgoing.push_back(result);
  }

  Location loc = model.getLoc();
  SmallVector<Value> operands;
  for (Value value : incoming) {
    int64_t from = stageOf.lookup(value.getDefiningOp());
    Value source = onStage.lookup({value, from});
    auto type = cast<OnType>(source.getType());
    operands.push_back(TransferOp::create(
        builder, value.getLoc(),
        OnType::get(builder.getContext(), getStage(stage), type.getValue()),
        source));
  }
  // What leaves for another stage is split further; the loss stays as it is.
  SmallVector<Type> resultTypes;
  SmallVector<RankedTensorType> leavingTypes;
  for (Value value : outgoing) {
    auto type = cast<RankedTensorType>(value.getType());
    if (llvm::any_of(value.getUsers(), [&](Operation *user) {
          return stageOf.count(user) && !isHere(user);
        })) {
      FailureOr<RankedTensorType> crossing = getCrossingType(value, mesh);
      if (failed(crossing))
        return failure();
      type = *crossing;
    }
    leavingTypes.push_back(type);
    resultTypes.push_back(
        OnType::get(builder.getContext(), getStage(stage), type));
  }
  auto phase = PhaseOp::create(builder, loc, resultTypes, "forward",
                               stages[stage].getSymName(), operands);
  OpBuilder::InsertionGuard guard(builder);
  Block *inner = builder.createBlock(&phase.getBody());
  IRMapping mapping;
  for (auto [value, operand] : llvm::zip_equal(incoming, operands)) {
    auto on = cast<OnType>(operand.getType());
    Value argument = inner->addArgument(on.getValue(), value.getLoc());
    mapping.map(value, argument);
    if (argument.getType() != value.getType())
      mapping.map(value, RedistributeOp::create(builder, value.getLoc(),
                                                value.getType(), argument)
                             .getResult());
  }
  for (Operation *op : ops) {
    Operation *clone = builder.clone(*op, mapping);
    if (auto use = dyn_cast<UseOp>(clone)) {
      OpBuilder::InsertionGuard keep(builder);
      use.setParameter(getHomeOrCopy(use.getParameter(), stage).getValue());
    }
  }
  SmallVector<Value> yielded;
  for (auto [value, type] : llvm::zip_equal(outgoing, leavingTypes)) {
    Value mapped = mapping.lookup(value);
    if (mapped.getType() != type)
      mapped = RedistributeOp::create(builder, value.getLoc(), type, mapped);
    yielded.push_back(mapped);
  }
  YieldOp::create(builder, loc, yielded);
  for (auto [value, result] : llvm::zip_equal(outgoing, phase.getResults()))
    onStage[{value, stage}] = result;
  return success();
}

LogicalResult Staging::run() {
  MicrobatchesOp microbatches;
  for (auto op : model.getOps<MicrobatchesOp>())
    microbatches = op;
  if (!microbatches)
    return model.emitError(
        "has no galv.microbatches: galv-assign-strategy comes first");
  body = &microbatches.getBody().front();
  for (Operation &op : *body)
    if (!isa<CallOp, UseOp, RedistributeOp, AccumulateOp>(op))
      return op.emitError("stands between blocks: galv-sequential-partition "
                          "comes first");
  assignStages();
  makeStages();
  builder.setInsertionPoint(model);
  auto step = StepOp::create(builder, model.getLoc(), model.getSymName(),
                             model.getBatch(), model.getSequence(),
                             model.getVocabulary(), model.getLayers(),
                             model.getLayerPrefix(), model.getConfiguration(),
                             mesh, *model.getBlocks(), *model.getStages(),
                             *model.getMicrobatches(), *model.getSchedule());
  builder.createBlock(&step.getBody());
  auto accumulate = cast<AccumulateOp>(body->getTerminator());
  SmallVector<Type> types;
  for (auto [value, result] :
       llvm::zip_equal(accumulate.getValues(), microbatches.getResults()))
    types.push_back(OnType::get(builder.getContext(),
                                getStage(stageOf.lookup(value.getDefiningOp())),
                                cast<RankedTensorType>(result.getType())));
  auto staged = MicrobatchesOp::create(builder, model.getLoc(), types);
  builder.createBlock(&staged.getBody());
  for (size_t s = 0; s < stages.size(); ++s)
    if (failed(makeForward(s)))
      return failure();
  SmallVector<Value> values;
  for (Value value : accumulate.getValues())
    values.push_back(
        onStage.lookup({value, stageOf.lookup(value.getDefiningOp())}));
  AccumulateOp::create(builder, accumulate.getLoc(), values);
  symbols.erase(model);
  return success();
}
