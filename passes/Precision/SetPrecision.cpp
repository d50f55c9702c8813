//===- SetPrecision.cpp - the types of the run ----------------------------===//

#include "mlir/IR/AttrTypeSubElements.h"
#include "passes/Passes.h"

namespace galv {
#define GEN_PASS_DEF_SETPRECISIONPASS
#include "passes/Passes.h.inc"
} // namespace galv

using namespace mlir;
using namespace galv;

namespace {
struct SetPrecision : galv::impl::SetPrecisionPassBase<SetPrecision> {
  using SetPrecisionPassBase::SetPrecisionPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (precision != "fp32" && precision != "fp64") {
      module.emitError() << "precision '" << precision
                         << "' is not fp32 or fp64";
      return signalPassFailure();
    }
    Type type = precision == "fp64" ? Type(Float64Type::get(&getContext()))
                                    : Type(Float32Type::get(&getContext()));
    AttrTypeReplacer replacer;
    replacer.addReplacement([&](RankedTensorType tensor) -> Type {
      if (!isa<FloatType>(tensor.getElementType()))
        return tensor;
      return RankedTensorType::get(tensor.getShape(), type,
                                   tensor.getEncoding());
    });
    replacer.recursivelyReplaceElementsIn(module, /*replaceAttrs=*/true,
                                          /*replaceLocs=*/false,
                                          /*replaceTypes=*/true);
  }
};
} // namespace
