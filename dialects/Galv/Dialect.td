//===- Dialect.td - the galv dialect --------------------------------------===//

#ifndef GALV_DIALECT_TD
#define GALV_DIALECT_TD

include "mlir/IR/OpBase.td"

def Galv_Dialect : Dialect {
  let name = "galv";
  let cppNamespace = "::galv";
  let summary = "Transformer training and its distribution over ranks";
  let description = [{
    A model is a global program: one device's view, with global shapes. How a
    tensor is spread over the ranks of its stage is part of its type, as a
    `#galv.placement` encoding, so that two parts of a program that disagree
    about a placement do not verify. Every compute operation states once, as a
    factor rule, how its dimensions correspond; tensor parallelism, insertion of
    redistributions, the backward pass and lowering all follow from that rule.
  }];
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
  let extraClassDeclaration = [{
    /// On the module once phase `redistribute` has run: from here on every
    /// operation's verifier checks the operation's factor rule.
    static constexpr ::llvm::StringLiteral placedAttrName = "galv.placed";

    void registerAttributes();
  }];
}

#endif // GALV_DIALECT_TD
