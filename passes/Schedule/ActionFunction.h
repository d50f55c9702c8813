//===- ActionFunction.h - functions of what stands between blocks -*- C++ -*-//

#ifndef GALV_PASSES_SCHEDULE_ACTIONFUNCTION_H
#define GALV_PASSES_SCHEDULE_ACTIONFUNCTION_H

#include "lib/Analysis/Outline.h"

namespace galv {

/// An argument of an action's function: a tensor of the phase, a parameter's
/// storage, or a number that the run reports.
struct ActionInput {
  enum Kind { value, storage, report } kind = value;
  mlir::Value tensor;   // value
  std::string name;     // storage: the parameter; report: which
  llvm::StringRef part; // storage: rest, exp_avg or exp_avg_sq
  mlir::Value gradient; // storage of an update: its gradient
  mlir::Type type;      // report
};

struct ActionFunction {
  mlir::func::FuncOp function;
  llvm::SmallVector<ActionInput, 4> inputs;
  llvm::SmallVector<mlir::Value> results; // of the group, in the phase
};

/// Copies a run of operations into a function (shared with equal ones). What
/// reads or writes parameters takes their storage as arguments.
ActionFunction makeActionFunction(Outliner &outliner,
                                  llvm::ArrayRef<mlir::Operation *> group,
                                  llvm::StringRef name,
                                  llvm::StringRef layerPrefix,
                                  std::optional<int64_t> layer);

/// A function that runs the runtime function `run` on pairs of buffers.
mlir::func::FuncOp makeElementwiseFunction(Outliner &outliner,
                                           llvm::StringRef name,
                                           llvm::StringRef run,
                                           mlir::ValueRange into,
                                           mlir::ValueRange from);

/// "embedding", "layer" or "head".
std::string getBlockKind(int64_t block, int64_t layers);

} // namespace galv

#endif // GALV_PASSES_SCHEDULE_ACTIONFUNCTION_H
