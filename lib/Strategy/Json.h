//===- Json.h - JSON whose values know where they stand ---------*- C++ -*-===//
//
// Configurations and strategies are written by people, so an error in one
// names its place. The values here carry the location of their text, an object
// keeps its members in order and has none twice, and what a reader does not
// take is an error. Nothing here throws.
//
//===----------------------------------------------------------------------===//

#ifndef GALV_STRATEGY_JSON_H
#define GALV_STRATEGY_JSON_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Location.h"
#include "mlir/Support/LLVM.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/StringSet.h"

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace galv::json {

/// What stands at a place of a file. A number without fraction and exponent
/// that fits is an integer, any other is real.
enum class Kind { null, boolean, integer, real, string, array, object };

struct Member;

class Node {
public:
  Node(Kind kind, mlir::FileLineColLoc loc);

  Kind getKind() const { return kind; }
  bool is(Kind other) const { return kind == other; }
  mlir::FileLineColLoc getLoc() const { return loc; }
  /// Of the byte `offset` of a string.
  mlir::FileLineColLoc getLoc(size_t offset) const;
  mlir::InFlightDiagnostic emitError() const { return mlir::emitError(loc); }
  /// The value for an error message: numbers as they are written, "an object".
  std::string describe() const;

  // What the value holds, where it is of that kind.
  bool boolean = false;
  int64_t integer = 0;
  double real = 0;    // of an integer too
  std::string string; // of a number, as it is written
  std::vector<Node> elements;
  std::vector<Member> members;
  /// A string without escapes, whose bytes stand in the file as they are.
  bool verbatim = false;

private:
  Kind kind;
  mlir::FileLineColLoc loc;
};

struct Member {
  std::string key;
  mlir::FileLineColLoc loc; // of the key
  Node value;
};

/// Parses a file (`-` is standard input) or a text. Errors are emitted.
mlir::FailureOr<Node> parseFile(mlir::MLIRContext *context,
                                llvm::StringRef path);
mlir::FailureOr<Node> parse(mlir::MLIRContext *context, llvm::StringRef text,
                            llvm::StringRef name);

/// Writes a value as JSON with an indentation of two.
void print(const Node &value, llvm::raw_ostream &os);

/// Greatest count that the readers accept: products of two still fit.
constexpr int64_t maxCount = std::numeric_limits<int32_t>::max();

// A value of one kind, or an error that names `what`.
mlir::FailureOr<int64_t> getInteger(const Node &value, llvm::StringRef what,
                                    int64_t min = 1, int64_t max = maxCount);
mlir::FailureOr<double> getReal(const Node &value, llvm::StringRef what);
mlir::FailureOr<bool> getBoolean(const Node &value, llvm::StringRef what);
mlir::FailureOr<llvm::StringRef> getString(const Node &value,
                                           llvm::StringRef what);

/// Reads the members of an object by name and knows which were never asked for.
class ObjectReader {
public:
  /// `value` must outlive the reader; `what` names the object in errors.
  static mlir::FailureOr<ObjectReader> get(const Node &value,
                                           llvm::StringRef what);

  const Node &getObject() const { return *object; }
  /// Null where the object has no such key.
  const Node *find(llvm::StringRef key);
  /// The value of a key that must be there.
  mlir::FailureOr<const Node *> require(llvm::StringRef key);

  // The value of a key where it is there, else the default.
  mlir::FailureOr<int64_t> getInteger(llvm::StringRef key, int64_t otherwise,
                                      int64_t min = 1, int64_t max = maxCount);
  mlir::FailureOr<double> getReal(llvm::StringRef key, double otherwise);
  mlir::FailureOr<bool> getBoolean(llvm::StringRef key, bool otherwise);

  /// Fails at the first member whose key nobody asked for.
  mlir::LogicalResult finish() const;

private:
  ObjectReader(const Node &object, llvm::StringRef what)
      : object(&object), what(what) {}

  const Node *object;
  std::string what;
  llvm::StringSet<> asked;
};

} // namespace galv::json

#endif // GALV_STRATEGY_JSON_H
