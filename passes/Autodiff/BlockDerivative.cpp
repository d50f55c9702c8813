//===- BlockDerivative.cpp - a block's forward and backward ---------------===//
//
// The derivative is built behind the forward's operations, in one function,
// where insertion gives it placements. Only then is it cut in two; what the
// backward part reads of the forward is what must be kept.
//
//===----------------------------------------------------------------------===//

#include "passes/Autodiff/BlockDerivative.h"
#include "lib/Analysis/Insertion.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace galv;

RankedTensorType galv::getCotangentType(RankedTensorType result) {
  Placement placement = *Placement::of(result);
  if (placement.partial.empty())
    return result;
  placement.partial.clear();
  placement.partialMax = false;
  return RankedTensorType::get(result.getShape(), result.getElementType(),
                               placement.getAttr());
}

namespace {
class Differentiation {
public:
  Differentiation(func::FuncOp block, bool recompute, Outliner &outliner)
      : block(block), recompute(recompute), outliner(outliner),
        builder(block.getContext()) {}
  FailureOr<BlockDerivative> run();

private:
  void makeJoint();
  void buildBackward();
  LogicalResult place();
  func::FuncOp cutBackward();
  func::FuncOp cutForward();

  void addCotangent(Value value, Value cotangent);
  bool isUse(Value value) {
    auto argument = dyn_cast<BlockArgument>(value);
    return argument && argument.getArgNumber() >= derivative.numActivations &&
           argument.getArgNumber() < block.getNumArguments();
  }
  Value getKeptSource(Value value);
  Value getInBackward(Value value, OpBuilder &at, Block *entry);
  BlockArgument keep(Value value, Block *entry);

  func::FuncOp block;
  bool recompute;
  Outliner &outliner;
  OpBuilder builder;
  BlockDerivative derivative;

  func::FuncOp joint;
  Block *body = nullptr;
  SmallVector<Operation *> forwardOps, backwardOps;
  SmallVector<Value> results; // of the block, in the joint function
  SmallVector<Value> given;   // their cotangents: arguments
  llvm::DenseSet<Value> active;
  llvm::DenseMap<Value, Value> cotangents;
  SmallVector<Value> backwardResults;

  IRMapping inBackward;
  SmallVector<Value> keptValues;
};
} // namespace

/// Copies the block, with arguments for its results' cotangents behind its own.
void Differentiation::makeJoint() {
  joint = block.clone();
  body = &joint.getBody().front();
  auto *terminator = body->getTerminator();
  results.assign(terminator->operand_begin(), terminator->operand_end());
  terminator->erase();
  for (Operation &op : *body)
    forwardOps.push_back(&op);
  for (unsigned i = 0; i < block.getNumArguments(); ++i)
    if (!block.getArgAttr(i, parameterAttrName))
      derivative.numActivations = i + 1;
  for (BlockArgument argument : body->getArguments())
    if (isa<FloatType>(
            cast<RankedTensorType>(argument.getType()).getElementType()))
      active.insert(argument);
  for (Operation *op : forwardOps)
    if (llvm::any_of(op->getOperands(),
                     [&](Value v) { return active.contains(v); }))
      active.insert(op->result_begin(), op->result_end());
  for (Value result : results) {
    auto type = cast<RankedTensorType>(result.getType());
    given.push_back(body->addArgument(getCotangentType(type), result.getLoc()));
    addCotangent(result, given.back());
  }
}

void Differentiation::addCotangent(Value value, Value cotangent) {
  if (!cotangent || !active.contains(value))
    return;
  auto [it, fresh] = cotangents.try_emplace(value, cotangent);
  if (!fresh)
    it->second = AddOp::create(builder, value.getLoc(), {it->second, cotangent})
                     .getResult();
}

/// In reverse order; a redistribution does not change the global value, so its
/// derivative is no operation.
void Differentiation::buildBackward() {
  builder.setInsertionPointToEnd(body);
  for (Operation *op : llvm::reverse(forwardOps)) {
    SmallVector<Value> incoming;
    for (Value result : op->getResults())
      incoming.push_back(cotangents.lookup(result));
    if (llvm::none_of(incoming, [](Value v) { return !!v; }))
      continue;
    if (isa<RedistributeOp>(op)) {
      addCotangent(op->getOperand(0), incoming.front());
      continue;
    }
    auto differentiable = dyn_cast<DerivativeOpInterface>(op);
    if (!differentiable)
      continue;
    SmallVector<bool> needed;
    for (Value operand : op->getOperands())
      needed.push_back(active.contains(operand));
    SmallVector<Value> made;
    differentiable.buildDerivative(builder, incoming, needed, made);
    for (auto [operand, cotangent] : llvm::zip_equal(op->getOperands(), made))
      addCotangent(operand, cotangent);
  }
  Operation *last = forwardOps.back();
  for (Operation *op = last->getNextNode(); op; op = op->getNextNode())
    backwardOps.push_back(op);
}

/// Gives the backward its placements and makes its results what their users
/// want: a cotangent its primal's type, a gradient its use's splits.
LogicalResult Differentiation::place() {
  MeshAttr mesh = Placement::of(body->getArgument(0).getType())->getMesh();
  Insertion insertion(mesh);
  SmallVector<BlockArgument> arguments(
      body->getArguments().take_front(block.getNumArguments()));
  for (BlockArgument argument : arguments) {
    Value cotangent = cotangents.lookup(argument);
    if (!cotangent)
      return joint.emitError()
             << "argument " << argument.getArgNumber() << " has no derivative";
    if (isUse(argument)) {
      insertion.markUse(argument);
      insertion.fixSplits(cotangent, *Placement::of(argument.getType()));
    }
  }
  for (Operation *op : backwardOps)
    if (failed(insertion.insert(op)))
      return failure();
  builder.setInsertionPointToEnd(body);
  for (BlockArgument argument : arguments) {
    Value cotangent = cotangents.lookup(argument);
    auto type = cast<RankedTensorType>(argument.getType());
    if (isUse(argument)) {
      // Its own partial axes stay: they are reduced on the way to rest.
      Placement wanted = *Placement::of(type);
      Placement made = *Placement::of(cotangent.getType());
      wanted.partial = made.partial;
      if (!made.sameSplits(wanted)) {
        FailureOr<RankedTensorType> placed =
            getPlacedType([&] { return joint.emitError(); }, type, wanted);
        if (failed(placed))
          return failure();
        type = *placed;
      } else {
        type = cast<RankedTensorType>(cotangent.getType());
      }
    }
    FailureOr<Value> moved = insertion.redistribute(builder, cotangent, type);
    if (failed(moved))
      return failure();
    backwardResults.push_back(*moved);
  }
  backwardOps.clear();
  for (Operation *op = forwardOps.back()->getNextNode(); op;
       op = op->getNextNode())
    backwardOps.push_back(op);
  return success();
}

/// Along a chain of redistributions the value with the fewest local bytes that
/// is not partial; the chain behind it is done again in the backward.
Value Differentiation::getKeptSource(Value value) {
  Value best;
  int64_t bestBytes = 0;
  for (Value at = value;;) {
    Operation *def = at.getDefiningOp();
    if (isUse(at) || isComputedAnywhere(def))
      return at; // not kept at all
    auto type = cast<RankedTensorType>(at.getType());
    if (Placement::of(type)->partial.empty()) {
      int64_t bytes = getLocalBytes(type);
      if (!best || bytes < bestBytes) {
        best = at;
        bestBytes = bytes;
      }
    }
    auto chain = dyn_cast_or_null<RedistributeOp>(def);
    if (!chain)
      break;
    at = chain.getInput();
  }
  return best ? best : value;
}

BlockArgument Differentiation::keep(Value value, Block *entry) {
  keptValues.push_back(value);
  return entry->insertArgument(results.size() + keptValues.size() - 1,
                               value.getType(), value.getLoc());
}

/// What stands for a forward value in the backward; made where it is first
/// needed.
Value Differentiation::getInBackward(Value value, OpBuilder &at, Block *entry) {
  if (Value there = inBackward.lookupOrNull(value))
    return there;
  Operation *def = value.getDefiningOp();
  Value source = value;
  bool again = isComputedAnywhere(def);
  if (!again && def) {
    if (recompute) {
      again = true;
    } else {
      source = getKeptSource(value);
      again = source != value;
    }
  }
  if (!again) {
    Value kept = keep(value, entry);
    inBackward.map(value, kept);
    return kept;
  }
  for (Value operand : def->getOperands())
    getInBackward(operand, at, entry);
  at.clone(*def, inBackward);
  return inBackward.lookup(value);
}

func::FuncOp Differentiation::cutBackward() {
  auto function = func::FuncOp::create(block.getLoc(),
                                       (block.getSymName() + "_backward").str(),
                                       builder.getFunctionType({}, {}));
  function.setPrivate();
  Block *entry = function.addEntryBlock();
  for (Value cotangent : given)
    inBackward.map(cotangent,
                   entry->addArgument(cotangent.getType(), cotangent.getLoc()));
  for (unsigned i = derivative.numActivations; i < block.getNumArguments(); ++i)
    inBackward.map(body->getArgument(i),
                   entry->addArgument(body->getArgument(i).getType(),
                                      body->getArgument(i).getLoc()));
  OpBuilder at(builder.getContext());
  at.setInsertionPointToEnd(entry);
  for (Operation *op : backwardOps) {
    for (Value operand : op->getOperands())
      getInBackward(operand, at, entry);
    at.clone(*op, inBackward);
  }
  SmallVector<Value> returned;
  for (Value value : backwardResults)
    returned.push_back(getInBackward(value, at, entry));
  func::ReturnOp::create(at, block.getLoc(), returned);
  function.setFunctionType(builder.getFunctionType(
      entry->getArgumentTypes(), ValueRange(returned).getTypes()));
  unsigned argument = results.size() + keptValues.size();
  for (unsigned i = derivative.numActivations; i < block.getNumArguments();
       ++i) {
    // A use that the backward does not read (a bias) is not brought there.
    bool reads = !entry->getArgument(argument).use_empty();
    derivative.backwardReads.push_back(reads);
    if (reads)
      function.setArgAttr(argument++, parameterAttrName,
                          block.getArgAttr(i, parameterAttrName));
    else
      (void)function.eraseArgument(argument);
  }
  return function;
}

/// The block with its kept values as further results.
func::FuncOp Differentiation::cutForward() {
  SmallVector<Value> returned = results;
  for (Value value : keptValues) {
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      derivative.kept.push_back({true, argument.getArgNumber()});
      continue;
    }
    auto *it = llvm::find(returned, value);
    derivative.kept.push_back(
        {false, static_cast<unsigned>(it - returned.begin())});
    if (it == returned.end())
      returned.push_back(value);
  }
  for (Operation *op : llvm::reverse(backwardOps))
    op->erase();
  body->eraseArguments(block.getNumArguments(), results.size());
  builder.setInsertionPointToEnd(body);
  func::ReturnOp::create(builder, block.getLoc(), returned);
  joint.setFunctionType(builder.getFunctionType(
      body->getArgumentTypes(), ValueRange(returned).getTypes()));
  joint.setSymName((block.getSymName() + "_forward").str());
  return joint;
}

FailureOr<BlockDerivative> Differentiation::run() {
  makeJoint();
  buildBackward();
  if (failed(place())) {
    joint.erase();
    return failure();
  }
  func::FuncOp backward = cutBackward();
  func::FuncOp forward = cutForward();
  derivative.backward = outliner.share(backward);
  derivative.forward = outliner.share(forward);
  return derivative;
}

FailureOr<BlockDerivative>
galv::differentiate(func::FuncOp block, bool recompute, Outliner &outliner) {
  return Differentiation(block, recompute, outliner).run();
}
