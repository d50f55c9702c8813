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

} // namespace galv

#endif // GALV_PASSES_PASSES_H
