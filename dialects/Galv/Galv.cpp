//===- Galv.cpp - registration of the galv dialect ------------------------===//

#include "dialects/Galv/Galv.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace galv;

#include "dialects/Galv/Dialect.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "dialects/Galv/Types.cpp.inc"

#include "dialects/Galv/Interfaces.cpp.inc"

#define GET_OP_CLASSES
#include "dialects/Galv/Ops.cpp.inc"

namespace {
/// Short names for meshes and placements keep the text readable.
struct GalvAsmInterface : public OpAsmDialectInterface {
  using OpAsmDialectInterface::OpAsmDialectInterface;

  AliasResult getAlias(Attribute attr, raw_ostream &os) const override {
    if (isa<MeshAttr>(attr)) {
      os << "mesh";
      return AliasResult::OverridableAlias;
    }
    if (isa<PlacementAttr>(attr)) {
      os << "p";
      return AliasResult::OverridableAlias;
    }
    return AliasResult::NoAlias;
  }
};
} // namespace

void GalvDialect::initialize() {
  registerAttributes();
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialects/Galv/Types.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/Galv/Ops.cpp.inc"
      >();
  addInterfaces<GalvAsmInterface>();
}
