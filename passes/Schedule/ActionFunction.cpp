//===- ActionFunction.cpp - functions of what stands between blocks -------===//

#include "passes/Schedule/ActionFunction.h"
#include "dialects/Rank/Rank.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace galv;

std::string galv::getBlockKind(int64_t block, int64_t layers) {
  return block == 0 ? "embedding" : block <= layers ? "layer" : "head";
}

namespace {
/// Builds the function's body; arguments come as operations ask for them.
class ActionBuilder {
public:
  ActionBuilder(ArrayRef<Operation *> group, StringRef name)
      : group(group), inside(group.begin(), group.end()),
        builder(group.front()->getContext()) {
    result.function = func::FuncOp::create(group.front()->getLoc(), name,
                                           builder.getFunctionType({}, {}));
    result.function.setPrivate();
    entry = result.function.addEntryBlock();
    builder.setInsertionPointToEnd(entry);
  }

  ActionFunction build(StringRef layerPrefix, std::optional<int64_t> layer) {
    for (Operation *op : group) {
      for (Value operand : op->getOperands())
        addValue(operand);
      if (!buildStorageAccess(op)) {
        Operation *clone = builder.clone(*op, mapping);
        clone->removeDiscardableAttr(blockAttrName);
        auto path = clone->getAttrOfType<StringAttr>(moduleAttrName);
        if (path && layer)
          clone->setDiscardableAttr(moduleAttrName,
                                    builder.getStringAttr(abstractLayer(
                                        path.getValue(), layerPrefix, *layer)));
      }
      for (Value value : op->getResults())
        if (llvm::any_of(value.getUsers(), [&](Operation *user) {
              return !inside.contains(user);
            }))
          result.results.push_back(value);
    }
    SmallVector<Value> returned;
    for (Value value : result.results)
      returned.push_back(mapping.lookup(value));
    func::ReturnOp::create(builder, group.front()->getLoc(), returned);
    result.function.setFunctionType(builder.getFunctionType(
        entry->getArgumentTypes(), ValueRange(returned).getTypes()));
    return std::move(result);
  }

private:
  Value addInput(ActionInput input, Type type) {
    result.inputs.push_back(std::move(input));
    return entry->addArgument(type, group.front()->getLoc());
  }
  void addValue(Value value) {
    Operation *def = value.getDefiningOp();
    if (mapping.contains(value) || (def && inside.contains(def)))
      return;
    ActionInput input;
    input.tensor = value;
    mapping.map(value, addInput(input, value.getType()));
  }
  Value addStorage(StringRef parameter, StringRef part, Type type,
                   Value gradient = {}) {
    ActionInput input;
    input.kind = ActionInput::storage;
    input.name = parameter.str();
    input.part = part;
    input.gradient = gradient;
    return addInput(input, type);
  }
  void run(StringRef function, ValueRange into, ValueRange from,
           ArrayRef<Attribute> attributes = {}) {
    rank::RunOp::create(builder, group.front()->getLoc(), function, into, from,
                        builder.getArrayAttr(attributes));
  }
  /// Operations with effects on parameters and reports.
  bool buildStorageAccess(Operation *op) {
    if (auto update = dyn_cast<UpdateOp>(op)) {
      Value gradient = update.getGradient();
      SmallVector<Value> into;
      for (StringRef part : {"rest", "exp_avg", "exp_avg_sq"})
        into.push_back(addStorage(update.getParameter(), part,
                                  gradient.getType(), gradient));
      run("adamw", into,
          {mapping.lookup(gradient), mapping.lookup(update.getCoefficient())},
          {update.getDecayAttr()});
      return true;
    }
    if (auto refresh = dyn_cast<RefreshOp>(op)) {
      Value rest = addStorage(refresh.getParameter(), "rest",
                              refresh.getValue().getType());
      run("copy", rest, mapping.lookup(refresh.getValue()));
      return true;
    }
    if (auto report = dyn_cast<ReportOp>(op)) {
      ActionInput input;
      input.kind = ActionInput::report;
      input.name = report.getName().str();
      input.type = report.getValue().getType();
      Value target = addInput(input, report.getValue().getType());
      run("copy", target, mapping.lookup(report.getValue()));
      return true;
    }
    return false;
  }

  ArrayRef<Operation *> group;
  llvm::SmallPtrSet<Operation *, 16> inside;
  OpBuilder builder;
  Block *entry = nullptr;
  IRMapping mapping;
  ActionFunction result;
};
} // namespace

ActionFunction galv::makeActionFunction(Outliner &outliner,
                                        ArrayRef<Operation *> group,
                                        StringRef name, StringRef layerPrefix,
                                        std::optional<int64_t> layer) {
  ActionFunction made = ActionBuilder(group, name).build(layerPrefix, layer);
  made.function = outliner.share(made.function);
  return made;
}

func::FuncOp galv::makeElementwiseFunction(Outliner &outliner, StringRef name,
                                           StringRef run, ValueRange into,
                                           ValueRange from) {
  Location loc = into.front().getLoc();
  OpBuilder builder(into.front().getContext());
  SmallVector<Type> types;
  auto addTypes = [&](ValueRange values) {
    for (Value value : values) {
      auto type = cast<MemRefType>(value.getType());
      types.push_back(
          RankedTensorType::get(type.getShape(), type.getElementType()));
    }
  };
  addTypes(into);
  addTypes(from);
  auto function =
      func::FuncOp::create(loc, name, builder.getFunctionType(types, {}));
  function.setPrivate();
  Block *entry = function.addEntryBlock();
  builder.setInsertionPointToEnd(entry);
  for (size_t i = 0; i < into.size(); ++i)
    rank::RunOp::create(builder, loc, run, ValueRange{entry->getArgument(i)},
                        from.empty()
                            ? ValueRange()
                            : ValueRange{entry->getArgument(into.size() + i)},
                        builder.getArrayAttr({}));
  func::ReturnOp::create(builder, loc);
  return outliner.share(function);
}
