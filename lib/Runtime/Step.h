//===- Step.h - runs the tables of a stage ----------------------*- C++ -*-===//

#ifndef GALV_LIB_RUNTIME_STEP_H
#define GALV_LIB_RUNTIME_STEP_H

#include "Context.h"

namespace galv {

/// Runs the order of the context's stage once, with the inputs that
/// `context.step` holds. An error names the row, layer and microbatch.
void runStep(Context &context);

/// The step's loss and gradient norm.
double readResult(Context &context, const Operand &operand);

} // namespace galv

#endif // GALV_LIB_RUNTIME_STEP_H
