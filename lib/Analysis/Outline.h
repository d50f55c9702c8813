//===- Outline.h - functions that blocks share ------------------*- C++ -*-===//
//
// Moves a run of operations into a function and puts a call in its place.
// Functions that are equal but for the number of their layer are one.
//
//===----------------------------------------------------------------------===//

#ifndef GALV_ANALYSIS_OUTLINE_H
#define GALV_ANALYSIS_OUTLINE_H

#include "dialects/Galv/Galv.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"

namespace galv {

/// On function arguments that are parameters' uses: the parameter's name, with
/// {layer}.
inline constexpr llvm::StringLiteral parameterAttrName = "galv.parameter";

struct OutlineRequest {
  llvm::ArrayRef<mlir::Operation *> ops; // in program order, in one block
  llvm::StringRef name;                  // of the function, made unique
  int64_t block = 0;
  std::optional<int64_t> layer;
  llvm::StringRef layerPrefix;
};

class Outliner {
public:
  explicit Outliner(mlir::ModuleOp module);

  /// Inputs are activations in order of first use, then parameters' uses;
  /// results are what is used outside.
  CallOp outline(const OutlineRequest &request);

  /// The function with this body, which is moved into it and erased where an
  /// equal one is there. `function` is not in a module yet.
  mlir::func::FuncOp share(mlir::func::FuncOp function);

private:
  mlir::ModuleOp module;
  mlir::SymbolTable symbols;
  llvm::StringMap<mlir::func::FuncOp> shared;
};

/// "h.3.mlp.c_fc" with prefix "h" and layer 3 as "h.{layer}.mlp.c_fc".
std::string abstractLayer(llvm::StringRef path, llvm::StringRef prefix,
                          int64_t layer);

} // namespace galv

#endif // GALV_ANALYSIS_OUTLINE_H
