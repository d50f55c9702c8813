//===- Import.h - From a model's configuration to a program -----*- C++ -*-===//

#ifndef GALV_IMPORT_IMPORT_H
#define GALV_IMPORT_IMPORT_H

#include "lib/Strategy/Json.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/ArrayRef.h"

#include <string>

namespace galv {

/// The sizes of a training step, which no configuration has.
struct StepSizes {
  int64_t batch;
  int64_t sequence;
};

/// Reads the models of one `model_type`. `read` takes the configuration's
/// fields and builds the global program of one step into the empty module.
struct ModelFamily {
  llvm::StringRef modelType;
  mlir::LogicalResult (*read)(json::ObjectReader &config,
                              const StepSizes &sizes, mlir::ModuleOp module);
};

/// Imports the Hugging Face configuration at `path` by the family of its
/// `model_type`. `overrides` are fields as `key=value`, the value in JSON or a
/// bare word; they stand in for the file's. The program is verified. Errors are
/// emitted at their place in the file.
mlir::FailureOr<mlir::OwningOpRef<mlir::ModuleOp>>
importModel(mlir::MLIRContext *context, llvm::StringRef path,
            llvm::ArrayRef<std::string> overrides, const StepSizes &sizes,
            llvm::ArrayRef<ModelFamily> families);

} // namespace galv

#endif // GALV_IMPORT_IMPORT_H
