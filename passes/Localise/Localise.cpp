//===- Localise.cpp - from global shapes to one rank's --------------------===//

#include "lib/Analysis/Redistribution.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "passes/Passes.h"

namespace galv {
#define GEN_PASS_DEF_LOCALISEPASS
#include "passes/Passes.h.inc"
} // namespace galv

using namespace mlir;
using namespace galv;

namespace {
/// Rebuilds functions and steps on local types.
class Localiser {
public:
  Localiser(ModuleOp module) : symbols(module), builder(module.getContext()) {
    for ([[maybe_unused]] StageOp stage : module.getOps<StageOp>())
      ++stages;
  }
  LogicalResult rebuild(Operation *op);

private:
  LogicalResult convert(Operation *op);
  LogicalResult convertCompute(Operation *op);
  LogicalResult convertGeneric(Operation *op);
  Value move(Location loc, Value value, RankedTensorType from,
             RankedTensorType to);
  Type getLocal(Type type);

  SymbolTable symbols;
  OpBuilder builder;
  IRMapping mapping;
  int64_t stages = 0;
};

struct Localise : galv::impl::LocalisePassBase<Localise> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (!module->hasAttr(GalvDialect::placedAttrName)) {
      module.emitError("operands may still clash: galv-insert-redistribution "
                       "comes first");
      return signalPassFailure();
    }
    SmallVector<Operation *> roots;
    for (Operation &op : *module.getBody())
      if (isa<func::FuncOp, StepOp>(op))
        roots.push_back(&op);
    module->removeAttr(GalvDialect::placedAttrName);
    Localiser localiser(module);
    for (Operation *root : roots)
      if (failed(localiser.rebuild(root)))
        return signalPassFailure();
    for (Operation *root : roots)
      root->erase();
  }
};
} // namespace

Type Localiser::getLocal(Type type) {
  if (auto on = dyn_cast<OnType>(type))
    return OnType::get(type.getContext(), on.getStage(),
                       getLocalType(on.getValue()));
  if (auto tensor = dyn_cast<RankedTensorType>(type))
    return getLocalType(tensor);
  return type;
}

/// The plan's steps as operations.
Value Localiser::move(Location loc, Value value, RankedTensorType from,
                      RankedTensorType to) {
  using Step = RedistributionStep;
  Placement source = *Placement::of(from), target = *Placement::of(to);
  MeshAttr mesh = source.getMesh();
  for (const Step &step :
       planRedistribution(from.getShape(), source, target).steps) {
    auto type = RankedTensorType::get(step.after, from.getElementType());
    comm::GroupAttr group = getGroup(mesh, step.axes);
    switch (step.kind) {
    case Step::slice:
      value = comm::SliceOp::create(builder, loc, type, value, step.dimension,
                                    group);
      break;
    case Step::keepFirst:
      value = comm::KeepFirstOp::create(builder, loc, type, value, group);
      break;
    case Step::allGather:
      value = comm::AllGatherOp::create(builder, loc, type, value,
                                        step.dimension, group);
      break;
    case Step::reduceScatter:
      value = comm::ReduceScatterOp::create(builder, loc, type, value,
                                            step.dimension, group);
      break;
    case Step::allReduce:
      value = comm::AllReduceOp::create(builder, loc, type, value, group,
                                        step.max ? "max" : "sum");
      break;
    case Step::allToAll:
      value =
          comm::AllToAllOp::create(builder, loc, type, value, step.dimension,
                                   step.gatherDimension, group);
      break;
    case Step::pad:
      value = comm::PadOp::create(builder, loc, type, value, step.dimension);
      break;
    case Step::unpad:
      value = comm::UnpadOp::create(builder, loc, type, value, step.dimension);
      break;
    case Step::reshape:
      value = comm::ReshapeOp::create(builder, loc, type, value);
      break;
    }
  }
  return value;
}

LogicalResult Localiser::convertCompute(Operation *op) {
  auto emitError = [&] { return op->emitOpError(); };
  FailureOr<FactorRule> rule = getFactorRule(op, emitError);
  if (failed(rule))
    return failure();
  FailureOr<Assignment> assignment = deriveAssignment(
      *rule, op->getOperandTypes(), op->getResultTypes(), emitError);
  if (failed(assignment))
    return failure();
  Operation *local = builder.clone(*op, mapping);
  for (Value result : local->getResults())
    result.setType(getLocal(result.getType()));
  SmallVector<Value> results =
      cast<FactorRuleOpInterface>(op).localise(builder, local, *assignment);
  for (auto [result, value] : llvm::zip_equal(op->getResults(), results))
    mapping.map(result, value);
  if (!results.empty() && results.front().getDefiningOp() != local)
    local->erase();
  return success();
}

/// Everything else keeps its form: operands mapped, types local.
LogicalResult Localiser::convertGeneric(Operation *op) {
  OperationState state(op->getLoc(), op->getName());
  for (Value operand : op->getOperands())
    state.operands.push_back(mapping.lookup(operand));
  for (Type type : op->getResultTypes())
    state.types.push_back(getLocal(type));
  state.attributes = SmallVector<NamedAttribute>(op->getAttrs());
  for (unsigned i = 0; i < op->getNumRegions(); ++i)
    state.addRegion();
  Operation *local = builder.create(state);
  if (auto function = dyn_cast<func::FuncOp>(local)) {
    auto convertTypes = [&](ArrayRef<Type> types) {
      return llvm::map_to_vector(types, [&](Type t) { return getLocal(t); });
    };
    FunctionType type = function.getFunctionType();
    function.setFunctionType(builder.getFunctionType(
        convertTypes(type.getInputs()), convertTypes(type.getResults())));
  }
  for (auto [from, to] : llvm::zip_equal(op->getRegions(), local->getRegions()))
    for (Block &block : from) {
      OpBuilder::InsertionGuard guard(builder);
      Block *converted = builder.createBlock(&to);
      for (BlockArgument argument : block.getArguments())
        mapping.map(argument,
                    converted->addArgument(getLocal(argument.getType()),
                                           argument.getLoc()));
      for (Operation &inner : block)
        if (failed(convert(&inner)))
          return failure();
    }
  for (auto [result, value] :
       llvm::zip_equal(op->getResults(), local->getResults()))
    mapping.map(result, value);
  return success();
}

LogicalResult Localiser::convert(Operation *op) {
  if (isa<FactorRuleOpInterface>(op))
    return convertCompute(op);
  bool empty = builder.getInsertionBlock()->empty();
  Operation *last = empty ? nullptr : &builder.getInsertionBlock()->back();
  if (isa<RedistributeOp, ReduceOp>(op)) {
    mapping.map(op->getResult(0),
                move(op->getLoc(), mapping.lookup(op->getOperand(0)),
                     cast<RankedTensorType>(op->getOperand(0).getType()),
                     cast<RankedTensorType>(op->getResult(0).getType())));
  } else if (auto materialize = dyn_cast<MaterializeOp>(op)) {
    auto parameter = symbols.lookup<ParameterOp>(materialize.getParameter());
    if (!parameter || !parameter.getRest())
      return op->emitOpError("reads @")
             << materialize.getParameter() << ", which has no rest";
    auto use = cast<RankedTensorType>(materialize.getResult().getType());
    RankedTensorType rest = parameter.getRestType();
    Value value = MaterializeOp::create(
        builder, op->getLoc(), getLocalType(rest), materialize.getParameter());
    mapping.map(materialize.getResult(), move(op->getLoc(), value, rest, use));
  } else if (auto sum = dyn_cast<SumOverStagesOp>(op)) {
    auto group = comm::GroupAttr::get(
        op->getContext(), {builder.getStringAttr("stages")}, {stages}, true);
    mapping.map(sum.getResult(),
                comm::AllReduceOp::create(
                    builder, op->getLoc(), getLocal(sum.getType()),
                    mapping.lookup(sum.getInput()), group, "sum"));
  } else {
    return convertGeneric(op);
  }
  // What they became belongs to the same module, block and action.
  Block *block = builder.getInsertionBlock();
  auto it = last ? std::next(last->getIterator()) : block->begin();
  for (; it != block->end(); ++it)
    for (StringRef name : {moduleAttrName, blockAttrName, actionAttrName})
      if (Attribute attr = op->getDiscardableAttr(name))
        it->setDiscardableAttr(name, attr);
  return success();
}

LogicalResult Localiser::rebuild(Operation *op) {
  builder.setInsertionPoint(op);
  return convertGeneric(op);
}
