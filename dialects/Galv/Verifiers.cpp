//===- Verifiers.cpp - constraints of the program operations --------------===//

#include "dialects/Galv/Galv.h"
#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace galv;

/// The first time axis in a type.
static std::optional<StringRef> findTimeAxis(Type type) {
  std::optional<Placement> placement = Placement::of(type);
  if (!placement)
    return std::nullopt;
  MeshAttr mesh = placement->getMesh();
  for (unsigned axis = mesh.getSpaceAxes(); axis < mesh.getNumAxes(); ++axis)
    if (placement->isSplitOver(axis) || placement->isPartialOver(axis))
      return mesh.getName(axis);
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// ParameterOp
//===----------------------------------------------------------------------===//

RankedTensorType ParameterOp::getTensorType() {
  return cast<RankedTensorType>(getType());
}

RankedTensorType ParameterOp::getRestType() {
  return getRest() ? dyn_cast<RankedTensorType>(*getRest())
                   : RankedTensorType();
}

LogicalResult ParameterOp::verify() {
  auto type = dyn_cast<RankedTensorType>(getType());
  if (!type || type.getRank() < 1 || type.getRank() > 2)
    return emitOpError("type ")
           << getType() << " is not a tensor of one or two dimensions";
  if (static_cast<int64_t>(getDimensions().size()) != type.getRank())
    return emitOpError() << "names " << getDimensions().size()
                         << " dimensions of " << type;
  CheckpointAttr view = getCheckpoint();
  if (view.getShape().size() != view.getOffset().size() ||
      static_cast<int64_t>(view.getShape().size()) != type.getRank())
    return emitOpError() << "checkpoint " << view << " and " << type
                         << " differ in rank";
  if (view.getTransposed() && type.getRank() != 2)
    return emitOpError() << "checkpoint " << view << " is transposed, but "
                         << type << " is a vector";
  for (int64_t i = 0; i < type.getRank(); ++i) {
    int64_t size =
        type.getDimSize(view.getTransposed() ? type.getRank() - 1 - i : i);
    if (view.getOffset()[i] < 0 ||
        view.getOffset()[i] + size > view.getShape()[i])
      return emitOpError() << "rows " << view.getOffset()[i] << " to "
                           << view.getOffset()[i] + size
                           << " do not lie within dimension " << i << " of "
                           << view;
  }
  if (getRest() && !getRestType())
    return emitOpError() << "rest " << *getRest() << " is not a tensor";
  if (static_cast<int64_t>(getZero()) < 0 || getZero() > 3)
    return emitOpError() << "zero is " << static_cast<int64_t>(getZero())
                         << ", not a stage from 0 to 3";
  if (RankedTensorType rest = getRestType()) {
    if (failed(verifyPlacedType([&] { return emitOpError(); }, rest)))
      return failure();
    if (rest.getEncoding() && !Placement::of(rest))
      return emitOpError() << "rest " << rest << " has no placement but "
                           << rest.getEncoding();
    if (rest.getShape() != type.getShape())
      return emitOpError() << "rest " << rest << " has another shape than "
                           << type;
    std::optional<Placement> placement = Placement::of(rest);
    if (placement && !placement->partial.empty())
      return emitOpError() << "rest is a partial sum: " << describe(*placement);
    if (std::optional<StringRef> axis = findTimeAxis(rest))
      return emitOpError() << "rest is split over time axis '" << *axis << "'";
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Model and microbatches
//===----------------------------------------------------------------------===//

/// What the strategy wrote: a strategy for the embedding, each layer and the
/// head, on axes of the mesh and stages that are there.
static LogicalResult verifyStrategy(Operation *op, MeshAttr mesh,
                                    ArrayAttr blocks, int64_t layers,
                                    int64_t stages, StringRef schedule) {
  if (static_cast<int64_t>(blocks.size()) != layers + 2)
    return op->emitOpError("has ")
           << blocks.size() << " block strategies for " << layers
           << " layers, an embedding and a head";
  if (schedule != "gpipe" && schedule != "1f1b")
    return op->emitOpError("schedule \"")
           << schedule << "\" is not gpipe or 1f1b";
  WalkResult walked = op->walk([&](Operation *inner) {
    auto block = inner->getAttrOfType<IntegerAttr>(blockAttrName);
    if (!block || (block.getInt() >= 0 && block.getInt() <= layers + 1))
      return WalkResult::advance();
    inner->emitOpError("belongs to block ")
        << block.getInt() << ", the last one is " << layers + 1;
    return WalkResult::interrupt();
  });
  if (walked.wasInterrupted())
    return failure();
  for (auto [i, attr] : llvm::enumerate(blocks)) {
    auto strategy = dyn_cast<BlockStrategyAttr>(attr);
    if (!strategy)
      return op->emitOpError("block ")
             << i << " has " << attr << ", which is no strategy";
    if (strategy.getStage() < 0 || strategy.getStage() >= stages)
      return op->emitOpError("block ")
             << i << " is on stage " << strategy.getStage() << " of " << stages;
    for (ArrayRef<int32_t> axes : {strategy.getData(), strategy.getTensor()})
      for (int32_t axis : axes)
        if (axis < 0 || axis >= static_cast<int32_t>(mesh.getSpaceAxes()))
          return op->emitOpError("block ")
                 << i << " is split over axis number " << axis
                 << ", which mesh " << mesh << " lacks";
  }
  return success();
}

LogicalResult ModelOp::verify() {
  Block &body = getBody().front();
  if (body.empty() || !isa<YieldOp>(body.back()))
    return emitOpError("does not end in galv.yield");
  if (!getMesh())
    return success();
  if (!getBlocks() || !getStages() || !getMicrobatches() || !getSchedule())
    return emitOpError("has a mesh, but not all of blocks, stages, "
                       "microbatches and schedule");
  return verifyStrategy(*this, *getMesh(), *getBlocks(), getLayers(),
                        *getStages(), *getSchedule());
}

LogicalResult StepOp::verify() {
  if (failed(verifyStrategy(*this, getMesh(), getBlocks(), getLayers(),
                            getStages(), getSchedule())))
    return failure();
  for (Operation &op : getBody().front())
    if (!isa<PhaseOp, TransferOp, MicrobatchesOp>(op))
      return op.emitOpError("stands in a step outside of its phases");
  return success();
}

LogicalResult MicrobatchesOp::verify() {
  auto accumulate = dyn_cast<AccumulateOp>(getBody().front().getTerminator());
  if (!accumulate)
    return emitOpError("does not end in galv.accumulate");
  if (accumulate.getNumOperands() != getNumResults())
    return emitOpError() << "has " << getNumResults() << " results, but "
                         << accumulate.getNumOperands()
                         << " values are accumulated";
  for (auto [i, value] : llvm::enumerate(accumulate.getValues())) {
    Type from = value.getType(), to = getResult(i).getType();
    auto on = dyn_cast<OnType>(from);
    Type inner = on ? Type(on.getValue()) : from;
    std::optional<Placement> placement = Placement::of(inner);
    Type wanted = from;
    if (placement) {
      if (placement->partialMax)
        return accumulate.emitOpError()
               << "value " << i << " is no sum: " << describe(*placement);
      for (size_t d = 0; d < placement->dims.size(); ++d)
        for (int32_t axis : placement->dims[d].axes)
          if (placement->isTime(axis))
            return accumulate.emitOpError()
                   << "value " << i << " is split over time axis '"
                   << placement->getMesh().getName(axis)
                   << "', which only a sum can leave: " << describe(*placement);
      bool time = false;
      for (int32_t axis : Axes(placement->partial))
        if (placement->isTime(axis)) {
          placement->removePartial(axis);
          time = true;
        }
      if (!time && placement->getMesh().getSpaceAxes() !=
                       placement->getMesh().getNumAxes())
        return accumulate.emitOpError()
               << "value " << i
               << " is not a partial sum over the microbatches: "
               << describe(*placement);
      auto tensor = cast<RankedTensorType>(inner);
      Type reduced = RankedTensorType::get(
          tensor.getShape(), tensor.getElementType(), placement->getAttr());
      wanted = on ? OnType::get(getContext(), on.getStage(),
                                cast<RankedTensorType>(reduced))
                  : reduced;
    }
    if (to != wanted)
      return emitOpError() << "result " << i << " has type " << to
                           << ", accumulation gives " << wanted;
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

LogicalResult CallOp::verifySymbolUses(SymbolTableCollection &tables) {
  auto function = tables.lookupNearestSymbolFrom<FunctionOpInterface>(
      *this, getCalleeAttr());
  if (!function)
    return emitOpError() << "calls @" << getCallee()
                         << ", which is not a function";
  auto check = [&](StringRef what, TypeRange mine,
                   ArrayRef<Type> theirs) -> LogicalResult {
    if (mine.size() != theirs.size()) {
      InFlightDiagnostic diag = emitOpError() << "has " << mine.size() << ' '
                                              << what << "s, @" << getCallee()
                                              << " has " << theirs.size();
      diag.attachNote(function.getLoc()) << "declared here";
      return diag;
    }
    for (auto [i, pair] : llvm::enumerate(llvm::zip_equal(mine, theirs)))
      if (std::get<0>(pair) != std::get<1>(pair)) {
        InFlightDiagnostic diag = emitOpError()
                                  << what << ' ' << i << " has type "
                                  << std::get<0>(pair) << ", @" << getCallee()
                                  << " has " << std::get<1>(pair);
        diag.attachNote(function.getLoc()) << "declared here";
        return diag;
      }
    return success();
  };
  if (failed(check("operand", getOperandTypes(), function.getArgumentTypes())))
    return failure();
  return check("result", getResultTypes(), function.getResultTypes());
}

//===----------------------------------------------------------------------===//
// Redistribution
//===----------------------------------------------------------------------===//

/// What `redistribute` and `reduce` share.
static LogicalResult verifyRedistribution(Operation *op, bool mayNarrow) {
  auto from = cast<RankedTensorType>(op->getOperand(0).getType());
  auto to = cast<RankedTensorType>(op->getResult(0).getType());
  auto emitError = [&] { return op->emitOpError(); };
  if (failed(verifyPlacedType(emitError, from)) ||
      failed(verifyPlacedType(emitError, to)))
    return failure();
  Type before = from.getElementType(), after = to.getElementType();
  bool narrows = mayNarrow && isa<FloatType>(before) && isa<FloatType>(after) &&
                 getElementBytes(after) < getElementBytes(before);
  if (from.getShape() != to.getShape() || (before != after && !narrows))
    return op->emitOpError("changes the tensor: ") << from << " to " << to;
  std::optional<Placement> a = Placement::of(from), b = Placement::of(to);
  if (!a || !b)
    return op->emitOpError("goes between placements, not from ")
           << from << " to " << to;
  if (a->mesh != b->mesh)
    return op->emitOpError("goes from mesh ")
           << a->mesh << " to mesh " << b->mesh;
  MeshAttr mesh = a->getMesh();
  for (unsigned axis = mesh.getSpaceAxes(); axis < mesh.getNumAxes(); ++axis) {
    bool stays = a->isPartialOver(axis) ? b->isPartialOver(axis) : true;
    // What is major to it stays too: other axes there would change which rows
    // are a microbatch's.
    for (auto [before, after] : llvm::zip_equal(a->dims, b->dims)) {
      size_t place = llvm::find(before.axes, axis) - before.axes.begin();
      if (place < before.axes.size() &&
          ArrayRef(before.axes).take_front(place + 1) !=
              ArrayRef(after.axes).take_front(place + 1))
        stays = false;
    }
    if (!stays)
      return op->emitOpError("removes or moves time axis '")
             << mesh.getName(axis) << "': " << describe(*a) << " to "
             << describe(*b);
  }
  if (b->partialMax && !(a->partialMax && a->partial == b->partial))
    return op->emitOpError("makes a partial maximum of ")
           << describe(*a) << ": " << describe(*b);
  if (a->partialMax && !b->partialMax)
    for (int32_t axis : b->partial)
      if (a->isPartialOver(axis))
        return op->emitOpError(
                   "makes a partial sum of a partial maximum over '")
               << mesh.getName(axis) << "'";
  return success();
}

LogicalResult RedistributeOp::verify() {
  return verifyRedistribution(*this, false);
}

LogicalResult ReduceOp::verify() { return verifyRedistribution(*this, true); }

OpFoldResult RedistributeOp::fold(FoldAdaptor) {
  return getInput().getType() == getResult().getType() ? getInput() : Value();
}

//===----------------------------------------------------------------------===//
// Stages
//===----------------------------------------------------------------------===//

LogicalResult TransferOp::verify() {
  OnType from = getInput().getType(), to = getResult().getType();
  if (from.getStage() == to.getStage())
    return emitOpError() << "stays on stage " << from.getStage();
  if (from.getValue() != to.getValue())
    return emitOpError() << "sends " << from.getValue() << ", but receives "
                         << to.getValue();
  std::optional<Placement> placement = Placement::of(from.getValue());
  if (placement && !placement->partial.empty())
    return emitOpError() << "sends a partial sum: " << describe(*placement);
  return verifyPlacedType([&] { return emitOpError(); }, from);
}

ParseResult PhaseOp::parse(OpAsmParser &parser, OperationState &state) {
  StringAttr name;
  FlatSymbolRefAttr stage;
  SmallVector<OpAsmParser::Argument> arguments;
  SmallVector<OpAsmParser::UnresolvedOperand> operands;
  SmallVector<Type> operandTypes, resultTypes;
  if (parser.parseAttribute(name, "name", state.attributes) ||
      parser.parseKeyword("on") ||
      parser.parseAttribute(stage, "stage", state.attributes))
    return failure();
  auto parseBinding = [&]() -> ParseResult {
    OnType type;
    if (parser.parseArgument(arguments.emplace_back()) || parser.parseEqual() ||
        parser.parseOperand(operands.emplace_back()) ||
        parser.parseColonType(type))
      return failure();
    operandTypes.push_back(type);
    arguments.back().type = type.getValue();
    return success();
  };
  if (parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Paren,
                                     parseBinding) ||
      parser.parseOptionalArrowTypeList(resultTypes) ||
      parser.parseOptionalAttrDictWithKeyword(state.attributes) ||
      parser.resolveOperands(operands, operandTypes, parser.getNameLoc(),
                             state.operands) ||
      parser.parseRegion(*state.addRegion(), arguments))
    return failure();
  state.addTypes(resultTypes);
  return success();
}

void PhaseOp::print(OpAsmPrinter &printer) {
  printer << ' ';
  printer.printAttribute(getNameAttr());
  printer << " on ";
  printer.printAttribute(getStageAttr());
  printer << '(';
  llvm::interleaveComma(
      llvm::zip_equal(getBody().getArguments(), getOperands()), printer,
      [&](auto pair) {
        auto [argument, operand] = pair;
        printer << argument << " = " << operand << " : " << operand.getType();
      });
  printer << ')';
  printer.printOptionalArrowTypeList(getResultTypes());
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs(),
                                           {"name", "stage"});
  printer << ' ';
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}

LogicalResult PhaseOp::verifySymbolUses(SymbolTableCollection &tables) {
  Operation *module = (*this)->getParentOfType<ModuleOp>();
  auto stage = dyn_cast_or_null<StageOp>(
      module ? tables.lookupSymbolIn(module, getStageAttr()) : nullptr);
  if (!stage)
    return emitOpError() << "runs on " << getStageAttr()
                         << ", which is not a stage";
  for (Type type :
       llvm::concat<const Type>(SmallVector<Type>(getOperandTypes()),
                                SmallVector<Type>(getResultTypes()))) {
    std::optional<Placement> placement =
        Placement::of(cast<OnType>(type).getValue());
    if (placement && placement->mesh != stage.getMesh()) {
      InFlightDiagnostic diag = emitOpError()
                                << "holds a value on mesh " << placement->mesh;
      diag.attachNote(stage.getLoc())
          << "the stage has mesh " << stage.getMesh();
      return diag;
    }
  }
  return success();
}

LogicalResult PhaseOp::verify() {
  StringRef name = getName();
  if (name != "begin" && name != "forward" && name != "backward" &&
      name != "finish")
    return emitOpError() << "\"" << name
                         << "\" is not begin, forward, backward or finish";
  bool inTime = name == "forward" || name == "backward";
  auto check = [&](StringRef what, unsigned index, OnType on,
                   Type inner) -> LogicalResult {
    if (on.getStage() != getStageAttr())
      return emitOpError() << what << ' ' << index << " lies on stage "
                           << on.getStage() << ", the phase runs on "
                           << getStageAttr() << ": a galv.transfer is missing";
    if (on.getValue() != inner)
      return emitOpError() << what << ' ' << index << " is " << on.getValue()
                           << " outside and " << inner << " inside";
    if (!inTime && findTimeAxis(inner))
      return emitOpError() << what << ' ' << index << " knows time axis '"
                           << *findTimeAxis(inner) << "' in phase " << name;
    return success();
  };
  Block &body = getBody().front();
  if (body.getNumArguments() != getNumOperands())
    return emitOpError() << "has " << getNumOperands() << " operands and "
                         << body.getNumArguments() << " arguments";
  for (unsigned i = 0; i < getNumOperands(); ++i)
    if (failed(check("operand", i, cast<OnType>(getOperand(i).getType()),
                     body.getArgument(i).getType())))
      return failure();
  if (!inTime)
    for (Operation &op : body)
      for (Type type : op.getResultTypes())
        if (std::optional<StringRef> axis = findTimeAxis(type))
          return op.emitOpError()
                 << "knows time axis '" << *axis << "' in phase " << name;
  auto yield = dyn_cast<YieldOp>(body.getTerminator());
  if (!yield || yield.getNumOperands() != getNumResults())
    return emitOpError() << "has " << getNumResults()
                         << " results, its galv.yield gives "
                         << (yield ? yield.getNumOperands() : 0);
  for (unsigned i = 0; i < getNumResults(); ++i)
    if (failed(check("result", i, cast<OnType>(getResult(i).getType()),
                     yield.getOperand(i).getType())))
      return failure();
  return success();
}

//===----------------------------------------------------------------------===//
// The optimizer and reports
//===----------------------------------------------------------------------===//

static LogicalResult verifyReplicatedScalar(Operation *op, Type type) {
  auto tensor = cast<RankedTensorType>(type);
  std::optional<Placement> placement = Placement::of(type);
  if (tensor.getRank() != 0 || (placement && !placement->partial.empty()))
    return op->emitOpError("takes a replicated scalar, not ") << type;
  return success();
}

/// `type` is that of a parameter's value: its shape, and nothing partial.
static LogicalResult verifyParameterValue(Operation *op, FlatSymbolRefAttr name,
                                          Type type,
                                          SymbolTableCollection &tables) {
  auto parameter = tables.lookupNearestSymbolFrom<ParameterOp>(op, name);
  if (!parameter)
    return op->emitOpError("names ") << name << ", which is not a parameter";
  auto tensor = cast<RankedTensorType>(type);
  std::optional<Placement> placement = Placement::of(tensor);
  if (placement && !placement->partial.empty())
    return op->emitOpError("makes a partial sum of a parameter: ")
           << describe(*placement);
  // On local shapes the parameter's global one does not compare.
  bool local = !placement && parameter.getRest();
  if (!local && tensor.getShape() != parameter.getTensorType().getShape()) {
    InFlightDiagnostic diag = op->emitOpError("has type ") << tensor;
    diag.attachNote(parameter.getLoc())
        << "the parameter is " << parameter.getTensorType();
    return diag;
  }
  return success();
}

LogicalResult UseOp::verifySymbolUses(SymbolTableCollection &tables) {
  return verifyParameterValue(*this, getParameterAttr(), getType(), tables);
}

LogicalResult MaterializeOp::verifySymbolUses(SymbolTableCollection &tables) {
  return verifyParameterValue(*this, getParameterAttr(), getType(), tables);
}

LogicalResult RefreshOp::verifySymbolUses(SymbolTableCollection &tables) {
  return verifyParameterValue(*this, getParameterAttr(), getValue().getType(),
                              tables);
}

LogicalResult UpdateOp::verifySymbolUses(SymbolTableCollection &tables) {
  auto parameter =
      tables.lookupNearestSymbolFrom<ParameterOp>(*this, getParameterAttr());
  if (!parameter)
    return emitOpError() << "updates @" << getParameter()
                         << ", which is not a parameter";
  auto gradient = cast<RankedTensorType>(getGradient().getType());
  if (std::optional<Placement> placement = Placement::of(gradient))
    if (!placement->partial.empty()) {
      InFlightDiagnostic diag =
          emitOpError() << "takes a gradient that is still a partial sum: "
                        << describe(*placement);
      diag.attachNote(parameter.getLoc()) << "of this parameter";
      return diag;
    }
  RankedTensorType rest = parameter.getRestType();
  if (rest && Placement::of(gradient) && rest != gradient) {
    InFlightDiagnostic diag = emitOpError()
                              << "takes a gradient of type " << gradient;
    diag.attachNote(parameter.getLoc()) << "the parameter rests as " << rest;
    return diag;
  }
  return verifyReplicatedScalar(*this, getCoefficient().getType());
}

LogicalResult SumOverStagesOp::verify() {
  return verifyReplicatedScalar(*this, getInput().getType());
}

LogicalResult ReportOp::verify() {
  if (getName() != "loss" && getName() != "gradient_norm")
    return emitOpError() << "\"" << getName()
                         << "\" is not loss or gradient_norm";
  return verifyReplicatedScalar(*this, getValue().getType());
}
