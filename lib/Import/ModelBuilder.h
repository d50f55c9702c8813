//===- ModelBuilder.h - Builds global programs ------------------*- C++ -*-===//
//
// What the readers of all model families share: parameters as views of a
// checkpoint, and operations that know the module they come from.
//
//===----------------------------------------------------------------------===//

#ifndef GALV_IMPORT_MODELBUILDER_H
#define GALV_IMPORT_MODELBUILDER_H

#include "dialects/Galv/Galv.h"
#include "lib/Import/Import.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringMap.h"

namespace galv {

/// How a parameter's initial values are drawn.
struct Initializer {
  llvm::StringRef kind; // "zeros", "ones" or "normal"
  double deviation = 0;
};

/// A parameter without its name: its shape, what each dimension counts, the
/// tensor of the checkpoint that it is a part of, and its initial values. The
/// slice starts at `offset` and has the parameter's shape, reversed where the
/// checkpoint stores it transposed.
struct ParameterSpec {
  llvm::SmallVector<int64_t, 2> shape;
  llvm::SmallVector<llvm::StringRef, 2> dimensions;
  Initializer initializer;
  std::string tensor;
  llvm::SmallVector<int64_t, 2> tensorShape;
  llvm::SmallVector<int64_t, 2> offset;
  bool transposed = false;
};

/// What `galv.model` says of a model as a whole.
struct ModelSpec {
  llvm::StringRef name;
  int64_t vocabulary;
  int64_t layers;
  llvm::StringRef layerPrefix;
  std::string configuration;
};

/// Builds parameters and one model, in f32, into a module. Every operation gets
/// the path of the module of the original model that it comes from.
class ModelBuilder {
public:
  ModelBuilder(mlir::ModuleOp module, const ModelSpec &spec,
               const StepSizes &sizes);

  void addParameter(const llvm::Twine &name, const ParameterSpec &spec);
  /// The parameter in the model; null where there is none of that name.
  mlir::Value use(llvm::StringRef path, const llvm::Twine &name);

  /// An operation whose result types follow from its operands.
  template <typename OpTy>
  OpTy create(llvm::StringRef path, mlir::ValueRange operands,
              llvm::ArrayRef<mlir::NamedAttribute> attributes = {}) {
    return withPath(OpTy::create(builder, loc, operands, attributes), path);
  }

  /// `tokens` or `labels` of the step: `[batch, sequence]` of i64.
  mlir::Value input(llvm::StringRef path, llvm::StringRef name);
  /// `[sequence]` of i64.
  mlir::Value positions(llvm::StringRef path);
  /// `x` times `<parameter>.weight`, plus `<parameter>.bias` if there is one.
  mlir::Value linear(llvm::StringRef path, mlir::Value x,
                     llvm::StringRef parameter);
  mlir::Value layerNorm(llvm::StringRef path, mlir::Value x, double epsilon);
  /// Ends the model with the summed loss of its logits.
  void finish(llvm::StringRef path, mlir::Value logits);

private:
  template <typename OpTy>
  OpTy withPath(OpTy op, llvm::StringRef path) {
    op->setAttr(moduleAttrName, builder.getStringAttr(path));
    return op;
  }
  mlir::RankedTensorType idsOf(llvm::ArrayRef<int64_t> shape);

  mlir::OpBuilder builder;    // in the model
  mlir::OpBuilder parameters; // before it
  mlir::Location loc;
  StepSizes sizes;
  llvm::StringMap<mlir::RankedTensorType> types;
};

} // namespace galv

#endif // GALV_IMPORT_MODELBUILDER_H
