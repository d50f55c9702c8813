//===- Comm.h - the comm dialect --------------------------------*- C++ -*-===//

#ifndef GALV_DIALECTS_COMM_COMM_H
#define GALV_DIALECTS_COMM_COMM_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dialects/Comm/Dialect.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/Comm/Attributes.h.inc"

namespace galv::comm {

/// The order of a rank's collectives.
struct OrderResource : public mlir::SideEffects::Resource::Base<OrderResource> {
  llvm::StringRef getName() final { return "comm.order"; }
};

} // namespace galv::comm

#define GET_OP_CLASSES
#include "dialects/Comm/Ops.h.inc"

#endif // GALV_DIALECTS_COMM_COMM_H
