//===- Types.td - values that lie on a stage ------------------------------===//

#ifndef GALV_TYPES_TD
#define GALV_TYPES_TD

include "dialects/Galv/Dialect.td"
include "mlir/IR/AttrTypeBase.td"

def Galv_OnType : TypeDef<Galv_Dialect, "On"> {
  let mnemonic = "on";
  let summary = "A tensor that lies on the ranks of a stage";
  let description = [{
    Outside of a stage's region a value says which stage holds it; only
    `galv.transfer` changes the stage.

    Example: `!galv.on<@stage0, tensor<8x64x128xf32, #p>>`.
  }];
  let parameters = (ins "::mlir::FlatSymbolRefAttr":$stage,
                        "::mlir::RankedTensorType":$value);
  let assemblyFormat = "`<` $stage `,` $value `>`";
}

#endif // GALV_TYPES_TD
