//===- Galvatron.cpp - Galvatron's strategy format ------------------------===//
//
// Per-layer values are integers joined by commas in one string. A key is either
// honoured or refused by its name; see docs/strategy.md for what each becomes.
//
//===----------------------------------------------------------------------===//

#include "lib/Strategy/Formats.h"
#include "lib/Strategy/JoinedIntegers.h"

using namespace galv;
using namespace mlir;

namespace {

using Items = SmallVector<JoinedInteger>;

/// A key whose feature is out of reach, and the value that asks for nothing.
struct OutOfReach {
  StringRef key;
  int64_t neutral;
  StringRef feature;
};

constexpr OutOfReach perLayer[] = {
    {"use_sp", 0, "Ulysses sequence parallel"},
    {"cp_sizes_enc", 1, "context parallel"},
    {"ep_sizes_enc", 1, "expert parallel"},
    {"tp_of_ep_sizes_enc", 1, "tensor parallel experts"},
};
constexpr OutOfReach ofVocabulary[] = {
    {"vsp", 0, "Ulysses sequence parallel in the vocabulary layers"},
    {"vcp", 1, "context parallel in the vocabulary layers"},
};

class GalvatronReader {
public:
  GalvatronReader(json::ObjectReader file, const StrategyContext &context)
      : file(std::move(file)), context(context),
        strategy(this->file.getObject().getLoc()) {}

  FailureOr<Strategy> read();

private:
  LogicalResult refuseOutOfReach();
  LogicalResult readStages();
  LogicalResult readSteps();
  LogicalResult readLayers();
  LogicalResult readVocabulary();
  FailureOr<int> readDefaultZero();
  FailureOr<int64_t> requireInteger(StringRef key);
  /// The integers of a key that must be there, each in [min, max].
  FailureOr<Items> readItems(StringRef key, int64_t min, int64_t max);
  /// One for each layer; where the key may be left out, `otherwise` for each.
  FailureOr<Items>
  readLayerItems(StringRef key, int64_t min, int64_t max,
                 std::optional<int64_t> otherwise = std::nullopt);

  json::ObjectReader file;
  const StrategyContext &context;
  Strategy strategy;
  int defaultZero = 0;
};

} // namespace

FailureOr<Strategy> GalvatronReader::read() {
  FailureOr<int64_t> ranks = readRanks(file, "world_size", context);
  if (failed(ranks))
    return failure();
  strategy.ranks = *ranks;
  if (failed(refuseOutOfReach()) || failed(readStages()) ||
      failed(readSteps()) || failed(readLayers()) || failed(readVocabulary()) ||
      failed(file.finish()) ||
      failed(verifyBatchSize(strategy, *strategy.batchSize)))
    return failure();
  return std::move(strategy);
}

LogicalResult GalvatronReader::refuseOutOfReach() {
  auto refuse = [](Location loc, int64_t value, const OutOfReach &entry) {
    return emitError(loc) << "'" << entry.key << "' asks for " << entry.feature
                          << " (" << value << "), which is not supported";
  };
  for (const OutOfReach &entry : perLayer) {
    FailureOr<Items> items =
        readLayerItems(entry.key, 0, json::maxCount, entry.neutral);
    if (failed(items))
      return failure();
    for (const JoinedInteger &item : *items)
      if (item.value != entry.neutral)
        return refuse(item.loc, item.value, entry);
  }
  for (const OutOfReach &entry : ofVocabulary) {
    FailureOr<int64_t> value = file.getInteger(entry.key, entry.neutral, 0);
    if (failed(value))
      return failure();
    if (*value != entry.neutral)
      return refuse(file.find(entry.key)->getLoc(), *value, entry);
  }
  return success();
}

FailureOr<int64_t> GalvatronReader::requireInteger(StringRef key) {
  if (failed(file.require(key)))
    return failure();
  return file.getInteger(key, /*otherwise=*/0);
}

FailureOr<Items> GalvatronReader::readItems(StringRef key, int64_t min,
                                            int64_t max) {
  FailureOr<const json::Node *> found = file.require(key);
  if (failed(found))
    return failure();
  return getJoinedIntegers(**found, key, min, max);
}

FailureOr<Items>
GalvatronReader::readLayerItems(StringRef key, int64_t min, int64_t max,
                                std::optional<int64_t> otherwise) {
  if (otherwise && !file.find(key))
    return Items(context.layers, JoinedInteger{*otherwise, strategy.loc});
  FailureOr<Items> items = readItems(key, min, max);
  if (succeeded(items) && static_cast<int64_t>(items->size()) != context.layers)
    return file.find(key)->emitError()
           << "'" << key << "' has " << items->size()
           << " values, but the model has " << context.layers << " layers";
  return items;
}

LogicalResult GalvatronReader::readStages() {
  FailureOr<int64_t> stages = requireInteger("pp_deg");
  if (failed(stages))
    return failure();
  Location loc = file.find("pp_deg")->getLoc();
  if (failed(verifyRanksPerStage(strategy.ranks, *stages, loc)))
    return failure();
  const json::Node *division = file.find("pp_division");
  if (!division) {
    if (*stages > context.layers)
      return emitError(loc)
             << "'pp_deg' is " << *stages << ", but the model has "
             << context.layers << " layers";
    strategy.stages.assign(*stages, context.layers / *stages);
    strategy.stages.back() += context.layers % *stages;
    return success();
  }
  FailureOr<Items> items = readItems("pp_division", 1, json::maxCount);
  if (failed(items))
    return failure();
  if (static_cast<int64_t>(items->size()) != *stages)
    return division->emitError() << "'pp_division' has " << items->size()
                                 << " values, but 'pp_deg' is " << *stages;
  for (const JoinedInteger &item : *items)
    strategy.stages.push_back(item.value);
  return verifyStages(strategy, context.layers, division->getLoc());
}

LogicalResult GalvatronReader::readSteps() {
  FailureOr<int64_t> batchSize = requireInteger("global_bsz");
  if (failed(batchSize))
    return failure();
  strategy.batchSize = *batchSize;
  strategy.batchLoc = file.find("global_bsz")->getLoc();
  FailureOr<int64_t> chunks = requireInteger("chunks");
  if (failed(chunks))
    return failure();
  strategy.microbatches = *chunks;
  strategy.schedule = Schedule::gpipe; // Galvatron's default
  const json::Node *value = file.find("pipeline_type");
  if (!value)
    return success();
  FailureOr<StringRef> type = json::getString(*value, "'pipeline_type'");
  if (failed(type))
    return failure();
  if (*type == "pipedream_flush")
    strategy.schedule = Schedule::oneForwardOneBackward;
  else if (*type != "gpipe")
    return value->emitError()
           << "'pipeline_type' must be \"gpipe\" or "
           << "\"pipedream_flush\", found " << value->describe();
  return success();
}

FailureOr<int> GalvatronReader::readDefaultZero() {
  const json::Node *value = file.find("default_dp_type");
  if (!value)
    return 0;
  FailureOr<StringRef> type = json::getString(*value, "'default_dp_type'");
  if (failed(type))
    return failure();
  if (*type == "ddp")
    return 0;
  if (*type == "zero2")
    return 2;
  if (*type == "zero3")
    return 3;
  return value->emitError()
         << "'default_dp_type' must be \"ddp\", \"zero2\" or "
         << "\"zero3\", found " << value->describe();
}

LogicalResult GalvatronReader::readLayers() {
  FailureOr<int> zero = readDefaultZero();
  if (failed(zero))
    return failure();
  defaultZero = *zero;
  FailureOr<Items> tensor = readLayerItems("tp_sizes_enc", 1, json::maxCount);
  if (failed(tensor))
    return failure();
  FailureOr<Items> consecutive = readLayerItems("tp_consecutive_flags", 0, 1);
  if (failed(consecutive))
    return failure();
  FailureOr<Items> dataTypes = readLayerItems("dp_types_enc", 0, 1);
  if (failed(dataTypes))
    return failure();
  FailureOr<Items> recompute = readLayerItems("checkpoint", 0, 1, 0);
  if (failed(recompute))
    return failure();
  for (int64_t index = 0; index < context.layers; ++index) {
    LayerStrategy layer((*tensor)[index].loc);
    layer.tensor = (*tensor)[index].value;
    if (failed(setDegrees(layer, strategy, "tp_sizes_enc", layer.loc,
                          /*data=*/nullptr)))
      return failure();
    layer.sequenceParallel = context.galvatronVersion >= 3;
    layer.zeroStage = (*dataTypes)[index].value ? 3 : defaultZero;
    layer.recompute = (*recompute)[index].value;
    layer.tensorOuter = !(*consecutive)[index].value;
    canonicalize(layer);
    strategy.layers.push_back(layer);
  }
  return success();
}

LogicalResult GalvatronReader::readVocabulary() {
  LayerStrategy &layer = strategy.vocabulary;
  FailureOr<int64_t> tensor = file.getInteger("vtp", 1);
  if (failed(tensor))
    return failure();
  if (const json::Node *value = file.find("vtp"))
    layer.loc = value->getLoc();
  layer.tensor = *tensor;
  if (failed(setDegrees(layer, strategy, "vtp", layer.loc, /*data=*/nullptr)))
    return failure();
  // Galvatron's search writes one name, its training reads the other.
  FailureOr<int64_t> embed = file.getInteger("embed_sdp", 0, 0, 1);
  if (failed(embed))
    return failure();
  FailureOr<int64_t> vocabulary = file.getInteger("vocab_sdp", *embed, 0, 1);
  if (failed(vocabulary))
    return failure();
  const json::Node *older = file.find("embed_sdp");
  if (older && *embed != *vocabulary) {
    InFlightDiagnostic diagnostic = file.find("vocab_sdp")->emitError()
                                    << "'vocab_sdp' is " << *vocabulary
                                    << ", but 'embed_sdp' is " << *embed;
    diagnostic.attachNote(older->getLoc()) << "'embed_sdp' is here";
    return diagnostic;
  }
  layer.sequenceParallel = context.galvatronVersion >= 3;
  layer.zeroStage = *vocabulary ? 3 : defaultZero;
  canonicalize(layer);
  return success();
}

bool galv::isGalvatronStrategy(const json::Node &file) {
  return llvm::any_of(file.members, [](const json::Member &member) {
    return member.key == "pp_deg" || member.key == "tp_sizes_enc";
  });
}

FailureOr<Strategy>
galv::readGalvatronStrategy(json::ObjectReader file,
                            const StrategyContext &context) {
  return GalvatronReader(std::move(file), context).read();
}
