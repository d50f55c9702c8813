//===- Strategy.h - How a model is split over the ranks ---------*- C++ -*-===//
//
// A strategy says, layer by layer, how a model is split. It is read from a
// file, galv's own JSON or Galvatron's, and is checked there as far as that is
// possible without the model: what a `Strategy` holds is consistent in itself.
// The formats are described in docs/strategy.md.
//
//===----------------------------------------------------------------------===//

#ifndef GALV_STRATEGY_STRATEGY_H
#define GALV_STRATEGY_STRATEGY_H

#include "mlir/IR/Location.h"
#include "mlir/Support/LLVM.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>

namespace galv {

/// The order in which a stage runs its microbatches.
enum class Schedule { gpipe, oneForwardOneBackward };

/// How one layer is split over the ranks of its stage. In a `Strategy` that
/// was read, `data * tensor` is the number of ranks of a stage, and what has no
/// effect is not set: `sequenceParallel` at tensor degree 1, `zeroStage` at
/// data degree 1, `tensorOuter` where either degree is 1. So layers that are
/// split alike compare equal.
struct LayerStrategy {
  explicit LayerStrategy(mlir::Location loc) : loc(loc) {}

  int64_t data = 1;
  int64_t tensor = 1;
  /// Megatron's: the sequence is split over the tensor ranks between the
  /// tensor-parallel parts.
  bool sequenceParallel = false;
  /// 0 to 3.
  int zeroStage = 0;
  /// The backward computes the layer's forward again from its input.
  bool recompute = false;
  /// True: the tensor ranks are strided and the data ranks adjacent.
  bool tensorOuter = false;
  /// Of the entry in the file.
  mlir::Location loc;

  /// Compares everything but the location.
  bool operator==(const LayerStrategy &other) const {
    return data == other.data && tensor == other.tensor &&
           sequenceParallel == other.sequenceParallel &&
           zeroStage == other.zeroStage && recompute == other.recompute &&
           tensorOuter == other.tensorOuter;
  }
  bool operator!=(const LayerStrategy &other) const {
    return !(*this == other);
  }
};

/// How a whole model is split.
struct Strategy {
  explicit Strategy(mlir::Location loc)
      : vocabulary(loc), batchLoc(loc), loc(loc) {}

  /// Ranks of the whole job; `ranks / stages.size()` of them run a stage.
  int64_t ranks = 1;
  int64_t microbatches = 1;
  Schedule schedule = Schedule::oneForwardOneBackward;
  /// Number of layers of each stage, in order; each is 1 or more and they add
  /// up to the number of layers.
  llvm::SmallVector<int64_t> stages;
  /// One for each layer.
  llvm::SmallVector<LayerStrategy> layers;
  /// Embedding, final norm, head and loss. The embedding runs on the first
  /// stage, the others on the last.
  LayerStrategy vocabulary;
  /// The global batch size, where the file states it.
  std::optional<int64_t> batchSize;
  mlir::Location batchLoc;
  mlir::Location loc; // of the whole

  int64_t ranksPerStage() const {
    return ranks / static_cast<int64_t>(stages.size());
  }
  /// The stage that runs a layer.
  int64_t stageOf(int64_t layer) const;
};

/// Reads the strategy file at `path` for a model of `layers` layers; `-` is
/// standard input. A file with Galvatron's keys is Galvatron's, any other is
/// galv's own. `ranks` is the size of the job where the caller knows it; it
/// must equal the file's where both are given, and one of them must be. In
/// Galvatron's files `galvatronVersion` 3 lets tensor parallel imply sequence
/// parallel, 2 does not. An error is emitted at its place in the file.
mlir::FailureOr<Strategy> readStrategy(mlir::MLIRContext *context,
                                       llvm::StringRef path, int64_t layers,
                                       std::optional<int64_t> ranks,
                                       int galvatronVersion = 3);

/// Checks that the strategy fits a global batch: that it is the size which the
/// file states, if it does, and that the microbatches times the data degree of
/// every layer divide it. An error is emitted at the layer's entry.
mlir::LogicalResult verifyBatchSize(const Strategy &strategy,
                                    int64_t batchSize);

/// Writes a strategy in galv's own format; reading it gives an equal strategy.
void writeStrategy(const Strategy &strategy, llvm::raw_ostream &os);

} // namespace galv

#endif // GALV_STRATEGY_STRATEGY_H
