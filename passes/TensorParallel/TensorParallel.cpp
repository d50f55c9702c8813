//===- TensorParallel.cpp - placements of parameters and activations ------===//

#include "lib/Analysis/Insertion.h"
#include "mlir/IR/Builders.h"
#include "passes/Passes.h"

namespace galv {
#define GEN_PASS_DEF_TENSORPARALLELPASS
#include "passes/Passes.h.inc"
} // namespace galv

using namespace mlir;
using namespace galv;

namespace {
/// Types one model, block by block.
class Typing {
public:
  explicit Typing(ModelOp model)
      : model(model), mesh(*model.getMesh()), symbols(model->getParentOp()) {}
  LogicalResult run();

private:
  BlockStrategyAttr getStrategy(int64_t block) {
    return cast<BlockStrategyAttr>((*model.getBlocks())[block]);
  }
  std::string getBlockName(int64_t block) {
    bool layer = block >= 1 && block <= static_cast<int64_t>(model.getLayers());
    return layer ? "layer " + std::to_string(block - 1)
                 : "the vocabulary layers";
  }
  Axes getBatchAxes(BlockStrategyAttr strategy);
  Axes getSequenceAxes(BlockStrategyAttr strategy);
  FailureOr<RankedTensorType> getBoundaryType(int64_t block, Value value);

  LogicalResult typeUses();
  LogicalResult typeUse(UseOp use, int64_t block);
  LogicalResult typeAnywhere(Operation *op, int64_t block);
  LogicalResult typeBlock(int64_t block, ArrayRef<Operation *> ops);
  LogicalResult enterBlock(int64_t block, ArrayRef<Operation *> ops,
                           Insertion &border);
  LogicalResult leaveBlock(int64_t block, ArrayRef<Operation *> ops);

  ModelOp model;
  MeshAttr mesh;
  SymbolTable symbols;
};

struct TensorParallel : galv::impl::TensorParallelPassBase<TensorParallel> {
  void runOnOperation() override {
    for (ModelOp model : getOperation().getOps<ModelOp>())
      if (failed(Typing(model).run()))
        return signalPassFailure();
  }
};
} // namespace

/// The block that an operation is tagged with; none between blocks.
static std::optional<int64_t> getBlock(Operation *op) {
  if (auto attr = op->getAttrOfType<IntegerAttr>(blockAttrName))
    return attr.getInt();
  return std::nullopt;
}

Axes Typing::getBatchAxes(BlockStrategyAttr strategy) {
  Axes axes;
  for (unsigned axis = mesh.getSpaceAxes(); axis < mesh.getNumAxes(); ++axis)
    axes.push_back(axis);
  llvm::append_range(axes, strategy.getData());
  return axes;
}

Axes Typing::getSequenceAxes(BlockStrategyAttr strategy) {
  return strategy.getSequence() ? Axes(strategy.getTensor()) : Axes();
}

/// Batch over microbatches and data axes, the sequence over the tensor axes
/// where the strategy says so.
FailureOr<RankedTensorType> Typing::getBoundaryType(int64_t block,
                                                    Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  Placement placement = Placement::replicated(mesh, type.getRank());
  if (type.getRank() > 0)
    placement.dims[0].axes = getBatchAxes(getStrategy(block));
  if (type.getRank() > 1)
    placement.dims[1].axes = getSequenceAxes(getStrategy(block));
  return getPlacedType(
      [&] {
        return emitError(value.getLoc())
               << "the border of " << getBlockName(block) << ": ";
      },
      type, placement);
}

/// Uses are typed by the block that they are used in; one that several blocks
/// use is repeated for each.
LogicalResult Typing::typeUses() {
  SmallVector<UseOp> uses;
  model.walk([&](UseOp use) { uses.push_back(use); });
  for (UseOp use : uses) {
    llvm::MapVector<int64_t, SmallVector<OpOperand *>> users;
    for (OpOperand &operand : use.getResult().getUses())
      users[getBlock(operand.getOwner()).value_or(0)].push_back(&operand);
    SmallVector<int64_t> blocks;
    for (auto &[block, operands] : users)
      blocks.push_back(block);
    llvm::sort(blocks);
    UseOp copy = use;
    for (int64_t block : blocks) {
      if (block != blocks.front()) {
        OpBuilder builder(use);
        copy = cast<UseOp>(builder.clone(*use));
        for (OpOperand *operand : users[block])
          operand->set(copy.getResult());
      }
      if (failed(typeUse(copy, block)))
        return failure();
    }
  }
  return success();
}

LogicalResult Typing::typeUse(UseOp use, int64_t block) {
  auto type = cast<RankedTensorType>(use.getResult().getType());
  if (Placement::of(type))
    return success();
  auto parameter = symbols.lookup<ParameterOp>(use.getParameter());
  if (!parameter)
    return use.emitError() << "uses @" << use.getParameter()
                           << ", which is not a parameter";
  BlockStrategyAttr strategy = getStrategy(block);
  Placement placement = Placement::replicated(mesh, type.getRank());
  for (auto [i, name] : llvm::enumerate(
           parameter.getDimensions().getAsValueRange<StringAttr>())) {
    bool vocabulary = name == "vocabulary";
    if (!vocabulary && name != "heads" && name != "hidden")
      continue;
    Axes axes(strategy.getTensor());
    int64_t degree = mesh.product(axes), size = type.getDimSize(i);
    placement.dims[i].axes = axes;
    if (size % degree == 0)
      continue;
    if (!vocabulary)
      return parameter.emitError()
             << "parameter '" << parameter.getSymName() << "': its " << name
             << " dimension of size " << size << " is not divisible by "
             << degree << ", the tensor degree of " << getBlockName(block);
    placement.dims[i].pad = true;
  }
  FailureOr<RankedTensorType> placed =
      getPlacedType([&] { return use.emitError(); }, type, placement);
  if (failed(placed))
    return failure();
  use.getResult().setType(*placed);
  return success();
}

/// What is computed anywhere starts in its block's own splits of batch and
/// sequence, which are the factors `b` and `s` of every such rule.
LogicalResult Typing::typeAnywhere(Operation *op, int64_t block) {
  if (Placement::of(op->getResult(0).getType()))
    return success();
  FailureOr<FactorRule> rule =
      getFactorRule(op, [&] { return op->emitOpError(); });
  if (failed(rule))
    return failure();
  Placement placement =
      Placement::replicated(mesh, rule->results.front().size());
  for (auto [split, factors] :
       llvm::zip_equal(placement.dims, rule->results.front())) {
    StringRef name = rule->factors[factors.front()].name;
    if (name == "b")
      split.axes = getBatchAxes(getStrategy(block));
    else if (name == "s")
      split.axes = getSequenceAxes(getStrategy(block));
  }
  FailureOr<RankedTensorType> type = getPlacedType(
      [&] {
        return op->emitError()
               << getModulePath(op) << ", " << getBlockName(block) << ": ";
      },
      cast<RankedTensorType>(op->getResult(0).getType()), placement);
  if (failed(type))
    return failure();
  op->getResult(0).setType(*type);
  return success();
}

/// Values of earlier blocks arrive in this block's boundary type.
LogicalResult Typing::enterBlock(int64_t block, ArrayRef<Operation *> ops,
                                 Insertion &border) {
  OpBuilder builder(ops.front());
  for (Operation *op : ops)
    for (OpOperand &operand : op->getOpOperands()) {
      Operation *def = operand.get().getDefiningOp();
      if (!def || isa<UseOp>(def) || isComputedAnywhere(def) ||
          getBlock(def) == block)
        continue;
      FailureOr<RankedTensorType> type = getBoundaryType(block, operand.get());
      if (failed(type))
        return failure();
      FailureOr<Value> moved =
          border.redistribute(builder, operand.get(), *type);
      if (failed(moved))
        return failure();
      operand.set(*moved);
    }
  return success();
}

/// Results leave in the block's boundary type; a scalar (a loss term) as the
/// partial sum that it is.
LogicalResult Typing::leaveBlock(int64_t block, ArrayRef<Operation *> ops) {
  for (Operation *op : ops)
    for (Value result : op->getResults()) {
      if (cast<RankedTensorType>(result.getType()).getRank() == 0)
        continue;
      SmallVector<OpOperand *> outside;
      for (OpOperand &operand : result.getUses())
        if (getBlock(operand.getOwner()) != block)
          outside.push_back(&operand);
      if (outside.empty() || isComputedAnywhere(op))
        continue;
      FailureOr<RankedTensorType> type = getBoundaryType(block, result);
      if (failed(type))
        return failure();
      if (*type == result.getType())
        continue;
      OpBuilder builder(op->getContext());
      builder.setInsertionPointAfter(ops.back());
      auto moved = RedistributeOp::create(builder, op->getLoc(), *type, result);
      moved->setDiscardableAttr(blockAttrName,
                                builder.getI64IntegerAttr(block));
      if (Attribute path = op->getDiscardableAttr(moduleAttrName))
        moved->setDiscardableAttr(moduleAttrName, path);
      for (OpOperand *operand : outside)
        operand->set(moved.getResult());
    }
  return success();
}

LogicalResult Typing::typeBlock(int64_t block, ArrayRef<Operation *> ops) {
  Insertion border(mesh), insertion(mesh);
  if (failed(enterBlock(block, ops, border)))
    return failure();
  for (Operation *op : ops) {
    for (Value operand : op->getOperands())
      if (operand.getDefiningOp<UseOp>())
        insertion.markUse(operand);
    if (failed(isComputedAnywhere(op) ? typeAnywhere(op, block)
                                      : insertion.typeResults(op)))
      return failure();
  }
  return leaveBlock(block, ops);
}

LogicalResult Typing::run() {
  if (!model.getMesh())
    return model.emitError("has no strategy: galv-assign-strategy comes first");
  if (failed(typeUses()))
    return failure();
  MicrobatchesOp microbatches;
  llvm::MapVector<int64_t, SmallVector<Operation *>> blocks;
  for (auto op : model.getOps<MicrobatchesOp>())
    microbatches = op;
  for (Operation &op : microbatches.getBody().front())
    if (std::optional<int64_t> block = getBlock(&op))
      blocks[*block].push_back(&op);
  for (auto &[block, ops] : blocks)
    if (failed(typeBlock(block, ops)))
      return failure();
  Operation *accumulate = microbatches.getBody().front().getTerminator();
  for (auto [value, result] :
       llvm::zip_equal(accumulate->getOperands(), microbatches.getResults())) {
    Placement placement = *Placement::of(value.getType());
    for (int32_t axis : Axes(placement.partial))
      if (mesh.isTime(axis))
        placement.removePartial(axis);
    auto tensor = cast<RankedTensorType>(value.getType());
    result.setType(RankedTensorType::get(
        tensor.getShape(), tensor.getElementType(), placement.getAttr()));
  }
  return success();
}
