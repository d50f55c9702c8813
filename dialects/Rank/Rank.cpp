//===- Rank.cpp - syntax and constraints of the rank dialect --------------===//

#include "dialects/Rank/Rank.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace galv::rank;

#include "dialects/Rank/Dialect.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/Rank/Attributes.cpp.inc"

/// A list of types in parentheses, which may be empty.
static ParseResult parseTypes(OpAsmParser &parser,
                              SmallVectorImpl<Type> &types) {
  return parser.parseCommaSeparatedList(
      AsmParser::Delimiter::Paren,
      [&] { return parser.parseType(types.emplace_back()); });
}

static void printTypes(OpAsmPrinter &printer, Operation *, TypeRange types) {
  printer << '(';
  llvm::interleaveComma(types, printer);
  printer << ')';
}

#define GET_OP_CLASSES
#include "dialects/Rank/Ops.cpp.inc"

void RankDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/Rank/Attributes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/Rank/Ops.cpp.inc"
      >();
}

Attribute ActionAttr::parse(AsmParser &parser, Type) {
  StringRef kind;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseLess() || parser.parseKeyword(&kind))
    return {};
  if (kind != "run" && kind != "transfers") {
    parser.emitError(loc) << "expected run or transfers, not '" << kind << "'";
    return {};
  }
  SmallVector<int32_t> numbers, microbatches;
  auto parseEntry = [&]() -> ParseResult {
    return failure(parser.parseInteger(numbers.emplace_back()) ||
                   parser.parseKeyword("microbatch") ||
                   parser.parseInteger(microbatches.emplace_back()));
  };
  if (parser.parseCommaSeparatedList(parseEntry) || parser.parseGreater())
    return {};
  return get(parser.getContext(), kind == "run", numbers, microbatches);
}

void ActionAttr::print(AsmPrinter &printer) const {
  printer << '<' << (getRun() ? "run " : "transfers ");
  llvm::interleaveComma(llvm::zip_equal(getNumbers(), getMicrobatches()),
                        printer, [&](auto entry) {
                          printer << std::get<0>(entry) << " microbatch "
                                  << std::get<1>(entry);
                        });
  printer << '>';
}

LogicalResult StageOp::verify() {
  int32_t segments = 0, transfers = 0;
  for (Operation &op : getBody().front()) {
    segments += isa<SegmentOp>(op);
    transfers += isa<TransferOp>(op);
  }
  for (Attribute attr : getOrder()) {
    auto action = dyn_cast<ActionAttr>(attr);
    if (!action)
      return emitOpError("order holds ") << attr << ", which is no action";
    int32_t limit = action.getRun() ? segments : transfers;
    for (int32_t number : action.getNumbers())
      if (number < 0 || number >= limit)
        return emitOpError("order names ")
               << (action.getRun() ? "segment " : "transfer ") << number
               << " of " << limit;
  }
  return success();
}

LogicalResult CallOp::verifySymbolUses(SymbolTableCollection &tables) {
  auto function = tables.lookupNearestSymbolFrom<FunctionOpInterface>(
      (*this)->getParentOfType<ModuleOp>(), getCalleeAttr());
  if (!function)
    return emitOpError("calls @") << getCallee() << ", which is not a function";
  SmallVector<Type> types(function.getArgumentTypes());
  llvm::append_range(types, function.getResultTypes());
  if (types.size() != getOperands().size())
    return emitOpError("has ") << getOperands().size() << " operands, @"
                               << getCallee() << " has " << types.size();
  for (auto [i, pair] :
       llvm::enumerate(llvm::zip_equal(getOperandTypes(), types))) {
    auto mine = cast<ShapedType>(std::get<0>(pair));
    auto theirs = dyn_cast<ShapedType>(std::get<1>(pair));
    if (!theirs || mine.getShape() != theirs.getShape() ||
        mine.getElementType() != theirs.getElementType()) {
      InFlightDiagnostic diag = emitOpError("operand ")
                                << i << " is " << mine << ", @" << getCallee()
                                << " takes " << std::get<1>(pair);
      diag.attachNote(function.getLoc()) << "declared here";
      return diag;
    }
  }
  return success();
}
