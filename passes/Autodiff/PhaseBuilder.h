//===- PhaseBuilder.h - a phase whose operands grow -------------*- C++ -*-===//

#ifndef GALV_PASSES_AUTODIFF_PHASEBUILDER_H
#define GALV_PASSES_AUTODIFF_PHASEBUILDER_H

#include "dialects/Galv/Galv.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/MapVector.h"

namespace galv {

/// Builds the body of a `galv.phase` before its operands and results are known.
class PhaseBuilder {
public:
  PhaseBuilder(mlir::MLIRContext *context, StageOp stage, llvm::StringRef name,
               mlir::Location loc)
      : stage(mlir::FlatSymbolRefAttr::get(stage.getSymNameAttr())),
        name(name.str()), loc(loc), body(new mlir::Block), builder(context) {
    builder.setInsertionPointToEnd(body);
  }

  /// The tensor inside of a value on this stage.
  mlir::Value getArgument(mlir::Value value) {
    auto [it, fresh] = arguments.try_emplace(value);
    if (fresh)
      it->second = body->addArgument(
          mlir::cast<OnType>(value.getType()).getValue(), value.getLoc());
    return it->second;
  }
  /// Makes a tensor a result of the phase; the same one is a result once.
  unsigned addResult(mlir::Value value) {
    auto [it, fresh] = results.try_emplace(value, results.size());
    return it->second;
  }
  mlir::OpBuilder &inside() { return builder; }
  bool empty() const { return body->empty() && results.empty(); }

  /// Creates the phase at `outside`'s point.
  PhaseOp create(mlir::OpBuilder &outside) {
    llvm::SmallVector<mlir::Value> operands, yielded;
    llvm::SmallVector<mlir::Type> types;
    for (auto &[value, argument] : arguments)
      operands.push_back(value);
    for (auto &[value, index] : results) {
      yielded.push_back(value);
      types.push_back(
          OnType::get(builder.getContext(), stage,
                      mlir::cast<mlir::RankedTensorType>(value.getType())));
    }
    YieldOp::create(builder, loc, yielded);
    phase =
        PhaseOp::create(outside, loc, types, name, stage.getValue(), operands);
    phase.getBody().push_back(body);
    return phase;
  }
  mlir::Value getResult(mlir::Value value) {
    return phase.getResult(results.find(value)->second);
  }

private:
  mlir::FlatSymbolRefAttr stage;
  std::string name;
  mlir::Location loc;
  mlir::Block *body;
  mlir::OpBuilder builder;
  llvm::MapVector<mlir::Value, mlir::Value> arguments;
  llvm::MapVector<mlir::Value, unsigned> results;
  PhaseOp phase;
};

} // namespace galv

#endif // GALV_PASSES_AUTODIFF_PHASEBUILDER_H
