//===- Strategy.cpp - Reading and checking of strategies ------------------===//
//
// What both formats share: which of them a file has, and the checks of a
// strategy against the number of ranks, of layers and of samples.
//
//===----------------------------------------------------------------------===//

#include "lib/Strategy/Strategy.h"
#include "lib/Strategy/Formats.h"

#include "llvm/ADT/STLExtras.h"

using namespace galv;
using namespace mlir;

int64_t Strategy::stageOf(int64_t layer) const {
  int64_t end = 0;
  for (auto [stage, count] : llvm::enumerate(stages)) {
    end += count;
    if (layer < end)
      return stage;
  }
  return static_cast<int64_t>(stages.size()) - 1;
}

FailureOr<Strategy> galv::readStrategy(MLIRContext *context, StringRef path,
                                       int64_t layers,
                                       std::optional<int64_t> ranks,
                                       int galvatronVersion) {
  FailureOr<json::Node> value = json::parseFile(context, path);
  if (failed(value))
    return failure();
  FailureOr<json::ObjectReader> file =
      json::ObjectReader::get(*value, "a strategy");
  if (failed(file))
    return failure();
  StrategyContext known{layers, ranks, galvatronVersion};
  if (isGalvatronStrategy(*value))
    return readGalvatronStrategy(std::move(*file), known);
  return readOwnStrategy(std::move(*file), known);
}

FailureOr<int64_t> galv::readRanks(json::ObjectReader &file, StringRef key,
                                   const StrategyContext &context) {
  const json::Node *value = file.find(key);
  if (!value) {
    if (context.ranks)
      return *context.ranks;
    return file.getObject().emitError()
           << "the number of ranks is not known: the file has no '" << key
           << "' and none is given beside it";
  }
  FailureOr<int64_t> ranks = json::getInteger(*value, ("'" + key + "'").str());
  if (succeeded(ranks) && context.ranks && *ranks != *context.ranks)
    return value->emitError() << "'" << key << "' is " << *ranks << ", but "
                              << *context.ranks << " ranks are asked for";
  return ranks;
}

LogicalResult galv::verifyStages(const Strategy &strategy, int64_t layers,
                                 Location loc) {
  int64_t sum = 0;
  for (int64_t stage : strategy.stages)
    sum += stage;
  if (sum == layers)
    return success();
  InFlightDiagnostic diagnostic = emitError(loc) << "the stages have ";
  llvm::interleave(
      strategy.stages, [&](int64_t stage) { diagnostic << stage; },
      [&] { diagnostic << " + "; });
  if (strategy.stages.size() > 1)
    diagnostic << " = " << sum;
  return diagnostic << " layers, but the model has " << layers;
}

LogicalResult galv::verifyRanksPerStage(int64_t ranks, int64_t stages,
                                        Location loc) {
  if (ranks % stages == 0)
    return success();
  return emitError(loc) << "the number of stages, " << stages
                        << ", does not divide the number of ranks, " << ranks;
}

LogicalResult galv::setDegrees(LayerStrategy &layer, const Strategy &strategy,
                               StringRef tensorKey, Location tensorLoc,
                               const json::Node *data) {
  int64_t perStage = strategy.ranksPerStage();
  auto ofStage = [&](InFlightDiagnostic diagnostic) -> LogicalResult {
    return diagnostic << perStage << " ranks of a stage (" << strategy.ranks
                      << " ranks, " << strategy.stages.size()
                      << (strategy.stages.size() == 1 ? " stage)" : " stages)");
  };
  if (perStage % layer.tensor)
    return ofStage(emitError(tensorLoc)
                   << "the tensor degree '" << tensorKey << "', "
                   << layer.tensor << ", does not divide the ");
  layer.data = perStage / layer.tensor;
  if (!data)
    return success();
  FailureOr<int64_t> degree = json::getInteger(*data, "'data'");
  if (failed(degree))
    return failure();
  if (*degree != layer.data)
    return ofStage(data->emitError()
                   << "'data' times '" << tensorKey << "' is " << *degree
                   << " x " << layer.tensor << " = " << *degree * layer.tensor
                   << ", not the ");
  return success();
}

void galv::canonicalize(LayerStrategy &layer) {
  layer.sequenceParallel &= layer.tensor > 1;
  layer.tensorOuter &= layer.tensor > 1 && layer.data > 1;
  if (layer.data == 1)
    layer.zeroStage = 0;
}

LogicalResult galv::verifyBatchSize(const Strategy &strategy,
                                    int64_t batchSize) {
  if (strategy.batchSize && *strategy.batchSize != batchSize)
    return emitError(strategy.batchLoc)
           << "the strategy is for a batch size of " << *strategy.batchSize
           << ", but the model's is " << batchSize;
  auto verify = [&](const LayerStrategy &layer,
                    const Twine &name) -> LogicalResult {
    int64_t parts = strategy.microbatches * layer.data;
    if (batchSize % parts == 0)
      return success();
    return emitError(layer.loc)
           << "the batch size, " << batchSize
           << ", is not divisible by the number of microbatches times the data "
              "degree of "
           << name << ", " << strategy.microbatches << " x " << layer.data
           << " = " << parts;
  };
  for (auto [index, layer] : llvm::enumerate(strategy.layers))
    if (failed(verify(layer, "layer " + Twine(index))))
      return failure();
  return verify(strategy.vocabulary, "the vocabulary layers");
}
