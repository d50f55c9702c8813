//===- Rows.h - calls as loops over layers ----------------------*- C++ -*-===//
//
// The tables that are emitted do not grow with the number of layers: calls that
// differ by a layer and by addresses at a constant distance are one row.
//
//===----------------------------------------------------------------------===//

#ifndef GALV_TARGET_LIBTORCH_ROWS_H
#define GALV_TARGET_LIBTORCH_ROWS_H

#include "dialects/Rank/Rank.h"

namespace galv {

/// The addresses of an operand in the calls of a row (see `galv::Operand`).
struct OperandPattern {
  int64_t base = -1, stride = 0;
  bool slotted = false;
  int64_t alternate = 0;
};

struct RowPattern {
  rank::CallOp call; // the first
  int64_t count = 1, layerStep = 1, body = 1;
  llvm::SmallVector<OperandPattern> operands;
};

/// The address of one buffer.
OperandPattern getPattern(mlir::Value buffer);

/// A segment's calls as rows.
llvm::SmallVector<RowPattern> compressRows(rank::SegmentOp segment);

/// Parameters that differ by their layer, with the addresses of rest, gradient,
/// exp_avg and exp_avg_sq.
struct ParameterFamily {
  ParameterOp op; // of the first layer
  std::string checkpoint;
  int64_t first = 0, count = 1;
  OperandPattern storage[4];
};

llvm::SmallVector<ParameterFamily> collectParameters(rank::StageOp stage,
                                                     rank::ProgramOp program);

} // namespace galv

#endif // GALV_TARGET_LIBTORCH_ROWS_H
