//===- DestinationPassing.h - functions that write where told ---*- C++ -*-===//

#ifndef GALV_PASSES_BUFFERS_DESTINATIONPASSING_H
#define GALV_PASSES_BUFFERS_DESTINATIONPASSING_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace galv {

/// Replaces a function on local tensors by one of the same name on buffers: its
/// arguments, then its results, each operation a `rank.run`. A value that is
/// returned is written to its result directly.
mlir::FailureOr<mlir::func::FuncOp>
passDestinations(mlir::func::FuncOp function);

} // namespace galv

#endif // GALV_PASSES_BUFFERS_DESTINATIONPASSING_H
