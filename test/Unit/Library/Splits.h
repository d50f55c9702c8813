//===- Splits.h - every legal placement ------------------------*- C++ -*-===//

#ifndef GALV_TEST_UNIT_LIBRARY_SPLITS_H
#define GALV_TEST_UNIT_LIBRARY_SPLITS_H

#include "dialects/Galv/Galv.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace galv {

/// The placed types of an operation.
struct PlacedTypes {
  llvm::SmallVector<mlir::Type> operands, results;
};

/// Types with nothing split on `mesh`.
PlacedTypes getWholeTypes(mlir::Operation *op, MeshAttr mesh);

/// Every σ and every choice of partial operands and results with which `op`
/// verifies on a mesh of two axes.
llvm::SmallVector<PlacedTypes> getAllSplits(mlir::Operation *op, MeshAttr mesh);

/// Every placement of a tensor, partial maxima last.
llvm::SmallVector<mlir::RankedTensorType>
getAllPlacements(llvm::ArrayRef<int64_t> shape, mlir::Type elementType,
                 MeshAttr mesh);

/// Appends to `module` a function of nothing but `op`, with other types.
mlir::func::FuncOp appendFunction(mlir::ModuleOp module, mlir::Operation *op,
                                  const PlacedTypes &types);

} // namespace galv

#endif // GALV_TEST_UNIT_LIBRARY_SPLITS_H
