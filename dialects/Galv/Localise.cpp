//===- Localise.cpp - operations that know where they lie -----------------===//
//
// Localising an operation is cloning it on local shapes. Only those whose
// factor is indexed or closed do more: they are told the ranks that split it,
// or add a collective.
//
//===----------------------------------------------------------------------===//

#include "dialects/Galv/Galv.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace galv;

/// The space axes of σ for factor number `factor`, as a group.
static comm::GroupAttr getSpaceGroup(MeshAttr mesh, ArrayRef<int32_t> axes) {
  Axes space;
  for (int32_t axis : axes)
    if (!mesh.isTime(axis))
      space.push_back(axis);
  return getGroup(mesh, space);
}

static MeshAttr getMesh(Operation *op) {
  return Placement::of(op->getResult(0).getType())->getMesh();
}

/// The number of σ's factor that splits dimension `dim` of result or operand.
static int getFactor(Operation *op, bool isResult, int tensor, int dim) {
  FactorRule rule = *getFactorRule(op, [&] { return op->emitOpError(); });
  return (isResult ? rule.results : rule.operands)[tensor][dim].front();
}

SmallVector<Value> InputOp::localise(OpBuilder &builder, Operation *local,
                                     const Assignment &assignment) {
  auto type = cast<RankedTensorType>(getResult().getType());
  MeshAttr mesh = getMesh(*this);
  const Axes &rows = assignment.axes[getFactor(*this, true, 0, 0)];
  auto input = cast<InputOp>(local);
  input.setBatch(type.getDimSize(0));
  input.setSequence(type.getDimSize(1));
  input.setMicrobatched(
      llvm::any_of(rows, [&](int32_t axis) { return mesh.isTime(axis); }));
  input.setRowsAttr(getSpaceGroup(mesh, rows));
  input.setColumnsAttr(
      getSpaceGroup(mesh, assignment.axes[getFactor(*this, true, 0, 1)]));
  return {input.getResult()};
}

SmallVector<Value> PositionsOp::localise(OpBuilder &builder, Operation *local,
                                         const Assignment &assignment) {
  auto positions = cast<PositionsOp>(local);
  positions.setSequence(
      cast<RankedTensorType>(getResult().getType()).getDimSize(0));
  positions.setColumnsAttr(getSpaceGroup(
      getMesh(*this), assignment.axes[getFactor(*this, true, 0, 0)]));
  return {positions.getResult()};
}

SmallVector<Value> EmbeddingOp::localise(OpBuilder &builder, Operation *local,
                                         const Assignment &assignment) {
  auto embedding = cast<EmbeddingOp>(local);
  embedding.setVocabulary(
      cast<RankedTensorType>(getTable().getType()).getDimSize(0));
  embedding.setOverAttr(
      getGroup(getMesh(*this), assignment.axes[getFactor(*this, false, 1, 0)]));
  return {embedding.getResult()};
}

SmallVector<Value> EmbeddingGradientOp::localise(OpBuilder &builder,
                                                 Operation *local,
                                                 const Assignment &assignment) {
  auto gradient = cast<EmbeddingGradientOp>(local);
  gradient.setOverAttr(
      getGroup(getMesh(*this), assignment.axes[getFactor(*this, true, 0, 0)]));
  return {gradient.getResult()};
}

SmallVector<Value>
CrossEntropyGradientOp::localise(OpBuilder &builder, Operation *local,
                                 const Assignment &assignment) {
  auto gradient = cast<CrossEntropyGradientOp>(local);
  auto type = cast<RankedTensorType>(getLogits().getType());
  gradient.setVocabulary(type.getDimSize(type.getRank() - 1));
  gradient.setOverAttr(getGroup(
      getMesh(*this),
      assignment.axes[getFactor(*this, false, 1, type.getRank() - 1)]));
  return {gradient.getResult()};
}

/// With a split vocabulary: the maximum, then both sums in one all-reduce.
SmallVector<Value> CrossEntropyOp::localise(OpBuilder &builder,
                                            Operation *local,
                                            const Assignment &assignment) {
  auto entropy = cast<CrossEntropyOp>(local);
  auto type = cast<RankedTensorType>(getLogits().getType());
  int64_t vocabulary = type.getDimSize(type.getRank() - 1);
  auto over =
      getGroup(getMesh(*this),
               assignment.axes[getFactor(*this, false, 0, type.getRank() - 1)]);
  entropy.setVocabulary(vocabulary);
  entropy.setOverAttr(over);
  if (over.getRanks() == 1)
    return {entropy.getLoss(), entropy.getLogSumExp()};

  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(local);
  Location loc = getLoc();
  auto rows = cast<RankedTensorType>(entropy.getLogSumExp().getType());
  SmallVector<int64_t> partsShape = {2};
  llvm::append_range(partsShape, rows.getShape());
  auto parts = RankedTensorType::get(partsShape, rows.getElementType());
  Value maximum = CrossEntropyMaximumOp::create(
      builder, loc, rows, entropy.getLogits(), vocabulary, over);
  maximum = comm::AllReduceOp::create(builder, loc, rows, maximum, over, "max");
  Value sums = CrossEntropyPartsOp::create(
      builder, loc, parts, entropy.getLogits(), entropy.getLabels(), maximum,
      vocabulary, over);
  sums = comm::AllReduceOp::create(builder, loc, parts, sums, over, "sum");
  auto finish =
      CrossEntropyFinishOp::create(builder, loc, entropy.getLoss().getType(),
                                   rows, maximum, sums, entropy.getLabels());
  return {finish.getLoss(), finish.getLogSumExp()};
}
