//===- StepDerivative.h - a whole step from its forward ---------*- C++ -*-===//

#ifndef GALV_PASSES_AUTODIFF_STEPDERIVATIVE_H
#define GALV_PASSES_AUTODIFF_STEPDERIVATIVE_H

#include "lib/Analysis/Insertion.h"
#include "mlir/IR/IRMapping.h"
#include "passes/Autodiff/BlockDerivative.h"
#include "passes/Autodiff/PhaseBuilder.h"
#include "llvm/ADT/MapVector.h"

namespace galv {

/// A parameter on one stage, in program order of its first use there.
struct ParameterState {
  ParameterOp op;
  int64_t stage = 0, block = 0;
  mlir::RankedTensorType useType;
  unsigned uses = 0, seen = 0; // calls that read it; gradients met so far
  mlir::Value use;             // of `begin`, on its stage; null for ZeRO-3
  mlir::Value gradient;        // of one microbatch, inside the backward
  mlir::Value accumulated;     // result of galv.microbatches
};

/// A call of the forward with what its backward needs.
struct CallRecord {
  CallOp call; // in the old step
  BlockDerivative derivative;
  llvm::SmallVector<mlir::Value> kept; // inside the new forward
};

class StepDerivative {
public:
  StepDerivative(StepOp step, mlir::SymbolTable &symbols, Outliner &outliner)
      : step(step), mesh(step.getMesh()), symbols(symbols), outliner(outliner),
        builder(step.getContext()), context(step.getContext()) {}
  mlir::LogicalResult run();

private:
  // Autodiff.cpp, BeginPhase.cpp, Microbatches.cpp, FinishPhase.cpp
  mlir::LogicalResult collect();
  void buildBegin();
  void buildRefresh();
  mlir::LogicalResult buildForward(int64_t stage);
  mlir::LogicalResult buildBackward(int64_t stage);
  mlir::LogicalResult addGradient(PhaseBuilder &phase, Insertion &insertion,
                                  ParameterState &state, mlir::Value gradient);
  mlir::LogicalResult buildMicrobatches();
  mlir::LogicalResult sendGradientsHome();
  mlir::LogicalResult buildFinish(int64_t stage);
  mlir::Value buildSeed(PhaseBuilder &phase);
  mlir::Value buildLoss(PhaseBuilder &phase, int64_t stage);

  template <typename Op>
  Op tag(Op op, int64_t block, llvm::StringRef action) {
    op->setDiscardableAttr(blockAttrName, builder.getI64IntegerAttr(block));
    op->setDiscardableAttr(actionAttrName, builder.getStringAttr(action));
    return op;
  }
  ParameterState &getState(llvm::StringRef name) {
    return states.find(name)->second;
  }
  mlir::RankedTensorType getScalar(Placement placement) {
    return mlir::RankedTensorType::get({}, elementType, placement.getAttr());
  }
  mlir::RankedTensorType getReplicatedScalar() {
    return getScalar(Placement::replicated(mesh, 0));
  }
  mlir::Location loc() { return step.getLoc(); }
  int64_t headBlock() { return step.getLayers() + 1; }

  StepOp step;
  MeshAttr mesh;
  mlir::SymbolTable &symbols;
  Outliner &outliner;
  mlir::OpBuilder builder;
  mlir::MLIRContext *context;
  mlir::Type elementType;

  llvm::SmallVector<StageOp> stages;
  llvm::SmallVector<PhaseOp> oldForwards;
  MicrobatchesOp oldMicrobatches;
  llvm::MapVector<llvm::StringRef, ParameterState> states;
  llvm::SmallVector<llvm::SmallVector<CallRecord>> records; // per stage
  llvm::SmallVector<std::unique_ptr<PhaseBuilder>> phases;
  /// Results of the old forward phases as they are in the new step.
  mlir::IRMapping outside;
  /// Cotangents of results of old forward phases, on their stage.
  llvm::DenseMap<mlir::Value, mlir::Value> cotangents;
  mlir::Value seed, loss;
  llvm::DenseMap<llvm::StringRef, mlir::Value>
      sentHome; // by copy's name, on its home
};

} // namespace galv

#endif // GALV_PASSES_AUTODIFF_STEPDERIVATIVE_H
