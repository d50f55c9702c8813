//===- Dialect.td - the comm dialect --------------------------------------===//

#ifndef COMM_DIALECT_TD
#define COMM_DIALECT_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"

def Comm_Dialect : Dialect {
  let name = "comm";
  let cppNamespace = "::galv::comm";
  let summary = "What one rank exchanges with others, and how it cuts its own";
  let description = [{
    Collectives and local movement on local shapes. Collectives are not pure:
    each reads and writes its group's order, so that none is removed, merged or
    moved past another.
  }];
  let useDefaultAttributePrinterParser = 1;
}

def Comm_GroupAttr : AttrDef<Comm_Dialect, "Group"> {
  let mnemonic = "group";
  let summary = "The ranks that one collective runs over";
  let description = [{
    The ranks of one stage that differ in the named axes only, in the order of
    the axes, major to minor: `#comm.group<[a = 2, b = 4]>`. With `stages` the
    ranks of all stages that agree in every axis:
    `#comm.group<[stages = 4], across>`. The group of one rank is
    `#comm.group<[]>`.
  }];
  let parameters = (ins ArrayRefParameter<"::mlir::StringAttr">:$names,
                        ArrayRefParameter<"int64_t">:$sizes, "bool":$across);
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    int64_t getRanks() const;
    static GroupAttr getSingle(::mlir::MLIRContext *context) {
      return get(context, {}, {}, false);
    }
  }];
}

#endif // COMM_DIALECT_TD
