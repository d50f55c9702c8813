//===- Printer.h - pieces of emitted C++ ------------------------*- C++ -*-===//

#ifndef GALV_TARGET_LIBTORCH_PRINTER_H
#define GALV_TARGET_LIBTORCH_PRINTER_H

#include "dialects/Rank/Rank.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"

namespace galv {

/// The communication groups of a program, numbered; 0 is the group of one.
class GroupTable {
public:
  explicit GroupTable(MeshAttr mesh) : mesh(mesh) {
    getNumber(comm::GroupAttr::getSingle(mesh.getContext()));
  }
  int getNumber(comm::GroupAttr group) {
    return numbers.try_emplace(group, numbers.size()).first->second;
  }
  /// The axes of a group as mesh axes.
  llvm::SmallVector<int> getAxes(comm::GroupAttr group) const;
  auto begin() const { return numbers.begin(); }
  auto end() const { return numbers.end(); }
  size_t size() const { return numbers.size(); }

private:
  MeshAttr mesh;
  llvm::MapVector<comm::GroupAttr, int> numbers;
};

/// Arrays of a file; equal ones are written once.
class ArrayTable {
public:
  explicit ArrayTable(llvm::raw_ostream &os) : os(os) {}
  /// The name of an array `const type name[] = {elements}`; a span of none is
  /// "{}".
  std::string add(llvm::StringRef type, llvm::StringRef stem,
                  llvm::ArrayRef<std::string> elements);

private:
  llvm::raw_ostream &os;
  llvm::StringMap<std::string> names;
  llvm::StringMap<int> stems;
};

/// "f32", "f64" or "i64".
llvm::StringRef getTypeName(mlir::Type elementType);

/// A quoted C++ (and JSON) string.
std::string quote(llvm::StringRef text);

/// Prints the functions of the module.
void printFunctions(mlir::ModuleOp module, GroupTable &groups,
                    llvm::raw_ostream &os);

/// Prints tables and main.
mlir::LogicalResult printTables(rank::ProgramOp program, GroupTable &groups,
                                llvm::raw_ostream &os);

/// Prints the manifest.
void printManifest(rank::ProgramOp program, GroupTable &groups,
                   llvm::raw_ostream &os);

} // namespace galv

#endif // GALV_TARGET_LIBTORCH_PRINTER_H
