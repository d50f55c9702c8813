//===- AssignStrategy.cpp - strategy, mesh, blocks ------------------------===//

#include "lib/Strategy/Strategy.h"
#include "mlir/IR/Builders.h"
#include "passes/Passes.h"

namespace galv {
#define GEN_PASS_DEF_ASSIGNSTRATEGYPASS
#include "passes/Passes.h.inc"
} // namespace galv

using namespace mlir;
using namespace galv;

namespace {
struct AssignStrategy : galv::impl::AssignStrategyPassBase<AssignStrategy> {
  using AssignStrategyPassBase::AssignStrategyPassBase;
  void runOnOperation() override;

private:
  LogicalResult assign(ModelOp model);
  FailureOr<MeshAttr> makeMesh(const Strategy &strategy, int64_t stageRanks);
  LogicalResult tagOperations(ModelOp model);
};
} // namespace

/// What a diagnostic calls block number `block`.
static std::string getBlockName(int64_t block, int64_t layers) {
  if (block == 0 || block == layers + 1)
    return "the vocabulary layers";
  return "layer " + std::to_string(block - 1);
}

static const LayerStrategy &getLayer(const Strategy &strategy, int64_t block) {
  int64_t layers = strategy.layers.size();
  return block == 0 || block == layers + 1 ? strategy.vocabulary
                                           : strategy.layers[block - 1];
}

/// The ranks of the inner group: the mesh is cut there.
static int64_t getInnerDegree(const LayerStrategy &layer) {
  return layer.tensorOuter ? layer.data : layer.tensor;
}

/// The mesh of all stages: cut at every layer's group strides and extents. The
/// cuts must divide one another, so that every group is a set of axes.
FailureOr<MeshAttr> AssignStrategy::makeMesh(const Strategy &strategy,
                                             int64_t stageRanks) {
  int64_t layers = strategy.layers.size();
  struct Cut {
    int64_t stride;
    int64_t block;
  };
  SmallVector<Cut> cuts = {{1, 0}, {stageRanks, 0}};
  for (int64_t block = 0; block <= layers + 1; ++block) {
    int64_t stride = getInnerDegree(getLayer(strategy, block));
    if (llvm::none_of(cuts, [&](const Cut &c) { return c.stride == stride; }))
      cuts.push_back({stride, block});
  }
  llvm::sort(cuts,
             [](const Cut &a, const Cut &b) { return a.stride < b.stride; });
  for (size_t i = 1; i < cuts.size(); ++i)
    if (cuts[i].stride % cuts[i - 1].stride != 0) {
      InFlightDiagnostic diag =
          emitError(getLayer(strategy, cuts[i].block).loc)
          << getBlockName(cuts[i].block, layers) << " puts " << cuts[i].stride
          << " ranks side by side, " << getBlockName(cuts[i - 1].block, layers)
          << " " << cuts[i - 1].stride << ": neither divides the other";
      diag.attachNote(getLayer(strategy, cuts[i - 1].block).loc)
          << getBlockName(cuts[i - 1].block, layers) << " stands here";
      return diag;
    }
  Builder builder(&getContext());
  SmallVector<StringAttr> names;
  SmallVector<int64_t> sizes;
  for (size_t i = cuts.size() - 1; i > 0; --i)
    if (cuts[i].stride != cuts[i - 1].stride) {
      names.push_back(
          builder.getStringAttr(std::string(1, 'a' + names.size())));
      sizes.push_back(cuts[i].stride / cuts[i - 1].stride);
    }
  unsigned spaceAxes = names.size();
  if (strategy.microbatches > 1) {
    names.push_back(builder.getStringAttr("m"));
    sizes.push_back(strategy.microbatches);
  }
  return MeshAttr::get(&getContext(), names, sizes, spaceAxes);
}

/// Layers by module path; what comes before the first is the embedding, what
/// comes after it the head.
LogicalResult AssignStrategy::tagOperations(ModelOp model) {
  std::string prefix = (model.getLayerPrefix() + ".").str();
  Builder builder(&getContext());
  int64_t layers = model.getLayers(), current = 0;
  for (Operation &op : model.getBody().front()) {
    if (isa<YieldOp, UseOp>(op))
      continue;
    StringRef path = getModulePath(&op);
    int64_t layer;
    if (path.consume_front(prefix)) {
      if (path.consumeInteger(10, layer) || layer >= layers)
        return op.emitError()
               << "module '" << getModulePath(&op) << "' is not one of the "
               << layers << " layers of the model";
      current = layer + 1;
    } else if (current > 0) {
      current = layers + 1;
    }
    op.setDiscardableAttr(blockAttrName, builder.getI64IntegerAttr(current));
  }
  return success();
}

LogicalResult AssignStrategy::assign(ModelOp model) {
  if (model.getMesh())
    return model.emitError("has a strategy already");
  if (this->strategy.empty())
    return model.emitError("needs a strategy file: option strategy=<file>");
  int64_t layers = model.getLayers();
  FailureOr<Strategy> strategy =
      readStrategy(&getContext(), this->strategy, layers,
                   ranks > 0 ? std::optional<int64_t>(ranks) : std::nullopt,
                   galvatronVersion);
  if (failed(strategy))
    return failure();
  if (failed(verifyBatchSize(*strategy, model.getBatch())))
    return failure();
  int64_t stages = strategy->stages.size();
  int64_t stageRanks = strategy->ranks / stages;
  FailureOr<MeshAttr> mesh = makeMesh(*strategy, stageRanks);
  if (failed(mesh) || failed(tagOperations(model)))
    return failure();

  SmallVector<Attribute> blocks;
  int64_t stage = 0, left = strategy->stages.front();
  for (int64_t block = 0; block <= layers + 1; ++block) {
    const LayerStrategy &layer = getLayer(*strategy, block);
    if (layer.sequenceParallel && model.getSequence() % layer.tensor != 0)
      return emitError(layer.loc)
             << "the sequence of " << model.getSequence()
             << " tokens is not divisible by " << layer.tensor
             << ", the tensor degree of " << getBlockName(block, layers)
             << " with sequence parallelism";
    bool isLayer = block >= 1 && block <= layers;
    if (isLayer && left == 0)
      left = strategy->stages[++stage];
    // Axes below the cut are the inner group, those above it the outer.
    int64_t inner = getInnerDegree(layer), stride = stageRanks;
    Axes outerAxes, innerAxes;
    for (unsigned axis = 0; axis < mesh->getSpaceAxes(); ++axis) {
      (stride > inner ? outerAxes : innerAxes).push_back(axis);
      stride /= mesh->getSize(axis);
    }
    blocks.push_back(BlockStrategyAttr::get(
        &getContext(), stage, layer.tensorOuter ? innerAxes : outerAxes,
        layer.tensorOuter ? outerAxes : innerAxes,
        layer.sequenceParallel && layer.tensor > 1,
        layer.data > 1 ? layer.zeroStage : 0, layer.recompute));
    left -= isLayer;
  }
  model.setMeshAttr(*mesh);
  model.setBlocksAttr(ArrayAttr::get(&getContext(), blocks));
  model.setStages(stages);
  model.setMicrobatches(strategy->microbatches);
  model.setSchedule(strategy->schedule == Schedule::gpipe ? "gpipe" : "1f1b");

  // One region around everything that runs for each microbatch.
  Block &body = model.getBody().front();
  auto yield = cast<YieldOp>(body.back());
  OpBuilder builder(&body, body.begin());
  auto microbatches =
      MicrobatchesOp::create(builder, model.getLoc(), yield.getOperandTypes());
  Block *inner = builder.createBlock(&microbatches.getBody());
  inner->getOperations().splice(inner->end(), body.getOperations(),
                                std::next(body.begin()), yield->getIterator());
  AccumulateOp::create(builder, yield.getLoc(), yield.getOperands());
  yield->setOperands(microbatches.getResults());
  return success();
}

void AssignStrategy::runOnOperation() {
  for (ModelOp model :
       llvm::make_early_inc_range(getOperation().getOps<ModelOp>()))
    if (failed(assign(model)))
      return signalPassFailure();
}
