//===- SequentialPartition.cpp - the program as a list of block calls -----===//

#include "lib/Analysis/Outline.h"
#include "mlir/IR/Builders.h"
#include "passes/Passes.h"

namespace galv {
#define GEN_PASS_DEF_SEQUENTIALPARTITIONPASS
#include "passes/Passes.h.inc"
} // namespace galv

using namespace mlir;
using namespace galv;

namespace {
struct SequentialPartition
    : galv::impl::SequentialPartitionPassBase<SequentialPartition> {
  void runOnOperation() override;
  LogicalResult partition(ModelOp model, Outliner &outliner);
};
} // namespace

LogicalResult SequentialPartition::partition(ModelOp model,
                                             Outliner &outliner) {
  MicrobatchesOp microbatches;
  for (auto op : model.getOps<MicrobatchesOp>())
    microbatches = op;
  if (!microbatches)
    return model.emitError(
        "has no galv.microbatches: galv-assign-strategy comes first");
  llvm::MapVector<int64_t, SmallVector<Operation *>> blocks;
  for (Operation &op : microbatches.getBody().front())
    if (auto attr = op.getAttrOfType<IntegerAttr>(blockAttrName))
      blocks[attr.getInt()].push_back(&op);
  int64_t layers = model.getLayers();
  for (auto &[block, ops] : blocks) {
    bool isLayer = block >= 1 && block <= layers;
    OutlineRequest request;
    request.ops = ops;
    request.name = block == 0 ? "embedding" : isLayer ? "layer" : "head";
    request.block = block;
    if (isLayer) {
      request.layer = block - 1;
      request.layerPrefix = model.getLayerPrefix();
    }
    outliner.outline(request);
  }
  return success();
}

void SequentialPartition::runOnOperation() {
  Outliner outliner(getOperation());
  SmallVector<ModelOp> models(getOperation().getOps<ModelOp>());
  for (ModelOp model : models)
    if (failed(partition(model, outliner)))
      return signalPassFailure();
}
