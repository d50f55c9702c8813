//===- Outline.cpp - functions that blocks share --------------------------===//

#include "lib/Analysis/Outline.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace galv;

std::string galv::abstractLayer(StringRef path, StringRef prefix,
                                int64_t layer) {
  std::string head = (prefix + "." + Twine(layer)).str();
  StringRef rest = path;
  if (!rest.consume_front(head) || (!rest.empty() && rest.front() != '.'))
    return path.str();
  return (prefix + ".{layer}" + rest).str();
}

/// The function's text without its name: equal functions have equal text.
static std::string getKey(func::FuncOp function) {
  std::string text;
  llvm::raw_string_ostream os(text);
  StringAttr name = function.getSymNameAttr();
  function.setSymName("");
  function->print(os, OpPrintingFlags().assumeVerified().useLocalScope());
  function.setSymNameAttr(name);
  return text;
}

Outliner::Outliner(ModuleOp module) : module(module), symbols(module) {
  for (auto function : module.getOps<func::FuncOp>())
    shared.try_emplace(getKey(function), function);
}

func::FuncOp Outliner::share(func::FuncOp function) {
  auto [it, fresh] = shared.try_emplace(getKey(function), function);
  if (!fresh) {
    function.erase();
    return it->second;
  }
  symbols.insert(function);
  return function;
}

CallOp Outliner::outline(const OutlineRequest &request) {
  llvm::SmallPtrSet<Operation *, 32> inside(request.ops.begin(),
                                            request.ops.end());
  llvm::SetVector<Value> activations, uses;
  SmallVector<Value> results;
  for (Operation *op : request.ops) {
    for (Value operand : op->getOperands()) {
      Operation *def = operand.getDefiningOp();
      if (def && inside.contains(def))
        continue;
      (isa_and_nonnull<UseOp>(def) ? uses : activations).insert(operand);
    }
    for (Value result : op->getResults())
      if (llvm::any_of(result.getUsers(),
                       [&](Operation *user) { return !inside.contains(user); }))
        results.push_back(result);
  }
  SmallVector<Value> inputs(activations.begin(), activations.end());
  inputs.append(uses.begin(), uses.end());

  OpBuilder builder(request.ops.front()->getContext());
  Location loc = request.ops.front()->getLoc();
  auto abstract = [&](StringRef path) {
    return request.layer
               ? abstractLayer(path, request.layerPrefix, *request.layer)
               : path.str();
  };
  auto function = func::FuncOp::create(
      loc, request.name,
      builder.getFunctionType(ValueRange(inputs).getTypes(),
                              ValueRange(results).getTypes()));
  function.setPrivate();
  Block *entry = function.addEntryBlock();
  IRMapping mapping;
  for (auto [i, input] : llvm::enumerate(inputs)) {
    mapping.map(input, entry->getArgument(i));
    if (auto use = input.getDefiningOp<UseOp>())
      function.setArgAttr(i, parameterAttrName,
                          builder.getStringAttr(abstract(use.getParameter())));
  }
  builder.setInsertionPointToStart(entry);
  for (Operation *op : request.ops) {
    Operation *clone = builder.clone(*op, mapping);
    clone->removeDiscardableAttr(blockAttrName);
    if (auto path = clone->getAttrOfType<StringAttr>(moduleAttrName))
      clone->setDiscardableAttr(
          moduleAttrName, builder.getStringAttr(abstract(path.getValue())));
  }
  SmallVector<Value> returned;
  for (Value result : results)
    returned.push_back(mapping.lookup(result));
  func::ReturnOp::create(builder, loc, returned);

  builder.setInsertionPointAfter(request.ops.back());
  func::FuncOp callee = share(function);
  auto call = CallOp::create(
      builder, loc, ValueRange(results).getTypes(), callee.getSymName(), inputs,
      request.block,
      request.layer ? builder.getI64IntegerAttr(*request.layer) : IntegerAttr(),
      /*recompute=*/false);
  for (auto [result, value] : llvm::zip_equal(results, call.getResults()))
    result.replaceUsesWithIf(value, [&](OpOperand &operand) {
      return !inside.contains(operand.getOwner());
    });
  for (Operation *op : llvm::reverse(request.ops))
    op->erase();
  return call;
}
