//===- PlacementChoice.h - the σ that moves least ---------------*- C++ -*-===//
//
// Chooses how an operation is split, from its factor rule and from the
// placements in which its operands are at hand. Tensor parallelism types
// forward results by it, insertion finds with it what each operand must become,
// in the forward and again in the backward.
//
//===----------------------------------------------------------------------===//

#ifndef GALV_ANALYSIS_PLACEMENTCHOICE_H
#define GALV_ANALYSIS_PLACEMENTCHOICE_H

#include "dialects/Galv/FactorRule.h"

namespace galv {

/// What is known of an operand.
struct OperandState {
  /// The placements it is at hand in.
  llvm::SmallVector<Placement, 1> versions;
  /// A parameter's use: never moves, save to partial.
  bool isUse = false;
  /// Computed or read in any placement at no cost.
  bool anywhere = false;
};

/// What a result must become.
struct ResultState {
  std::optional<Placement> fixed;
  /// Only the splits are fixed; what is partial follows (a parameter's
  /// gradient).
  bool splitsOnly = false;
};

struct PlacementChoice {
  llvm::SmallVector<Placement, 2> operands, results;
  Assignment assignment;
};

/// The choice, in this order: fewest bytes received for operands not at hand,
/// fewest partial axes in results, fewest local operand bytes, first in the
/// order of factors and mesh axes. σ uses only axes that an operand or a fixed
/// result is split by. Fails with a diagnostic on the operation where no σ
/// gives the fixed results.
mlir::FailureOr<PlacementChoice>
choosePlacement(mlir::Operation *op, MeshAttr mesh,
                llvm::ArrayRef<OperandState> operands,
                llvm::ArrayRef<ResultState> results);

} // namespace galv

#endif // GALV_ANALYSIS_PLACEMENTCHOICE_H
