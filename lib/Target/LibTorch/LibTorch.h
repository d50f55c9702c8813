//===- LibTorch.h - from rank programs to C++ -------------------*- C++ -*-===//

#ifndef GALV_TARGET_LIBTORCH_LIBTORCH_H
#define GALV_TARGET_LIBTORCH_LIBTORCH_H

#include "mlir/IR/BuiltinOps.h"
#include <string>
#include <vector>

namespace galv {

struct EmittedFile {
  std::string name, text;
};

/// The C++ files and the manifest of the program in a module whose memory is
/// planned: `<program>_functions.cpp`, `<program>.cpp`, `manifest.json`.
mlir::FailureOr<std::vector<EmittedFile>> emitLibTorch(mlir::ModuleOp module);

} // namespace galv

#endif // GALV_TARGET_LIBTORCH_LIBTORCH_H
