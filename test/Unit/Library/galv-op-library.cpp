//===- galv-op-library.cpp - every operation as bare functions ------------===//
//
//   galv-op-library instances.mlir -o <folder>
//
// Each instance on one rank, and on 2x2 ranks with every σ that the operation's
// factor rule allows; its derivative; and redistributions between all pairs of
// placements on 2x2x2 ranks. An operation without an instance is an error.
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/AsmState.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "test/Unit/Library/Splits.h"
#include "test/Unit/Library/Writer.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;
using namespace galv;
namespace cl = llvm::cl;

/// The operation that a function is an instance of.
static Operation *getInstance(func::FuncOp function) {
  Block &body = function.getBody().front();
  if (body.getOperations().size() != 2 ||
      !isa<FactorRuleOpInterface>(body.front()))
    return nullptr;
  return &body.front();
}

/// Every operation of the dialect with a rule or a derivative has an instance.
static LogicalResult checkCoverage(ModuleOp module) {
  llvm::StringSet<> covered;
  for (auto function : module.getOps<func::FuncOp>()) {
    Operation *op = getInstance(function);
    if (!op)
      return function.emitError(
          "holds something else than one operation with a factor rule");
    covered.insert(op->getName().getStringRef());
  }
  LogicalResult result = success();
  for (RegisteredOperationName name :
       module.getContext()->getRegisteredOperationsByDialect("galv"))
    if ((name.hasInterface<FactorRuleOpInterface>() ||
         name.hasInterface<DerivativeOpInterface>()) &&
        !covered.contains(name.getStringRef()))
      result = module.emitError()
               << name.getStringRef() << " has no instance here";
  return result;
}

static std::string getDraw(func::FuncOp function, unsigned argument) {
  auto make = [](StringRef kind, int64_t bound) {
    return ("{galv::library::Draw::" + kind + ", " + Twine(bound) + "}").str();
  };
  if (auto bound = function.getArgAttrOfType<IntegerAttr>(argument, "galv.ids"))
    return make("ids", bound.getInt());
  if (auto bound =
          function.getArgAttrOfType<IntegerAttr>(argument, "galv.labels"))
    return make("labels", bound.getInt());
  return make(function.getArgAttr(argument, "galv.positive") ? "positive"
                                                             : "normal",
              0);
}

/// Appends a function of the cotangents of `needed` operands to `module`. The
/// operands come first, then the cotangent of the first result.
static FailureOr<func::FuncOp> appendDerivative(ModuleOp module, Operation *op,
                                                MeshAttr mesh,
                                                ArrayRef<bool> needed) {
  PlacedTypes types = getWholeTypes(op, mesh);
  func::FuncOp function = appendFunction(module, op, types);
  Block &body = function.getBody().front();
  Operation *primal = &body.front();
  BlockArgument cotangent =
      body.addArgument(types.results.front(), op->getLoc());
  OpBuilder builder(body.getTerminator());
  SmallVector<Value> cotangents(op->getNumResults()), derivatives, results;
  cotangents.front() = cotangent;
  cast<DerivativeOpInterface>(primal).buildDerivative(builder, cotangents,
                                                      needed, derivatives);
  for (Operation &made : body)
    for (Value result : made.getResults())
      if (auto type = cast<RankedTensorType>(result.getType());
          !type.getEncoding())
        result.setType(
            *getPlacedType([&] { return op->emitOpError(); }, type,
                           Placement::replicated(mesh, type.getRank())));
  for (auto [i, wanted] : llvm::enumerate(needed)) {
    if (!wanted)
      continue;
    if (!derivatives[i] || derivatives[i].getType() != types.operands[i])
      return op->emitOpError()
             << "has no derivative by operand " << i << " of its type";
    results.push_back(derivatives[i]);
  }
  body.getTerminator()->setOperands(results);
  function.setFunctionType(builder.getFunctionType(
      body.getArgumentTypes(), ValueRange(results).getTypes()));
  return function;
}

static LogicalResult addInstance(LibraryWriter &writer, func::FuncOp function,
                                 size_t &splitCount) {
  Operation *op = getInstance(function);
  MeshAttr one = writer.getMesh(0), square = writer.getMesh(2);
  SmallVector<std::string> draws, splits, neededNumbers;
  for (unsigned i = 0; i < op->getNumOperands(); ++i)
    draws.push_back(getDraw(function, i));

  OwningOpRef<ModuleOp> module = ModuleOp::create(op->getLoc());
  PlacedTypes whole = getWholeTypes(op, one);
  appendFunction(*module, op, whole);
  SmallVector<Type> derivativeOperands, derivativeResults;
  if (isa<DerivativeOpInterface>(op)) {
    SmallVector<bool> needed;
    for (auto [i, type] : llvm::enumerate(op->getOperandTypes())) {
      needed.push_back(
          isa<FloatType>(cast<RankedTensorType>(type).getElementType()));
      if (needed.back())
        neededNumbers.push_back(std::to_string(i));
    }
    FailureOr<func::FuncOp> derivative =
        appendDerivative(*module, op, one, needed);
    if (failed(derivative))
      return failure();
    llvm::append_range(derivativeOperands, derivative->getArgumentTypes());
    llvm::append_range(derivativeResults, derivative->getResultTypes());
  }
  FailureOr<SmallVector<CompiledFunction>> numbers =
      writer.compile(*module, one);
  if (failed(numbers))
    return failure();
  std::string derivativeCase = "{}";
  if (!neededNumbers.empty())
    derivativeCase =
        writer.getCase((*numbers)[1], derivativeOperands, derivativeResults);

  SmallVector<PlacedTypes> found = getAllSplits(op, square);
  module = ModuleOp::create(op->getLoc());
  for (const PlacedTypes &types : found)
    appendFunction(*module, op, types);
  FailureOr<SmallVector<CompiledFunction>> splitNumbers =
      writer.compile(*module, square);
  if (failed(splitNumbers))
    return failure();
  for (auto [number, types] : llvm::zip_equal(*splitNumbers, found))
    splits.push_back(writer.getCase(number, types.operands, types.results));
  splitCount += found.size();

  writer.addInstance(
      "{" + quote(function.getSymName()) + ", " +
      quote(op->getName().getStringRef()) + ", " +
      writer.addArray("galv::library::Draw", "draws", draws) + ",\n     " +
      writer.getCase(numbers->front(), whole.operands, whole.results) + ", " +
      writer.addArray("galv::library::Case", "splits", splits) + ",\n     " +
      derivativeCase + ", " + writer.addArray("int", "ints", neededNumbers) +
      "}");
  return success();
}

static LogicalResult addMovement(LibraryWriter &writer, MLIRContext *context,
                                 ArrayRef<int64_t> shape, size_t &pairs) {
  MeshAttr cube = writer.getMesh(3);
  Location loc = UnknownLoc::get(context);
  SmallVector<RankedTensorType> placements =
      getAllPlacements(shape, Float64Type::get(context), cube);
  SmallVector<std::string> moves;
  for (RankedTensorType from : placements) {
    OwningOpRef<ModuleOp> module = ModuleOp::create(loc);
    SmallVector<int> targets;
    for (RankedTensorType to : placements) {
      OpBuilder builder = OpBuilder::atBlockEnd(module->getBody());
      auto function = func::FuncOp::create(builder, loc, "f",
                                           builder.getFunctionType(from, to));
      Block *entry = function.addEntryBlock();
      builder.setInsertionPointToEnd(entry);
      auto moved =
          RedistributeOp::create(builder, loc, to, entry->getArgument(0));
      func::ReturnOp::create(builder, loc, moved.getResult());
      ScopedDiagnosticHandler quiet(context,
                                    [](Diagnostic &) { return success(); });
      if (failed(verify(moved)))
        function.erase(); // makes a partial maximum
      else
        targets.push_back(writer.addTensor(to));
    }
    FailureOr<SmallVector<CompiledFunction>> numbers =
        writer.compile(*module, cube);
    if (failed(numbers))
      return failure();
    for (auto [number, to] : llvm::zip_equal(*numbers, targets))
      moves.push_back(("{" + Twine(number.function) + ", " +
                       Twine(number.groups) + ", " +
                       Twine(writer.addTensor(from)) + ", " + Twine(to) + "}")
                          .str());
  }
  pairs += moves.size();
  std::string name = "[";
  for (auto [i, size] : llvm::enumerate(shape))
    name += (i ? ", " : "") + std::to_string(size);
  writer.addMovement("{" + quote(name + "]") + ", " +
                     writer.addArray("galv::library::Move", "moves", moves) +
                     "}");
  return success();
}

int main(int argc, char **argv) {
  cl::opt<std::string> input(cl::Positional, cl::Required,
                             cl::desc("<instances.mlir>"));
  cl::opt<std::string> output("o", cl::Required, cl::desc("folder of the C++"));
  cl::opt<int> files("files", cl::init(4),
                     cl::desc("files to spread the functions over"));
  cl::ParseCommandLineOptions(argc, argv,
                              "every operation as a library of functions\n");
  DialectRegistry registry;
  registry.insert<GalvDialect, comm::CommDialect, rank::RankDialect,
                  func::FuncDialect>();
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  llvm::SourceMgr sources;
  SourceMgrDiagnosticHandler handler(sources, &context);
  OwningOpRef<ModuleOp> module =
      parseSourceFile<ModuleOp>(input, sources, &context);
  if (!module || failed(checkCoverage(*module)))
    return 1;

  LibraryWriter writer(&context, files);
  size_t splits = 0, pairs = 0;
  for (auto function : module->getOps<func::FuncOp>())
    if (failed(addInstance(writer, function, splits)))
      return 1;
  size_t operations = writer.getNumFunctions();
  // Three axes divide 8; of 6 and 5 they leave a rest, of which one axis of 6
  // does not, and flattened 5 and 6x5 are padded as well.
  for (std::vector<int64_t> shape :
       std::vector<std::vector<int64_t>>{{}, {8}, {6}, {8, 8}, {6, 5}})
    if (failed(addMovement(writer, &context, shape, pairs)))
      return 1;
  if (!writer.write(output))
    return 1;
  llvm::outs() << splits << " splits, " << pairs << " pairs of placements; "
               << operations << " and " << writer.getNumFunctions() - operations
               << " functions\n";
  return 0;
}
