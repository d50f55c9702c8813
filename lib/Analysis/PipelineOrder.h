//===- PipelineOrder.h - orders of a pipeline, and their proof --*- C++ -*-===//
//
// In which order a stage runs its microbatches, and a simulation of all stages
// together that shows that the order ends.
//
//===----------------------------------------------------------------------===//

#ifndef GALV_ANALYSIS_PIPELINEORDER_H
#define GALV_ANALYSIS_PIPELINEORDER_H

#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

namespace galv {

/// One entry of a stage's order.
struct PipelineAction {
  /// Run segment `numbers[0]`, or start and await the transfers `numbers`.
  bool run = true;
  llvm::SmallVector<int32_t, 2> numbers, microbatches;
};

/// What a stage does with each microbatch: its segments, and the numbers of the
/// transfers before and after them.
struct MicrobatchWork {
  int32_t forward = -1, backward = -1;
  llvm::SmallVector<int32_t, 2> receiveForward, sendForward;
  llvm::SmallVector<int32_t, 2> receiveBackward, sendBackward;
};

/// GPipe (Huang et al. 2019): all forwards, then all backwards.
/// 1F1B (Narayanan et al. 2019, PipeDream-Flush): a stage that is k stages from
/// the last runs k forwards ahead, then one forward and one backward in turn.
/// A send and the receive that follows it start together, so that two
/// neighbours that exchange tensors cannot wait for each other.
llvm::SmallVector<PipelineAction>
orderMicrobatches(llvm::StringRef schedule, int64_t stage, int64_t stages,
                  int64_t microbatches, const MicrobatchWork &work);

/// One side of a transfer.
struct TransferSide {
  bool send = false;
  int64_t peer = 0, tag = 0;
};

struct StageOrder {
  std::string name;
  llvm::SmallVector<TransferSide> transfers;
  llvm::SmallVector<PipelineAction> actions;
};

/// Runs all stages together, a transfer ending only once both sides have
/// started it (rendezvous). A stage that cannot go on is a deadlock, and a send
/// without its receive one too; the error names the two that wait.
mlir::LogicalResult
simulatePipeline(llvm::ArrayRef<StageOrder> stages,
                 llvm::function_ref<mlir::InFlightDiagnostic()> emitError);

/// The largest number of microbatches that a stage holds at a time, from the
/// first action for one to the last.
int64_t countSlots(llvm::ArrayRef<PipelineAction> actions,
                   int64_t microbatches);

} // namespace galv

#endif // GALV_ANALYSIS_PIPELINEORDER_H
