//===- Insertion.cpp - redistributions where placements differ ------------===//

#include "lib/Analysis/Insertion.h"
#include "lib/Analysis/PlacementChoice.h"

using namespace mlir;
using namespace galv;

bool galv::isComputedAnywhere(Operation *op) {
  return op && op->hasTrait<ComputedAnywhere>();
}

LogicalResult Insertion::typeResults(Operation *op) { return run(op, false); }

LogicalResult Insertion::insert(Operation *op) { return run(op, true); }

FailureOr<Value> Insertion::redistribute(OpBuilder &builder, Value value,
                                         RankedTensorType type) {
  if (value.getType() == type)
    return value;
  Placement wanted = *Placement::of(type);
  for (auto &[placement, version] : versions[value])
    if (placement == wanted && version)
      return version;
  Operation *def = value.getDefiningOp();
  Value made;
  if (isComputedAnywhere(def)) {
    Operation *clone = builder.clone(*def);
    clone->getResult(0).setType(type);
    made = clone->getResult(0);
  } else {
    auto op = RedistributeOp::create(builder, value.getLoc(), type, value);
    if (def)
      if (Attribute path = def->getDiscardableAttr(moduleAttrName))
        op->setDiscardableAttr(moduleAttrName, path);
    made = op.getResult();
  }
  versions[value].push_back({wanted, made});
  return made;
}

LogicalResult Insertion::run(Operation *op, bool move) {
  if (!isa<FactorRuleOpInterface>(op) || isComputedAnywhere(op))
    return success();
  SmallVector<OperandState, 0> operands;
  for (Value value : op->getOperands()) {
    OperandState &state = operands.emplace_back();
    std::optional<Placement> own = Placement::of(value.getType());
    if (!own)
      return op->emitError()
             << getModulePath(op)
             << ": an operand has no placement: " << value.getType();
    state.versions.push_back(*own);
    for (auto &[placement, version] : versions.lookup(value))
      state.versions.push_back(placement);
    state.isUse = uses.contains(value);
    state.anywhere = isComputedAnywhere(value.getDefiningOp());
  }
  SmallVector<ResultState, 0> results;
  for (Value value : op->getResults()) {
    ResultState &state = results.emplace_back();
    state.fixed = Placement::of(value.getType());
    auto it = splits.find(value);
    if (!state.fixed && it != splits.end()) {
      state.fixed = it->second;
      state.splitsOnly = true;
    }
  }
  FailureOr<PlacementChoice> choice =
      choosePlacement(op, mesh, operands, results);
  if (failed(choice))
    return failure();

  auto emitError = [&] { return op->emitError() << getModulePath(op) << ": "; };
  for (auto [value, placement] :
       llvm::zip_equal(op->getResults(), choice->results)) {
    FailureOr<RankedTensorType> type = getPlacedType(
        emitError, cast<RankedTensorType>(value.getType()), placement);
    if (failed(type))
      return failure();
    value.setType(*type);
  }
  OpBuilder builder(op);
  for (auto [operand, wanted] :
       llvm::zip_equal(op->getOpOperands(), choice->operands)) {
    Value value = operand.get();
    if (*Placement::of(value.getType()) == wanted)
      continue;
    FailureOr<RankedTensorType> type = getPlacedType(
        emitError, cast<RankedTensorType>(value.getType()), wanted);
    if (failed(type))
      return failure();
    if (!move) {
      versions[value].push_back({wanted, Value()});
      continue;
    }
    FailureOr<Value> moved = redistribute(builder, value, *type);
    if (failed(moved))
      return failure();
    operand.set(*moved);
  }
  return success();
}
