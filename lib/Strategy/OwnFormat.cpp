//===- OwnFormat.cpp - galv's own strategy format -------------------------===//
//
// See docs/strategy.md. The order of reading is the order in which one value
// gives meaning to the next: ranks, stages, then the layers.
//
//===----------------------------------------------------------------------===//

#include "lib/Strategy/Formats.h"

using namespace galv;
using namespace mlir;

namespace {

class OwnReader {
public:
  OwnReader(json::ObjectReader file, const StrategyContext &context)
      : file(std::move(file)), context(context),
        strategy(this->file.getObject().getLoc()) {}

  FailureOr<Strategy> read();

private:
  LogicalResult readStages();
  LogicalResult readSchedule();
  LogicalResult readLayers();
  LogicalResult readVocabulary();
  FailureOr<LayerStrategy> readLayer(json::ObjectReader &entry);
  /// First and last layer of an entry.
  FailureOr<std::pair<int64_t, int64_t>> readRange(json::ObjectReader &entry);

  json::ObjectReader file;
  const StrategyContext &context;
  Strategy strategy;
  std::optional<LayerStrategy> otherLayers;
};

} // namespace

FailureOr<Strategy> OwnReader::read() {
  file.find("$schema"); // the editor's
  FailureOr<int64_t> ranks = readRanks(file, "ranks", context);
  if (failed(ranks))
    return failure();
  strategy.ranks = *ranks;
  if (failed(readStages()) || failed(readSchedule()) || failed(readLayers()) ||
      failed(readVocabulary()) || failed(file.finish()))
    return failure();
  return std::move(strategy);
}

LogicalResult OwnReader::readStages() {
  const json::Node *value = file.find("stages");
  if (!value) {
    strategy.stages = {context.layers};
    return success();
  }
  if (value->is(json::Kind::array)) {
    for (const json::Node &element : value->elements) {
      FailureOr<int64_t> stage =
          json::getInteger(element, "the number of layers of a stage");
      if (failed(stage))
        return failure();
      strategy.stages.push_back(*stage);
    }
    if (strategy.stages.empty())
      return value->emitError() << "'stages' is empty";
    if (failed(verifyStages(strategy, context.layers, value->getLoc())))
      return failure();
  } else {
    FailureOr<int64_t> stages = json::getInteger(
        *value, "'stages', where it is not the layers of each stage,");
    if (failed(stages))
      return failure();
    if (context.layers % *stages)
      return value->emitError()
             << "the number of stages, " << *stages
             << ", does not divide the number of layers, " << context.layers
             << "; 'stages' can also list the layers of each stage";
    strategy.stages.assign(*stages, context.layers / *stages);
  }
  return verifyRanksPerStage(strategy.ranks, strategy.stages.size(),
                             value->getLoc());
}

LogicalResult OwnReader::readSchedule() {
  FailureOr<int64_t> microbatches = file.getInteger("microbatches", 1);
  if (failed(microbatches))
    return failure();
  strategy.microbatches = *microbatches;
  const json::Node *value = file.find("schedule");
  if (!value)
    return success();
  FailureOr<StringRef> schedule = json::getString(*value, "'schedule'");
  if (failed(schedule))
    return failure();
  if (*schedule != "1f1b" && *schedule != "gpipe")
    return value->emitError() << "'schedule' must be \"1f1b\" or \"gpipe\", "
                              << "found " << value->describe();
  strategy.schedule =
      *schedule == "gpipe" ? Schedule::gpipe : Schedule::oneForwardOneBackward;
  return success();
}

LogicalResult OwnReader::readLayers() {
  if (const json::Node *value = file.find("default")) {
    auto entry = json::ObjectReader::get(*value, "'default'");
    if (failed(entry))
      return failure();
    FailureOr<LayerStrategy> layer = readLayer(*entry);
    if (failed(layer) || failed(entry->finish()))
      return failure();
    otherLayers = *layer;
  }
  std::vector<std::optional<LayerStrategy>> layers(context.layers);
  const json::Node *list = file.find("layers");
  if (list && !list->is(json::Kind::array))
    return list->emitError()
           << "'layers' must be an array, found " << list->describe();
  for (const json::Node &value :
       list ? ArrayRef<json::Node>(list->elements) : ArrayRef<json::Node>()) {
    auto entry = json::ObjectReader::get(value, "an entry of 'layers'");
    if (failed(entry))
      return failure();
    auto range = readRange(*entry);
    if (failed(range))
      return failure();
    FailureOr<LayerStrategy> layer = readLayer(*entry);
    if (failed(layer) || failed(entry->finish()))
      return failure();
    for (int64_t index = range->first; index <= range->second; ++index) {
      if (layers[index]) {
        InFlightDiagnostic diagnostic = entry->find("range")->emitError()
                                        << "layer " << index
                                        << " is in two ranges";
        diagnostic.attachNote(layers[index]->loc) << "the first is here";
        return diagnostic;
      }
      layers[index] = *layer;
    }
  }
  for (auto [index, layer] : llvm::enumerate(layers)) {
    if (!layer && !otherLayers)
      return (list ? *list : file.getObject()).emitError()
             << "no range has layer " << index << " of " << context.layers
             << ", and there is no 'default'";
    strategy.layers.push_back(layer ? *layer : *otherLayers);
  }
  return success();
}

LogicalResult OwnReader::readVocabulary() {
  const json::Node *value = file.find("vocabulary");
  if (!value) {
    if (otherLayers)
      strategy.vocabulary = *otherLayers;
    else
      strategy.vocabulary.data = strategy.ranksPerStage();
    strategy.vocabulary.recompute = false;
    return success();
  }
  auto entry = json::ObjectReader::get(*value, "'vocabulary'");
  if (failed(entry))
    return failure();
  FailureOr<LayerStrategy> layer = readLayer(*entry);
  if (failed(layer) || failed(entry->finish()))
    return failure();
  if (layer->recompute)
    return entry->find("recompute")->emitError()
           << "'recompute' is for layers only, 'vocabulary' cannot have it";
  strategy.vocabulary = *layer;
  return success();
}

FailureOr<LayerStrategy> OwnReader::readLayer(json::ObjectReader &entry) {
  LayerStrategy layer(entry.getObject().getLoc());
  FailureOr<int64_t> tensor = entry.getInteger("tensor", 1);
  if (failed(tensor))
    return failure();
  layer.tensor = *tensor;
  const json::Node *tensorValue = entry.find("tensor");
  if (failed(setDegrees(layer, strategy, "tensor",
                        tensorValue ? tensorValue->getLoc() : layer.loc,
                        entry.find("data"))))
    return failure();
  FailureOr<bool> sequence = entry.getBoolean("sequence_parallel", false);
  if (failed(sequence))
    return failure();
  FailureOr<int64_t> zero = entry.getInteger("zero", 0, 0, 3);
  if (failed(zero))
    return failure();
  FailureOr<bool> recompute = entry.getBoolean("recompute", false);
  if (failed(recompute))
    return failure();
  layer.sequenceParallel = *sequence;
  layer.zeroStage = static_cast<int>(*zero);
  layer.recompute = *recompute;
  if (const json::Node *value = entry.find("order")) {
    FailureOr<StringRef> order = json::getString(*value, "'order'");
    if (failed(order))
      return failure();
    if (*order != "tensor-inner" && *order != "tensor-outer")
      return value->emitError()
             << "'order' must be \"tensor-inner\" or "
             << "\"tensor-outer\", found " << value->describe();
    layer.tensorOuter = *order == "tensor-outer";
  }
  canonicalize(layer);
  return layer;
}

FailureOr<std::pair<int64_t, int64_t>>
OwnReader::readRange(json::ObjectReader &entry) {
  FailureOr<const json::Node *> found = entry.require("range");
  if (failed(found))
    return failure();
  const json::Node &value = **found;
  int64_t first = value.integer, last = value.integer;
  if (!value.is(json::Kind::integer)) {
    auto [begin, end] = StringRef(value.string).split('-');
    if (!value.is(json::Kind::string) || begin.getAsInteger(10, first) ||
        (end.empty() ? value.string.find('-') != std::string::npos
                     : end.getAsInteger(10, last)))
      return value.emitError() << "'range' must be a layer or a string as "
                               << "\"0-3\", found " << value.describe();
    if (end.empty())
      last = first;
  }
  if (first > last)
    return value.emitError()
           << "range " << value.describe() << " ends before it begins";
  if (first < 0 || last >= context.layers)
    return value.emitError()
           << "range " << value.describe() << " is not within layers 0 to "
           << context.layers - 1 << " of the model";
  return std::make_pair(first, last);
}

FailureOr<Strategy> galv::readOwnStrategy(json::ObjectReader file,
                                          const StrategyContext &context) {
  return OwnReader(std::move(file), context).read();
}
