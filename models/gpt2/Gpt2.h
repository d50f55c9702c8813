//===- Gpt2.h - The GPT-2 family --------------------------------*- C++ -*-===//

#ifndef GALV_MODELS_GPT2_GPT2_H
#define GALV_MODELS_GPT2_GPT2_H

#include "lib/Import/Import.h"

namespace galv {

/// Hugging Face's `gpt2`: learned positions, layer norm before each part,
/// tanh-GELU, biases, causal attention; the head shares the token embedding's
/// weight or has its own.
ModelFamily getGpt2Family();

} // namespace galv

#endif // GALV_MODELS_GPT2_GPT2_H
