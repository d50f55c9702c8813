//===- Gpt2Config.h - What a GPT-2 configuration says -----------*- C++ -*-===//

#ifndef GALV_MODELS_GPT2_GPT2CONFIG_H
#define GALV_MODELS_GPT2_GPT2CONFIG_H

#include "lib/Strategy/Json.h"

namespace galv {

/// What of a configuration changes the training of the model. The defaults are
/// those of Hugging Face's `GPT2Config`.
struct Gpt2Config {
  int64_t vocabulary = 50257;
  int64_t positions = 1024;
  int64_t width = 768;
  int64_t layers = 12;
  int64_t heads = 12;
  int64_t hidden = 3072;
  double epsilon = 1e-5;
  double initializerRange = 0.02;
  bool tied = true;
};

/// Reads a `config.json` of model type `gpt2`, as transformers 4 or 5 writes
/// it. What asks for another model than the one that is built, and a field that
/// is not known, are errors.
mlir::FailureOr<Gpt2Config> readGpt2Config(json::ObjectReader &config);

} // namespace galv

#endif // GALV_MODELS_GPT2_GPT2CONFIG_H
