//===- Gpt2Config.cpp - Reads GPT-2's config.json -------------------------===//
//
// Every field is in one of three groups: what describes the model, what must
// have the value that the model is built for, and what does not change its
// training. There is no fourth, so that no field is ignored by accident.
//
//===----------------------------------------------------------------------===//

#include "models/gpt2/Gpt2Config.h"

using namespace galv;
using namespace mlir;

/// Fields without influence on loss, gradients and weights of this model.
static constexpr StringRef withoutInfluence[] = {
    // Who wrote it, with what, and what it is used for.
    "_commit_hash", "_name_or_path", "_num_labels", "architectures", "dtype",
    "finetuning_task", "id2label", "label2id", "model_type", "num_labels",
    "prefix", "problem_type", "task_specific_params", "tokenizer_class",
    "torch_dtype", "transformers_version",
    // What the forward returns beside the logits.
    "output_attentions", "output_hidden_states", "output_past", "output_scores",
    "return_dict", "return_dict_in_generate", "use_cache", "use_return_dict",
    // Heads for other tasks.
    "summary_activation", "summary_first_dropout", "summary_proj_to_labels",
    "summary_type", "summary_use_proj",
    // Tokens with a meaning; the look-up treats all alike.
    "bos_token_id", "decoder_start_token_id", "eos_token_id", "pad_token_id",
    "sep_token_id",
    // Generation.
    "bad_words_ids", "begin_suppress_tokens", "diversity_penalty", "do_sample",
    "early_stopping", "encoder_no_repeat_ngram_size",
    "exponential_decay_length_penalty", "forced_bos_token_id",
    "forced_eos_token_id", "length_penalty", "max_length", "min_length",
    "no_repeat_ngram_size", "num_beam_groups", "num_beams",
    "num_return_sequences", "remove_invalid_values", "repetition_penalty",
    "suppress_tokens", "temperature", "top_k", "top_p", "typical_p",
    // What other models, other back-ends or an older transformers read.
    "attn_implementation", "_attn_implementation_autoset",
    "chunk_size_feed_forward", "cross_attention_hidden_size",
    "gradient_checkpointing", "is_decoder", "n_ctx", "tf_legacy_loss",
    "tie_encoder_decoder", "use_bfloat16"};

/// Fields of which one value is understood.
struct Fixed {
  StringRef key;
  bool value;
};
static constexpr Fixed fixed[] = {{"add_cross_attention", false},
                                  {"is_encoder_decoder", false},
                                  {"reorder_and_upcast_attn", false},
                                  {"scale_attn_by_inverse_layer_idx", false},
                                  {"scale_attn_weights", true},
                                  {"torchscript", false}};

/// Greatest size of one dimension: a weight of two still has a byte count.
static constexpr int64_t maxSize = 1 << 28;
static constexpr int64_t maxLayers = 1 << 16;

static LogicalResult readSizes(json::ObjectReader &reader, Gpt2Config &config) {
  struct Size {
    StringRef key;
    int64_t &into;
    int64_t max;
  };
  for (const Size &size : {Size{"vocab_size", config.vocabulary, maxSize},
                           Size{"n_positions", config.positions, maxSize},
                           Size{"n_embd", config.width, maxSize},
                           Size{"n_layer", config.layers, maxLayers},
                           Size{"n_head", config.heads, maxSize}}) {
    FailureOr<int64_t> value =
        reader.getInteger(size.key, size.into, /*min=*/1, size.max);
    if (failed(value))
      return failure();
    size.into = *value;
  }
  if (config.width % config.heads) {
    const json::Node *heads = reader.find("n_head");
    return (heads ? *heads : reader.getObject()).emitError()
           << "the number of heads, " << config.heads
           << ", does not divide the width 'n_embd', " << config.width;
  }
  config.hidden = 4 * config.width;
  const json::Node *inner = reader.find("n_inner");
  if (!inner || inner->is(json::Kind::null))
    return success();
  FailureOr<int64_t> hidden =
      json::getInteger(*inner, "'n_inner'", /*min=*/1, maxSize);
  if (failed(hidden))
    return failure();
  config.hidden = *hidden;
  return success();
}

/// One error for all three probabilities, for they are turned off together.
static LogicalResult refuseDropout(json::ObjectReader &reader) {
  constexpr double stock = 0.1;
  const json::Node *place = nullptr;
  std::string found, remedy;
  for (StringRef key : {"embd_pdrop", "attn_pdrop", "resid_pdrop"}) {
    FailureOr<double> probability = reader.getReal(key, stock);
    if (failed(probability))
      return failure();
    if (*probability == 0)
      continue;
    const json::Node *node = reader.find(key);
    if (!place)
      place = node ? node : &reader.getObject();
    found += (found.empty() ? "'" : ", '") + key.str() + "' is " +
             (node ? node->describe() : "left out and so 0.1");
    remedy += " --set " + key.str() + "=0";
  }
  if (!place)
    return success();
  return place->emitError() << found << ", but dropout is not supported; train "
                            << "without it by" << remedy;
}

static LogicalResult refuseOtherModels(json::ObjectReader &reader) {
  for (const Fixed &field : fixed) {
    FailureOr<bool> value = reader.getBoolean(field.key, field.value);
    if (failed(value))
      return failure();
    if (*value != field.value)
      return reader.find(field.key)->emitError()
             << "'" << field.key << "' is " << (*value ? "true" : "false")
             << ", but only " << (field.value ? "true" : "false")
             << " is supported";
  }
  if (const json::Node *heads = reader.find("pruned_heads"))
    if (!heads->members.empty())
      return heads->emitError() << "'pruned_heads' is not empty, but a model "
                                << "without some heads is not supported";
  const json::Node *activation = reader.find("activation_function");
  if (!activation)
    return success();
  FailureOr<StringRef> name =
      json::getString(*activation, "'activation_function'");
  if (failed(name))
    return failure();
  if (*name == "gelu_new" || *name == "gelu_pytorch_tanh")
    return success();
  return activation->emitError()
         << "'activation_function' is \"" << *name
         << "\", but only \"gelu_new\" and \"gelu_pytorch_tanh\" are supported";
}

FailureOr<Gpt2Config> galv::readGpt2Config(json::ObjectReader &reader) {
  Gpt2Config config;
  for (StringRef key : withoutInfluence)
    reader.find(key);
  if (failed(readSizes(reader, config)) || failed(refuseOtherModels(reader)) ||
      failed(refuseDropout(reader)))
    return failure();
  struct Real {
    StringRef key;
    double &into;
  };
  for (const Real &real :
       {Real{"layer_norm_epsilon", config.epsilon},
        Real{"initializer_range", config.initializerRange}}) {
    FailureOr<double> value = reader.getReal(real.key, real.into);
    if (failed(value))
      return failure();
    if (*value < 0)
      return reader.find(real.key)->emitError()
             << "'" << real.key << "' must not be negative, found "
             << reader.find(real.key)->describe();
    real.into = *value;
  }
  FailureOr<bool> tied = reader.getBoolean("tie_word_embeddings", config.tied);
  if (failed(tied) || failed(reader.finish()))
    return failure();
  config.tied = *tied;
  return config;
}
