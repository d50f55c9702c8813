//===- ModelBuilder.cpp - Builds global programs --------------------------===//

#include "lib/Import/ModelBuilder.h"

using namespace galv;
using namespace mlir;

ModelBuilder::ModelBuilder(ModuleOp module, const ModelSpec &spec,
                           const StepSizes &sizes)
    : builder(module.getBodyRegion()), parameters(module.getBodyRegion()),
      loc(module.getLoc()), sizes(sizes) {
  auto model = ModelOp::create(
      builder, loc, spec.name, sizes.batch, sizes.sequence, spec.vocabulary,
      spec.layers, spec.layerPrefix, spec.configuration, /*mesh=*/MeshAttr(),
      /*blocks=*/ArrayAttr(), /*stages=*/IntegerAttr(),
      /*microbatches=*/IntegerAttr(), /*schedule=*/StringAttr());
  parameters.setInsertionPoint(model);
  builder.createBlock(&model.getBody());
}

void ModelBuilder::addParameter(const Twine &name, const ParameterSpec &spec) {
  auto type = RankedTensorType::get(spec.shape, builder.getF32Type());
  std::string symbol = name.str();
  types.try_emplace(symbol, type);
  auto checkpoint =
      CheckpointAttr::get(builder.getContext(), spec.tensor, spec.tensorShape,
                          spec.offset, spec.transposed);
  auto initializer =
      InitializerAttr::get(builder.getContext(), spec.initializer.kind,
                           builder.getF64FloatAttr(spec.initializer.deviation));
  ParameterOp::create(parameters, loc, symbol, type,
                      builder.getStrArrayAttr(spec.dimensions), checkpoint,
                      initializer, /*rest=*/TypeAttr(),
                      /*home=*/FlatSymbolRefAttr(), /*zero=*/0,
                      /*copy_of=*/FlatSymbolRefAttr());
}

Value ModelBuilder::use(StringRef path, const Twine &name) {
  std::string symbol = name.str();
  auto type = types.find(symbol);
  if (type == types.end())
    return nullptr;
  return withPath(UseOp::create(builder, loc, type->second, symbol), path);
}

RankedTensorType ModelBuilder::idsOf(ArrayRef<int64_t> shape) {
  return RankedTensorType::get(shape, builder.getI64Type());
}

Value ModelBuilder::input(StringRef path, StringRef name) {
  return withPath(
      InputOp::create(
          builder, loc, idsOf({sizes.batch, sizes.sequence}), ValueRange(),
          builder.getNamedAttr("name", builder.getStringAttr(name))),
      path);
}

Value ModelBuilder::positions(StringRef path) {
  return withPath(PositionsOp::create(builder, loc, idsOf(sizes.sequence),
                                      ValueRange(), ArrayRef<NamedAttribute>()),
                  path);
}

Value ModelBuilder::linear(StringRef path, Value x, StringRef parameter) {
  SmallVector<Value, 3> operands = {x, use(path, parameter + ".weight")};
  if (Value bias = use(path, parameter + ".bias"))
    operands.push_back(bias);
  return create<LinearOp>(path, operands).getResult();
}

Value ModelBuilder::layerNorm(StringRef path, Value x, double epsilon) {
  Value weight = use(path, path + ".weight");
  Value bias = use(path, path + ".bias");
  return create<LayerNormOp>(
             path, {x, weight, bias},
             builder.getNamedAttr("epsilon", builder.getF64FloatAttr(epsilon)))
      .getResult();
}

void ModelBuilder::finish(StringRef path, Value logits) {
  Value labels = input(path, "labels");
  auto loss = create<CrossEntropyOp>(path, {logits, labels});
  YieldOp::create(builder, loc, loss.getLoss());
}
