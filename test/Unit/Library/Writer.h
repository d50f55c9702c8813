//===- Writer.h - functions as a library of C++ ----------------*- C++ -*-===//

#ifndef GALV_TEST_UNIT_LIBRARY_WRITER_H
#define GALV_TEST_UNIT_LIBRARY_WRITER_H

#include "lib/Target/LibTorch/Printer.h"
#include "mlir/Pass/PassManager.h"

namespace galv {

/// An emitted function and the groups of ranks that its groups' numbers mean,
/// as indices into the library's tables.
struct CompiledFunction {
  int function, groups;
};

/// Compiles functions and collects the tables of Library.h.
class LibraryWriter {
public:
  /// Functions are spread over `files` files.
  LibraryWriter(mlir::MLIRContext *context, int files);

  MeshAttr getMesh(size_t axes) const { return meshes[axes]; }

  /// Takes the placed functions of `module` to C++. Functions with equal code
  /// are one; each numbers its groups for itself, so that many are.
  mlir::FailureOr<llvm::SmallVector<CompiledFunction>>
  compile(mlir::ModuleOp module, MeshAttr mesh);
  int addTensor(mlir::Type type);
  /// A `Case`.
  std::string getCase(CompiledFunction function, mlir::TypeRange operands,
                      mlir::TypeRange results);
  /// A span of the elements.
  std::string addArray(llvm::StringRef type, llvm::StringRef stem,
                       llvm::ArrayRef<std::string> elements) {
    return arrays.add(type, stem, elements);
  }
  void addInstance(std::string text) { instances.push_back(std::move(text)); }
  void addMovement(std::string text) { movements.push_back(std::move(text)); }

  size_t getNumFunctions() const { return codes.size(); }
  /// `library.cpp` and `functions_<i>.cpp` in `folder`.
  bool write(llvm::StringRef folder);

private:
  std::string getInts(llvm::ArrayRef<int32_t> values);

  llvm::SmallVector<MeshAttr> meshes; // by the number of their axes
  mlir::PassManager manager;
  mlir::OwningOpRef<mlir::ModuleOp> single; // holds the function printed
  llvm::StringMap<int> numbers;             // by code
  llvm::StringMap<int> groupNumbers;        // by the span's text
  llvm::DenseMap<mlir::Type, int> tensorNumbers;
  llvm::SmallVector<std::string> codes, groups, tensors, instances, movements,
      files;
  std::string declarations, tables;
  llvm::raw_string_ostream tablesOs{tables};
  ArrayTable arrays{tablesOs};
};

} // namespace galv

#endif // GALV_TEST_UNIT_LIBRARY_WRITER_H
