//===- Checkpoint.h - initial values, loading and saving --------*- C++ -*-===//

#ifndef GALV_LIB_RUNTIME_CHECKPOINT_H
#define GALV_LIB_RUNTIME_CHECKPOINT_H

#include "Context.h"
#include "SafeTensors.h"

#include <string>

namespace galv {

/// What of a parameter goes into a file.
enum class Part {
  values,    ///< the master values
  gradients, ///< the reduced gradient of the last step
  copies     ///< values of copies on other stages, named <name>@<stage>
};

/// Throws where `file` lacks a tensor that some rank of `program` needs, or
/// has it in another shape.
void checkLoadable(const Program &program, const SafeTensorsReader &file);

/// Sets this rank's master values to their initial values, functions of
/// (context.seed, checkpoint name, index in the checkpoint tensor) alone.
/// Copies are left alone: a step refreshes them.
void initialize(Context &context);

/// Sets this rank's master values from a file that `checkLoadable` accepts.
void load(Context &context, const SafeTensorsReader &file);

/// Writes whole checkpoint tensors to `path`. Called by all ranks; rank 0
/// writes. One tensor at a time is put together, on all ranks.
void store(Context &context, Part part, const std::string &path);

} // namespace galv

#endif // GALV_LIB_RUNTIME_CHECKPOINT_H
