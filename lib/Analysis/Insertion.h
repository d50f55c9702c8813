//===- Insertion.h - redistributions where placements differ ----*- C++ -*-===//
//
// Walks a list of operations in program order, chooses each one's σ and makes
// its operands what σ asks for. Phase 1 uses it to type results, phase 3 and
// Autodiff to insert redistributions too.
//
//===----------------------------------------------------------------------===//

#ifndef GALV_ANALYSIS_INSERTION_H
#define GALV_ANALYSIS_INSERTION_H

#include "dialects/Galv/Galv.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace galv {

class Insertion {
public:
  explicit Insertion(MeshAttr mesh) : mesh(mesh) {}

  /// The value is a parameter's use: it never moves, save to partial.
  void markUse(mlir::Value value) { uses.insert(value); }
  /// The result's splits are given (a parameter's gradient); what is partial
  /// follows.
  void fixSplits(mlir::Value value, const Placement &placement) {
    splits[value] = placement;
  }

  /// Gives `op`'s results a placement where they have none. Operands may clash
  /// afterwards; a redistribution that they will need counts as made.
  mlir::LogicalResult typeResults(mlir::Operation *op);
  /// The same, and makes the operands fit, by redistributions before `op`. An
  /// operand that is computed anywhere is computed again.
  mlir::LogicalResult insert(mlir::Operation *op);
  /// `value` with another placement, inserted at the builder's point; a value
  /// needed twice in one placement is redistributed once.
  mlir::FailureOr<mlir::Value> redistribute(mlir::OpBuilder &builder,
                                            mlir::Value value,
                                            mlir::RankedTensorType type);

private:
  mlir::LogicalResult run(mlir::Operation *op, bool move);

  MeshAttr mesh;
  llvm::DenseSet<mlir::Value> uses;
  llvm::DenseMap<mlir::Value, Placement> splits;
  /// Placements a value is at hand in beside its own; the value is null while
  /// results are only typed.
  llvm::DenseMap<mlir::Value,
                 llvm::SmallVector<std::pair<Placement, mlir::Value>, 2>>
      versions;
};

/// Whether the operation computes its value wherever it is used.
bool isComputedAnywhere(mlir::Operation *op);

} // namespace galv

#endif // GALV_ANALYSIS_INSERTION_H
