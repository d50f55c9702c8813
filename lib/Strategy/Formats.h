//===- Formats.h - The readers of the strategy formats ----------*- C++ -*-===//
//
// Private to lib/Strategy: the two readers and what they share.
//
//===----------------------------------------------------------------------===//

#ifndef GALV_STRATEGY_FORMATS_H
#define GALV_STRATEGY_FORMATS_H

#include "lib/Strategy/Json.h"
#include "lib/Strategy/Strategy.h"

namespace galv {

/// What the caller of `readStrategy` knows.
struct StrategyContext {
  int64_t layers;
  std::optional<int64_t> ranks;
  int galvatronVersion;
};

/// galv's own format.
mlir::FailureOr<Strategy> readOwnStrategy(json::ObjectReader file,
                                          const StrategyContext &context);

/// Galvatron's format.
bool isGalvatronStrategy(const json::Node &file);
mlir::FailureOr<Strategy> readGalvatronStrategy(json::ObjectReader file,
                                                const StrategyContext &context);

/// The number of ranks, from the file's `key` and from the caller.
mlir::FailureOr<int64_t> readRanks(json::ObjectReader &file,
                                   llvm::StringRef key,
                                   const StrategyContext &context);

/// Checks the layers of each stage against the model's, at `loc`.
mlir::LogicalResult verifyStages(const Strategy &strategy, int64_t layers,
                                 mlir::Location loc);

/// Checks that the stages are of one size, at the place of the stages' number.
mlir::LogicalResult verifyRanksPerStage(int64_t ranks, int64_t stages,
                                        mlir::Location loc);

/// Sets the data degree from the tensor degree and checks that they give the
/// ranks of a stage. `data` is what the file says of it, null if nothing; the
/// keys name both in errors at `tensorLoc` and at the data degree.
mlir::LogicalResult setDegrees(LayerStrategy &layer, const Strategy &strategy,
                               llvm::StringRef tensorKey,
                               mlir::Location tensorLoc,
                               const json::Node *data);

/// Unsets what has no effect.
void canonicalize(LayerStrategy &layer);

} // namespace galv

#endif // GALV_STRATEGY_FORMATS_H
