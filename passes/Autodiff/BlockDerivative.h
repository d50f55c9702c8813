//===- BlockDerivative.h - a block's forward and backward -------*- C++ -*-===//

#ifndef GALV_PASSES_AUTODIFF_BLOCKDERIVATIVE_H
#define GALV_PASSES_AUTODIFF_BLOCKDERIVATIVE_H

#include "lib/Analysis/Outline.h"
#include "passes/Passes.h"

namespace galv {

/// A block function with what its backward needs.
///
/// The forward has the block's arguments; its results are the block's, then the
/// values kept for the backward that are neither arguments nor results.
/// The backward takes the cotangents of the block's results, the kept values in
/// the order of `kept`, and the uses that it reads; it gives the cotangents of
/// the activations, then the gradients of the uses.
struct BlockDerivative {
  /// Where a kept value is at hand in the forward's caller.
  struct Kept {
    bool isArgument;
    unsigned index; // of the argument, or of the forward's result
  };
  mlir::func::FuncOp forward, backward;
  llvm::SmallVector<Kept> kept;
  unsigned numActivations = 0;           // leading arguments that are not uses
  llvm::SmallVector<bool> backwardReads; // for each use
};

/// The type of the cotangent that a block's result gets: the result's own, but
/// replicated for a loss term, which is a partial sum.
mlir::RankedTensorType getCotangentType(mlir::RankedTensorType result);

/// Differentiates `block`. With `recompute` the backward keeps the arguments
/// only and runs the forward again. Functions are shared through `outliner`.
mlir::FailureOr<BlockDerivative>
differentiate(mlir::func::FuncOp block, bool recompute, Outliner &outliner);

} // namespace galv

#endif // GALV_PASSES_AUTODIFF_BLOCKDERIVATIVE_H
