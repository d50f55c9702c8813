//===- Galv.h - the galv dialect --------------------------------*- C++ -*-===//

#ifndef GALV_DIALECTS_GALV_GALV_H
#define GALV_DIALECTS_GALV_GALV_H

#include "dialects/Comm/Comm.h"
#include "dialects/Galv/FactorRule.h"
#include "dialects/Galv/Placement.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/IR/TensorEncoding.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dialects/Galv/Dialect.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/Galv/Attributes.h.inc"

#define GET_TYPEDEF_CLASSES
#include "dialects/Galv/Types.h.inc"

namespace galv {

/// What parameters, their state and the run's reports are kept in.
struct ParameterResource
    : public mlir::SideEffects::Resource::Base<ParameterResource> {
  llvm::StringRef getName() final { return "galv.parameters"; }
};

/// See the definition in Interfaces.td.
template <typename ConcreteType>
class ComputedAnywhere
    : public mlir::OpTrait::TraitBase<ConcreteType, ComputedAnywhere> {};

/// Discardable attribute on operations: the module path they come from.
inline constexpr llvm::StringLiteral moduleAttrName = "module";
/// Discardable attribute, from phase `groups` on: the number of the block.
inline constexpr llvm::StringLiteral blockAttrName = "block";

/// Discardable attribute, from Autodiff on: what an operation between blocks is
/// for ("materialize", "reduce", "norm", "update", ...). A schedule moves the
/// operations of one action and block together.
inline constexpr llvm::StringLiteral actionAttrName = "action";

/// The group of ranks that differ in `axes`.
comm::GroupAttr getGroup(MeshAttr mesh, llvm::ArrayRef<int32_t> axes);

/// The module path of an operation, or its name where it has none.
llvm::StringRef getModulePath(mlir::Operation *op);

} // namespace galv

#include "dialects/Galv/Interfaces.h.inc"

#define GET_OP_CLASSES
#include "dialects/Galv/Ops.h.inc"

#endif // GALV_DIALECTS_GALV_GALV_H
