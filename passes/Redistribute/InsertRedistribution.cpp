//===- InsertRedistribution.cpp - operands become what rules want ---------===//

#include "lib/Analysis/Insertion.h"
#include "lib/Analysis/Outline.h"
#include "passes/Passes.h"

namespace galv {
#define GEN_PASS_DEF_INSERTREDISTRIBUTIONPASS
#include "passes/Passes.h.inc"
} // namespace galv

using namespace mlir;
using namespace galv;

namespace {
struct InsertRedistribution
    : galv::impl::InsertRedistributionPassBase<InsertRedistribution> {
  void runOnOperation() override;
  LogicalResult insert(func::FuncOp function);
};
} // namespace

/// The mesh of the first placed type; null for a function without one.
static MeshAttr getMesh(func::FuncOp function) {
  MeshAttr mesh;
  function.walk([&](Operation *op) {
    for (Type type : op->getResultTypes())
      if (std::optional<Placement> placement = Placement::of(type)) {
        mesh = placement->getMesh();
        return WalkResult::interrupt();
      }
    return WalkResult::advance();
  });
  return mesh;
}

LogicalResult InsertRedistribution::insert(func::FuncOp function) {
  MeshAttr mesh = getMesh(function);
  if (!mesh)
    return success();
  Insertion insertion(mesh);
  for (BlockArgument argument : function.getArguments())
    if (function.getArgAttr(argument.getArgNumber(), parameterAttrName))
      insertion.markUse(argument);
  SmallVector<Operation *> ops;
  for (Operation &op : function.getBody().front())
    ops.push_back(&op);
  for (Operation *op : ops)
    if (failed(insertion.insert(op)))
      return failure();
  for (Operation *op : llvm::reverse(ops))
    if (isComputedAnywhere(op) && op->use_empty())
      op->erase();
  return success();
}

void InsertRedistribution::runOnOperation() {
  for (auto function : getOperation().getOps<func::FuncOp>())
    if (!function.isExternal() && failed(insert(function)))
      return signalPassFailure();
  getOperation()->setAttr(GalvDialect::placedAttrName,
                          UnitAttr::get(&getContext()));
}
