//===- Passes.h - passes and phases -----------------------------*- C++ -*-===//

#ifndef GALV_PASSES_PASSES_H
#define GALV_PASSES_PASSES_H

#include "dialects/Comm/Comm.h"
#include "dialects/Galv/Galv.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

namespace galv {

#define GEN_PASS_DECL
#include "passes/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "passes/Passes.h.inc"

/// Fails, with an error, where a model has not become a step yet.
inline mlir::LogicalResult requireSteps(mlir::ModuleOp module) {
  for (ModelOp model : module.getOps<ModelOp>())
    return model.emitError(
        "is not a step yet: galv-stage-pipeline comes first");
  return mlir::success();
}

} // namespace galv

#endif // GALV_PASSES_PASSES_H
