//===- FactorRule.h - how an operation's dimensions correspond --*- C++ -*-===//
//
// Each operation states once, as text in its definition, how its dimensions
// correspond (factors, in Shardy's manner) and of which terms each result is a
// sum. Everything about distribution follows from it.
//
//   ([i*,k],[n,k],[n]) -> [i*,n] ; terms (0* 1*)+(2*) ; pad n k
//
// - A dimension is a factor, or a compound of factors, major to minor: `(h d)`.
//   `i*` is any number of dimensions, one factor each.
// - `terms`: one sum per result, results separated by `|`. A term lists the
//   operands it reads; a star marks those it is linear in. Left out: no term.
// - `closed v`: the operation finishes the reduction over v itself, so a split
//   gives no partial sum. `whole k`: must not be split. `indexed v`: global
//   positions matter. `pad v`: may be padded with zeros. `flat`: the operation
//   takes flattened values.
// - `size d=attribute`: the size of a factor that no shape determines alone.
//   `count i=attribute`: how many dimensions `i*` stands for.
// - Operands at the end that are optional and absent are dropped, with the
//   terms that read them.
//
//===----------------------------------------------------------------------===//

#ifndef GALV_DIALECTS_GALV_FACTORRULE_H
#define GALV_DIALECTS_GALV_FACTORRULE_H

#include "dialects/Galv/Placement.h"
#include "mlir/IR/Operation.h"

namespace galv {

struct Factor {
  std::string name;
  int64_t size = 0;
  bool closed = false, whole = false, indexed = false, pad = false;
};

/// Factors of one dimension, major to minor.
using DimensionFactors = llvm::SmallVector<int, 2>;
/// Of one operand or result.
using TensorFactors = llvm::SmallVector<DimensionFactors, 4>;

struct Term {
  llvm::SmallVector<int, 4> reads;
  llvm::SmallVector<int, 4> linear;

  bool isLinearIn(int operand) const;
};

struct FactorRule {
  llvm::SmallVector<Factor, 8> factors;
  llvm::SmallVector<TensorFactors, 4> operands, results;
  llvm::SmallVector<llvm::SmallVector<Term, 2>, 2> terms; // per result
  bool flat = false;

  /// Whether the tensor has a dimension with this factor.
  static bool has(const TensorFactors &tensor, int factor);
  /// A factor of operand that the result lacks, so that a split of it gives a
  /// partial sum (closed factors never do).
  bool isReduction(int factor, int operand, int result) const;
};

/// σ: the axes of each factor, and of the flattened whole.
struct Assignment {
  llvm::SmallVector<Axes, 8> axes;
  llvm::SmallVector<bool, 8> pad;
  Axes flat;
};

/// The rule of an operation, with sizes; none and a diagnostic where operand
/// shapes do not fit it.
mlir::FailureOr<FactorRule>
getFactorRule(mlir::Operation *op,
              llvm::function_ref<mlir::InFlightDiagnostic()> emitError);

/// Result types, without a placement, of an operation with this rule. The
/// element type is that of the first floating-point operand.
llvm::SmallVector<mlir::Type> inferResultTypes(llvm::StringRef rule,
                                               mlir::ValueRange operands,
                                               mlir::DictionaryAttr attributes);

/// Reads σ off placed types (rules 1 to 3); a dimension that contradicts
/// another is an error that names both.
mlir::FailureOr<Assignment>
deriveAssignment(const FactorRule &rule, mlir::TypeRange operands,
                 mlir::TypeRange results,
                 llvm::function_ref<mlir::InFlightDiagnostic()> emitError);

/// Rule 4: all terms of a result carry the same axes, and these are its
/// `partial`.
mlir::LogicalResult
checkTerms(const FactorRule &rule, const Assignment &assignment,
           mlir::TypeRange operands, mlir::TypeRange results,
           llvm::function_ref<mlir::InFlightDiagnostic()> emitError);

/// The splits that σ gives a tensor; none where a compound dimension cannot
/// express them (a minor factor under a major one that is not fully split).
std::optional<Placement> getPlacement(const FactorRule &rule,
                                      const Assignment &assignment,
                                      const TensorFactors &tensor,
                                      const Placement &mesh);

/// The verifier of every operation with a rule: shapes always, placements from
/// phase `redistribute` on.
mlir::LogicalResult verifyFactorRule(mlir::Operation *op);

} // namespace galv

#endif // GALV_DIALECTS_GALV_FACTORRULE_H
