//===- Gpt2.cpp - Builds the program of a GPT-2 ---------------------------===//
//
// After `GPT2LMHeadModel` of transformers, whose module names it keeps. Two
// things differ. The fused projection `attn.c_attn` is three linears over three
// parameters, slices of the one checkpoint tensor, so that a split of heads is
// a split of dimensions. And linear weights are [out, in], transposed views of
// what Conv1D stores.
//
//===----------------------------------------------------------------------===//

#include "models/gpt2/Gpt2.h"
#include "lib/Import/ModelBuilder.h"
#include "models/gpt2/Gpt2Config.h"

#include "llvm/Support/CheckedArithmetic.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>

using namespace galv;
using namespace mlir;

namespace {

/// One side of a linear layer: its name and size.
struct Dimension {
  StringRef name;
  int64_t size;
};

class Gpt2Builder {
public:
  Gpt2Builder(const Gpt2Config &config, ModelBuilder &builder)
      : config(config), builder(builder), embed{"embed", config.width},
        heads{"heads", config.width}, hidden{"hidden", config.hidden} {}

  void build();

private:
  Value buildEmbedding();
  Value buildAttention(const std::string &path, Value x);
  Value buildFeedForward(const std::string &path, Value x);
  void buildHead(Value x);

  void addTable(StringRef path, Dimension rows);
  void addLayerNorm(const std::string &path);
  /// Parameter `path` is part `part` of `parts` of the Conv1D `conv`.
  void addConv1D(const std::string &path, const std::string &conv,
                 Dimension out, Dimension in, Initializer initializer,
                 int64_t part = 0, int64_t parts = 1);

  const Gpt2Config &config;
  ModelBuilder &builder;
  Dimension embed, heads, hidden;
};

} // namespace

/// The name in Hugging Face's checkpoints.
static std::string inCheckpoint(const std::string &name) {
  return "transformer." + name;
}

void Gpt2Builder::addTable(StringRef path, Dimension rows) {
  std::string name = (path + ".weight").str();
  builder.addParameter(name, {{rows.size, embed.size},
                              {rows.name, embed.name},
                              {"normal", config.initializerRange},
                              inCheckpoint(name),
                              {rows.size, embed.size},
                              {0, 0}});
}

void Gpt2Builder::addLayerNorm(const std::string &path) {
  for (auto [name, kind] :
       {std::pair(path + ".weight", "ones"), {path + ".bias", "zeros"}})
    builder.addParameter(name, {{embed.size},
                                {embed.name},
                                {kind},
                                inCheckpoint(name),
                                {embed.size},
                                {0}});
}

void Gpt2Builder::addConv1D(const std::string &path, const std::string &conv,
                            Dimension out, Dimension in,
                            Initializer initializer, int64_t part,
                            int64_t parts) {
  builder.addParameter(path + ".weight", {{out.size, in.size},
                                          {out.name, in.name},
                                          initializer,
                                          inCheckpoint(conv + ".weight"),
                                          {in.size, parts * out.size},
                                          {0, part * out.size},
                                          /*transposed=*/true});
  builder.addParameter(path + ".bias", {{out.size},
                                        {out.name},
                                        {"zeros"},
                                        inCheckpoint(conv + ".bias"),
                                        {parts * out.size},
                                        {part * out.size}});
}

Value Gpt2Builder::buildEmbedding() {
  addTable("wte", {"vocabulary", config.vocabulary});
  addTable("wpe", {"positions", config.positions});
  Value tokens = builder.input("wte", "tokens");
  Value table = builder.use("wte", "wte.weight");
  Value words = builder.create<EmbeddingOp>("wte", {tokens, table}).getResult();
  Value positions = builder.positions("wpe");
  Value learned = builder.use("wpe", "wpe.weight");
  Value places =
      builder.create<EmbeddingOp>("wpe", {positions, learned}).getResult();
  return builder.create<AddOp>("wpe", {words, places}).getResult();
}

Value Gpt2Builder::buildAttention(const std::string &path, Value x) {
  addLayerNorm(path + ".ln_1");
  Value normed = builder.layerNorm(path + ".ln_1", x, config.epsilon);
  std::string attention = path + ".attn";
  SmallVector<Value, 3> projected;
  constexpr const char *parts[] = {".q", ".k", ".v"};
  for (auto [part, name] : llvm::enumerate(parts)) {
    std::string projection = attention + name;
    addConv1D(projection, attention + ".c_attn", heads, embed,
              {"normal", config.initializerRange}, part, std::size(parts));
    projected.push_back(builder.linear(projection, normed, projection));
  }
  OpBuilder attributes(x.getContext());
  Value mixed =
      builder
          .create<AttentionOp>(
              attention, projected,
              attributes.getNamedAttr(
                  "head_dimension",
                  attributes.getI64IntegerAttr(config.width / config.heads)))
          .getResult();
  std::string output = attention + ".c_proj";
  addConv1D(
      output, output, embed, heads,
      {"normal", config.initializerRange / std::sqrt(2.0 * config.layers)});
  Value y = builder.linear(output, mixed, output);
  return builder.create<AddOp>(attention, {x, y}).getResult();
}

Value Gpt2Builder::buildFeedForward(const std::string &path, Value x) {
  addLayerNorm(path + ".ln_2");
  Value normed = builder.layerNorm(path + ".ln_2", x, config.epsilon);
  std::string feedForward = path + ".mlp";
  std::string up = feedForward + ".c_fc", down = feedForward + ".c_proj";
  addConv1D(up, up, hidden, embed, {"normal", config.initializerRange});
  Value y = builder.linear(up, normed, up);
  y = builder.create<GeluOp>(feedForward + ".act", y).getResult();
  addConv1D(
      down, down, embed, hidden,
      {"normal", config.initializerRange / std::sqrt(2.0 * config.layers)});
  y = builder.linear(down, y, down);
  return builder.create<AddOp>(feedForward, {x, y}).getResult();
}

void Gpt2Builder::buildHead(Value x) {
  addLayerNorm("ln_f");
  Value normed = builder.layerNorm("ln_f", x, config.epsilon);
  if (!config.tied)
    builder.addParameter("lm_head.weight", {{config.vocabulary, embed.size},
                                            {"vocabulary", embed.name},
                                            {"normal", config.initializerRange},
                                            "lm_head.weight",
                                            {config.vocabulary, embed.size},
                                            {0, 0}});
  Value logits =
      builder.linear("lm_head", normed, config.tied ? "wte" : "lm_head");
  builder.finish("loss", logits);
}

void Gpt2Builder::build() {
  Value x = buildEmbedding();
  for (int64_t layer = 0; layer < config.layers; ++layer) {
    std::string path = "h." + std::to_string(layer);
    x = buildAttention(path, x);
    x = buildFeedForward(path, x);
  }
  buildHead(x);
}

/// The sequence must have positions, and the step's tensors a size in bytes.
static LogicalResult verifySizes(json::ObjectReader &reader,
                                 const Gpt2Config &config,
                                 const StepSizes &sizes) {
  const json::Node *positions = reader.find("n_positions");
  const json::Node &place = positions ? *positions : reader.getObject();
  if (sizes.sequence > config.positions)
    return place.emitError()
           << "'n_positions' is " << config.positions
           << ", but the sequence length is " << sizes.sequence;
  int64_t widest = std::max(config.vocabulary, config.hidden);
  auto elements = llvm::checkedMul(sizes.batch * sizes.sequence, widest);
  if (elements && *elements < int64_t(1) << 58)
    return success();
  return reader.getObject().emitError()
         << "a step of " << sizes.batch << " sequences of " << sizes.sequence
         << " tokens, each of " << widest << " elements, is too large";
}

static LogicalResult readGpt2(json::ObjectReader &reader,
                              const StepSizes &sizes, ModuleOp module) {
  FailureOr<Gpt2Config> config = readGpt2Config(reader);
  if (failed(config) || failed(verifySizes(reader, *config, sizes)))
    return failure();
  ModelSpec spec{"gpt2", config->vocabulary, config->layers, "h", ""};
  llvm::raw_string_ostream configuration(spec.configuration);
  json::print(reader.getObject(), configuration);
  ModelBuilder builder(module, spec, sizes);
  Gpt2Builder(*config, builder).build();
  return success();
}

ModelFamily galv::getGpt2Family() { return {"gpt2", readGpt2}; }
