//===- Pipelines.h - the phases by name -------------------------*- C++ -*-===//

#ifndef GALV_PASSES_PIPELINES_H
#define GALV_PASSES_PIPELINES_H

#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/ArrayRef.h"
#include <string>

namespace galv {

/// What the phases are told from outside.
struct CompileOptions {
  std::string strategy;
  std::string precision = "fp32";
  int64_t ranks = 0; // 0: as the strategy says
  int64_t galvatronVersion = 3;
};

/// The names of the phases that are passes, in order.
llvm::ArrayRef<llvm::StringLiteral> getPhaseNames();

/// Adds the phases from `from` to `to`, both included (empty: first and last),
/// each followed by the verifier of its contract. Fails on an unknown name.
mlir::LogicalResult addPhases(mlir::OpPassManager &manager,
                              const CompileOptions &options,
                              llvm::StringRef from, llvm::StringRef to);

/// `galv-phase-<name>` for each phase, and `galv-pipeline` for all.
void registerGalvPipelines();

} // namespace galv

#endif // GALV_PASSES_PIPELINES_H
