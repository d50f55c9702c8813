//===- DestinationPassing.cpp - functions that write where told -----------===//

#include "passes/Buffers/DestinationPassing.h"
#include "dialects/Rank/Rank.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace galv;

static MemRefType getBufferType(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  return MemRefType::get(tensor.getShape(), tensor.getElementType());
}

/// The operation's attributes in the order of its definition, without those
/// that say where it comes from.
static SmallVector<Attribute> getRunAttributes(Operation *op) {
  SmallVector<Attribute> attributes;
  for (StringRef name : op->getName().getAttributeNames())
    if (name != "operandSegmentSizes" && name != "resultSegmentSizes")
      if (Attribute attr = op->getAttr(name))
        attributes.push_back(attr);
  return attributes;
}

FailureOr<func::FuncOp> galv::passDestinations(func::FuncOp function) {
  OpBuilder builder(function);
  Block &old = function.getBody().front();
  auto back = cast<func::ReturnOp>(old.getTerminator());
  SmallVector<Type> types;
  for (Type type : function.getArgumentTypes())
    types.push_back(getBufferType(type));
  for (Type type : back.getOperandTypes())
    types.push_back(getBufferType(type));
  auto made =
      func::FuncOp::create(builder, function.getLoc(), function.getSymName(),
                           builder.getFunctionType(types, {}));
  made.setPrivate();
  Block *entry = made.addEntryBlock();
  builder.setInsertionPointToEnd(entry);
  IRMapping mapping;
  for (BlockArgument argument : old.getArguments())
    mapping.map(argument, entry->getArgument(argument.getArgNumber()));
  unsigned inputs = old.getNumArguments();
  // A result is made in place where it is no argument and returned once.
  llvm::DenseMap<Value, Value> places;
  SmallVector<std::pair<Value, Value>> copies;
  for (auto [i, value] : llvm::enumerate(back.getOperands())) {
    Value place = entry->getArgument(inputs + i);
    if (isa<BlockArgument>(value) || !places.try_emplace(value, place).second)
      copies.push_back({value, place});
  }
  for (Operation &op : old.without_terminator()) {
    SmallVector<Value> from;
    for (Value operand : op.getOperands())
      from.push_back(mapping.lookup(operand));
    rank::RunOp run;
    if (auto write = dyn_cast<rank::RunOp>(op)) {
      size_t into = write.getInto().size();
      run = rank::RunOp::create(builder, op.getLoc(), write.getFunction(),
                                ArrayRef(from).take_front(into),
                                ArrayRef(from).drop_front(into),
                                write.getSettings());
    } else {
      SmallVector<Value> into;
      for (Value result : op.getResults()) {
        Value place = places.lookup(result);
        if (!place)
          place = rank::LocalOp::create(builder, op.getLoc(),
                                        getBufferType(result.getType()),
                                        IntegerAttr());
        mapping.map(result, place);
        into.push_back(place);
      }
      run = rank::RunOp::create(builder, op.getLoc(),
                                op.getName().stripDialect(), into, from,
                                builder.getArrayAttr(getRunAttributes(&op)));
    }
    if (Attribute path = op.getDiscardableAttr(moduleAttrName))
      run->setDiscardableAttr(moduleAttrName, path);
  }
  for (auto [value, place] : copies)
    rank::RunOp::create(builder, back.getLoc(), "copy", place,
                        mapping.lookup(value), builder.getArrayAttr({}));
  func::ReturnOp::create(builder, back.getLoc());
  for (unsigned i = 0; i < inputs; ++i)
    if (DictionaryAttr attrs = function.getArgAttrDict(i))
      made.setArgAttrs(i, attrs);
  function.erase();
  return made;
}
