//===- Derivatives.cpp - how each operation is differentiated -------------===//
//
// Cotangents are global values without a placement; no factor of a group's
// size and no reduction over ranks is ever written here: both follow from the
// placements that insertion gives the backward operations.
//
//===----------------------------------------------------------------------===//

#include "dialects/Galv/Galv.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace galv;

/// Builds an operation for `primal`'s backward, under the same module path.
template <typename Op>
static Op buildGradient(OpBuilder &builder, Operation *primal,
                        ValueRange operands,
                        ArrayRef<NamedAttribute> attributes = {}) {
  Op op = Op::create(builder, primal->getLoc(), operands, attributes);
  for (StringRef name : {moduleAttrName, blockAttrName})
    if (Attribute attr = primal->getDiscardableAttr(name))
      op->setDiscardableAttr(name, attr);
  return op;
}

/// The sum over `leading` dimensions: nothing to do for none.
static Value sumLeading(OpBuilder &builder, Operation *primal, Value cotangent,
                        int64_t leading) {
  if (leading == 0)
    return cotangent;
  return buildGradient<SumLeadingOp>(
             builder, primal, cotangent,
             builder.getNamedAttr("leading",
                                  builder.getI64IntegerAttr(leading)))
      .getResult();
}

static int64_t getRank(Value value) {
  return cast<RankedTensorType>(value.getType()).getRank();
}

void EmbeddingOp::buildDerivative(OpBuilder &builder, ValueRange cotangents,
                                  ArrayRef<bool> needed,
                                  SmallVectorImpl<Value> &result) {
  result.assign(2, Value());
  if (!cotangents[0] || !needed[1])
    return;
  int64_t rows = cast<RankedTensorType>(getTable().getType()).getDimSize(0);
  result[1] =
      buildGradient<EmbeddingGradientOp>(
          builder, *this, {cotangents[0], getIds()},
          builder.getNamedAttr("vocabulary", builder.getI64IntegerAttr(rows)))
          .getResult();
}

void LinearOp::buildDerivative(OpBuilder &builder, ValueRange cotangents,
                               ArrayRef<bool> needed,
                               SmallVectorImpl<Value> &result) {
  result.assign(getNumOperands(), Value());
  Value cotangent = cotangents[0];
  if (!cotangent)
    return;
  if (needed[0])
    result[0] = buildGradient<LinearInputGradientOp>(builder, *this,
                                                     {cotangent, getWeight()})
                    .getResult();
  if (needed[1])
    result[1] = buildGradient<LinearWeightGradientOp>(builder, *this,
                                                      {cotangent, getX()})
                    .getResult();
  if (getBias() && needed[2])
    result[2] = sumLeading(builder, *this, cotangent, getRank(cotangent) - 1);
}

void LayerNormOp::buildDerivative(OpBuilder &builder, ValueRange cotangents,
                                  ArrayRef<bool> needed,
                                  SmallVectorImpl<Value> &result) {
  result.assign(3, Value());
  Value cotangent = cotangents[0];
  if (!cotangent)
    return;
  if (needed[0])
    result[0] = buildGradient<LayerNormInputGradientOp>(
                    builder, *this,
                    {cotangent, getX(), getWeight(), getMean(), getRstd()})
                    .getResult();
  if (needed[1])
    result[1] = buildGradient<LayerNormWeightGradientOp>(
                    builder, *this, {cotangent, getX(), getMean(), getRstd()})
                    .getResult();
  if (needed[2])
    result[2] = sumLeading(builder, *this, cotangent, getRank(cotangent) - 1);
}

void GeluOp::buildDerivative(OpBuilder &builder, ValueRange cotangents,
                             ArrayRef<bool> needed,
                             SmallVectorImpl<Value> &result) {
  result.assign(1, Value());
  if (cotangents[0] && needed[0])
    result[0] =
        buildGradient<GeluGradientOp>(builder, *this, {cotangents[0], getX()})
            .getResult();
}

void AddOp::buildDerivative(OpBuilder &builder, ValueRange cotangents,
                            ArrayRef<bool> needed,
                            SmallVectorImpl<Value> &result) {
  result.assign(2, Value());
  if (!cotangents[0])
    return;
  if (needed[0])
    result[0] = cotangents[0];
  if (needed[1])
    result[1] = sumLeading(builder, *this, cotangents[0],
                           getRank(getA()) - getRank(getB()));
}

void AttentionOp::buildDerivative(OpBuilder &builder, ValueRange cotangents,
                                  ArrayRef<bool> needed,
                                  SmallVectorImpl<Value> &result) {
  result.assign(3, Value());
  if (!cotangents[0] || !llvm::is_contained(needed, true))
    return;
  auto gradient = buildGradient<AttentionGradientOp>(
      builder, *this,
      {cotangents[0], getQ(), getK(), getV(), getResult(), getLogSumExp()},
      builder.getNamedAttr("head_dimension", getHeadDimensionAttr()));
  for (unsigned i = 0; i < 3; ++i)
    if (needed[i])
      result[i] = gradient->getResult(i);
}

void CrossEntropyOp::buildDerivative(OpBuilder &builder, ValueRange cotangents,
                                     ArrayRef<bool> needed,
                                     SmallVectorImpl<Value> &result) {
  result.assign(2, Value());
  if (cotangents[0] && needed[0])
    result[0] = buildGradient<CrossEntropyGradientOp>(
                    builder, *this,
                    {cotangents[0], getLogits(), getLabels(), getLogSumExp()})
                    .getResult();
}
