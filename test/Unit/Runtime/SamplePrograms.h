//===- SamplePrograms.h - sizes of the sample programs ----------*- C++ -*-===//
//
// A look-up table and a head, trained on next tokens in fp64: once on one rank,
// once over two data-parallel ranks (head flat at rest, as ZeRO has it), once
// over two pipeline stages. All three must train alike.
//
//===----------------------------------------------------------------------===//

#ifndef GALV_TEST_UNIT_RUNTIME_SAMPLEPROGRAMS_H
#define GALV_TEST_UNIT_RUNTIME_SAMPLEPROGRAMS_H

#include "galv/runtime.h"

namespace sample {

constexpr int64_t vocabulary = 11, width = 5, sequence = 4, batch = 4;
constexpr int microbatches = 2;

} // namespace sample

#endif // GALV_TEST_UNIT_RUNTIME_SAMPLEPROGRAMS_H
