//===- Interfaces.td - what every operation says of itself ----------------===//

#ifndef GALV_INTERFACES_TD
#define GALV_INTERFACES_TD

include "mlir/IR/OpBase.td"

def Galv_FactorRuleOpInterface : OpInterface<"FactorRuleOpInterface"> {
  let cppNamespace = "::galv";
  let description = [{
    An operation that states how its dimensions correspond, as factors, and of
    which terms its results are sums. See `FactorRule.h` for the notation.
  }];
  let methods = [
    StaticInterfaceMethod<"The rule as it is written in the definition.",
      "::llvm::StringRef", "getRuleText">,
    InterfaceMethod<[{
        Completes `local`, a clone of this operation on local shapes, with what
        the split of a closed, exchange or indexed factor asks for: the group
        of ranks an attribute names, or a collective of its own. The results
        replace this operation's. The default is the clone itself.
      }],
      "::llvm::SmallVector<::mlir::Value>", "localise",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::Operation *":$local,
           "const ::galv::Assignment &":$assignment),
      "", [{ return ::llvm::SmallVector<::mlir::Value>(local->getResults()); }]>,
  ];
  let verify = "return ::galv::verifyFactorRule($_op);";
}

def Galv_DerivativeOpInterface : OpInterface<"DerivativeOpInterface"> {
  let cppNamespace = "::galv";
  let description = [{
    An operation that can build its derivative as operations of the dialect. The
    new values have no placement: insertion gives them one.
  }];
  let methods = [
    InterfaceMethod<[{
        Builds the cotangents of the operands from those of the results (null
        where a result has none). Writes a null value for an operand that has
        no derivative; builds only those that are `needed`.
      }],
      "void", "buildDerivative",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::ValueRange":$cotangents,
           "::llvm::ArrayRef<bool>":$needed,
           "::llvm::SmallVectorImpl<::mlir::Value> &":$result)>,
  ];
}

/// The value is computed, or read, wherever it is used, in the placement that
/// its user wants: it is never moved and never kept.
def Galv_ComputedAnywhere : NativeOpTrait<"ComputedAnywhere"> {
  let cppNamespace = "::galv";
}

#endif // GALV_INTERFACES_TD
