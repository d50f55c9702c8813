//===- VerifyContract.cpp - what a phase leaves true ----------------------===//

#include "dialects/Rank/Rank.h"
#include "lib/Analysis/PipelineOrder.h"
#include "passes/Passes.h"
#include "passes/Pipelines.h"

namespace galv {
#define GEN_PASS_DEF_VERIFYCONTRACTPASS
#include "passes/Passes.h.inc"
} // namespace galv

using namespace mlir;
using namespace galv;

namespace {
struct VerifyContract : galv::impl::VerifyContractPassBase<VerifyContract> {
  using VerifyContractPassBase::VerifyContractPassBase;

  void runOnOperation() override {
    // One walk: asking for each parameter would be quadratic.
    SymbolTable table(getOperation());
    symbols = &table;
    used.clear();
    if (auto uses = SymbolTable::getSymbolUses(&getOperation().getBodyRegion()))
      for (SymbolTable::SymbolUse use : *uses)
        used.insert(use.getSymbolRef().getRootReference());
    WalkResult walked = getOperation().walk([&](Operation *op) {
      return WalkResult(failed(verifyTypes(op)) || failed(verifyOperation(op))
                            ? WalkResult::interrupt()
                            : WalkResult::advance());
    });
    if (walked.wasInterrupted() || failed(verifyModule()))
      signalPassFailure();
  }

private:
  llvm::DenseSet<Attribute> used; // symbols that something refers to
  SymbolTable *symbols = nullptr; // while the pass runs

  bool after(StringRef name) {
    ArrayRef<llvm::StringLiteral> order = getPhaseNames();
    return llvm::find(order, phase.getValue()) >= llvm::find(order, name);
  }
  InFlightDiagnostic broken(Operation *op) {
    return op->emitError() << "after phase " << phase << ": "
                           << op->getName().getStringRef() << ' ';
  }

  /// Every value is placed between tensor-parallel and localise, and none is
  /// after it.
  LogicalResult verifyTypes(Operation *op) {
    SmallVector<Type> types(op->getResultTypes());
    for (Region &region : op->getRegions())
      for (Block &block : region)
        llvm::append_range(types, block.getArgumentTypes());
    bool inModel = op->getParentOfType<ModelOp>() ||
                   op->getParentOfType<func::FuncOp>() ||
                   op->getParentOfType<StepOp>();
    for (Type type : types) {
      if (failed(verifyPlacedType([&] { return broken(op); }, type)))
        return failure();
      auto on = dyn_cast<OnType>(type);
      auto tensor = on ? on.getValue() : dyn_cast<RankedTensorType>(type);
      if (!tensor || !inModel)
        continue;
      bool placed = Placement::of(tensor).has_value();
      if (after("localise") ? placed : after("tensor-parallel") && !placed)
        return broken(op) << (placed ? "still has a placement: "
                                     : "has no placement: ")
                          << type;
    }
    return success();
  }

  LogicalResult verifyOperation(Operation *op) {
    if (auto model = dyn_cast<ModelOp>(op)) {
      if (after("groups") && (!model.getMesh() || !model.getBlocks()))
        return broken(op) << "has no mesh or no blocks";
      if (after("pipeline"))
        return broken(op) << "is not staged";
    }
    if (auto microbatches = dyn_cast<MicrobatchesOp>(op))
      if (after("sequential"))
        for (Operation &inner : microbatches.getBody().front())
          if (isa<FactorRuleOpInterface>(inner))
            return broken(&inner) << "stands between blocks";
    if (isa<UseOp>(op) && after("autodiff"))
      return broken(op) << "is not materialized";
    if (auto parameter = dyn_cast<ParameterOp>(op)) {
      bool isUsed = used.contains(parameter.getSymNameAttr());
      if (isUsed && after("pipeline") && !parameter.getHome())
        return broken(op) << "has no home";
      if (isUsed && after("shard") && !parameter.getRest())
        return broken(op) << "has no rest";
    }
    if (auto buffer = dyn_cast<rank::BufferOp>(op))
      if (buffer.getParameter()) {
        auto parameter = symbols->lookup<ParameterOp>(*buffer.getParameter());
        if (!parameter || !parameter.getRest() ||
            !Placement::of(*parameter.getRest()))
          return broken(op) << "is for @" << *buffer.getParameter()
                            << (parameter ? ", which has no placed rest"
                                          : ", which is not a parameter");
      }
    if (after("buffers"))
      if (isa<rank::BufferOp, rank::LocalOp>(op) && !op->getAttr("offset") &&
          !op->use_empty())
        return broken(op) << "has no offset";
    return success();
  }

  LogicalResult verifyModule() {
    ModuleOp module = getOperation();
    bool placed = module->hasAttr(GalvDialect::placedAttrName);
    if (after("redistribute") && !after("localise") && !placed)
      return broken(module) << "does not say " << GalvDialect::placedAttrName;
    if (!after("schedule"))
      return success();
    for (auto program : module.getOps<rank::ProgramOp>())
      for (auto stage : program.getOps<rank::StageOp>())
        if (stage.getOrder().empty())
          return broken(stage) << "has no order";
    for (auto program : module.getOps<rank::ProgramOp>())
      if (failed(verifyOrder(program)))
        return failure();
    return success();
  }

  /// All stages run together to their end: every send meets its receive.
  LogicalResult verifyOrder(rank::ProgramOp program) {
    SmallVector<StageOrder> orders;
    for (auto stage : program.getOps<rank::StageOp>()) {
      StageOrder &order = orders.emplace_back();
      order.name = stage.getSymName().str();
      for (auto transfer : stage.getOps<rank::TransferOp>())
        order.transfers.push_back({transfer.getSend(),
                                   static_cast<int64_t>(transfer.getPeer()),
                                   static_cast<int64_t>(transfer.getTag())});
      for (auto action : stage.getOrder().getAsRange<rank::ActionAttr>())
        order.actions.push_back(
            {action.getRun(), SmallVector<int32_t, 2>(action.getNumbers()),
             SmallVector<int32_t, 2>(action.getMicrobatches())});
    }
    for (const StageOrder &order : orders)
      for (const TransferSide &side : order.transfers)
        if (side.peer < 0 || side.peer >= static_cast<int64_t>(orders.size()))
          return broken(program)
                 << "has a transfer of " << order.name << " with stage "
                 << side.peer << " of " << orders.size();
    return simulatePipeline(orders, [&] { return broken(program); });
  }
};
} // namespace
