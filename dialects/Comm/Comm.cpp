//===- Comm.cpp - attributes and verifiers of the comm dialect ------------===//

#include "dialects/Comm/Comm.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace galv::comm;

#include "dialects/Comm/Dialect.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/Comm/Attributes.cpp.inc"

#define GET_OP_CLASSES
#include "dialects/Comm/Ops.cpp.inc"

void CommDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/Comm/Attributes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/Comm/Ops.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// GroupAttr
//===----------------------------------------------------------------------===//

int64_t GroupAttr::getRanks() const {
  int64_t n = 1;
  for (int64_t size : getSizes())
    n *= size;
  return n;
}

Attribute GroupAttr::parse(AsmParser &parser, Type) {
  SmallVector<StringAttr> names;
  SmallVector<int64_t> sizes;
  bool across = false;
  auto parseAxis = [&]() -> ParseResult {
    StringRef name;
    int64_t size;
    if (parser.parseKeyword(&name) || parser.parseEqual() ||
        parser.parseInteger(size))
      return failure();
    names.push_back(StringAttr::get(parser.getContext(), name));
    sizes.push_back(size);
    return success();
  };
  if (parser.parseLess() ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseAxis))
    return {};
  if (succeeded(parser.parseOptionalComma())) {
    if (parser.parseKeyword("across"))
      return {};
    across = true;
  }
  if (parser.parseGreater())
    return {};
  return GroupAttr::get(parser.getContext(), names, sizes, across);
}

void GroupAttr::print(AsmPrinter &printer) const {
  printer << "<[";
  for (size_t i = 0; i < getNames().size(); ++i)
    printer << (i ? ", " : "") << getNames()[i].getValue() << " = "
            << getSizes()[i];
  printer << ']' << (getAcross() ? ", across" : "") << '>';
}

//===----------------------------------------------------------------------===//
// Verifiers
//===----------------------------------------------------------------------===//

/// Checks that `big` is `small` with `dimension` times `factor`.
static LogicalResult verifyScaled(Operation *op, RankedTensorType small,
                                  RankedTensorType big, int64_t dimension,
                                  int64_t factor) {
  if (dimension < 0 || dimension >= small.getRank())
    return op->emitOpError("dimension ")
           << dimension << " is not one of the " << small.getRank()
           << " dimensions of " << small;
  SmallVector<int64_t> shape(small.getShape());
  shape[dimension] *= factor;
  if (small.getElementType() != big.getElementType() ||
      ArrayRef<int64_t>(shape) != big.getShape())
    return op->emitOpError("dimension ")
           << dimension << " of " << small << " times " << factor
           << " does not give " << big;
  return success();
}

static LogicalResult verifyGroup(Operation *op, GroupAttr group) {
  if (group.getRanks() < 2)
    return op->emitOpError("group ") << group << " has one rank only";
  return success();
}

template <typename Op>
static RankedTensorType in(Op op) {
  return cast<RankedTensorType>(op.getInput().getType());
}
template <typename Op>
static RankedTensorType out(Op op) {
  return cast<RankedTensorType>(op.getResult().getType());
}

LogicalResult AllGatherOp::verify() {
  if (failed(verifyGroup(*this, getOver())))
    return failure();
  return verifyScaled(*this, in(*this), out(*this), getDimension(),
                      getOver().getRanks());
}

LogicalResult ReduceScatterOp::verify() {
  if (failed(verifyGroup(*this, getOver())))
    return failure();
  return verifyScaled(*this, out(*this), in(*this), getDimension(),
                      getOver().getRanks());
}

LogicalResult SliceOp::verify() {
  return verifyScaled(*this, out(*this), in(*this), getDimension(),
                      getOver().getRanks());
}

LogicalResult AllReduceOp::verify() {
  if (failed(verifyGroup(*this, getOver())))
    return failure();
  if (getKind() != "sum" && getKind() != "max")
    return emitOpError("kind \"") << getKind() << "\" is not sum or max";
  if (in(*this) != out(*this))
    return emitOpError("operand ")
           << in(*this) << " and result " << out(*this) << " differ";
  return success();
}

LogicalResult AllToAllOp::verify() {
  if (failed(verifyGroup(*this, getOver())))
    return failure();
  RankedTensorType from = in(*this), to = out(*this);
  int64_t split = getSplitDimension(), gather = getGatherDimension();
  int64_t n = getOver().getRanks();
  if (split == gather || split < 0 || gather < 0 || split >= from.getRank() ||
      gather >= from.getRank() || from.getRank() != to.getRank())
    return emitOpError("dimensions ")
           << split << " and " << gather << " do not fit " << from << " and "
           << to;
  SmallVector<int64_t> shape(from.getShape());
  shape[gather] *= n;
  if (shape[split] % n != 0)
    return emitOpError("dimension ")
           << split << " of " << from << " is not divisible by " << n;
  shape[split] /= n;
  if (ArrayRef<int64_t>(shape) != to.getShape())
    return emitOpError("operand ") << from << " does not give result " << to
                                   << " over " << n << " ranks";
  return success();
}

LogicalResult KeepFirstOp::verify() {
  if (in(*this) != out(*this))
    return emitOpError("operand ")
           << in(*this) << " and result " << out(*this) << " differ";
  return success();
}

/// The types differ in `dimension` only, where `big` is at least `small`.
static LogicalResult verifyPadded(Operation *op, RankedTensorType small,
                                  RankedTensorType big, int64_t dimension) {
  bool fits = small.getRank() == big.getRank() && dimension >= 0 &&
              dimension < small.getRank() &&
              small.getElementType() == big.getElementType();
  for (int64_t i = 0; fits && i < small.getRank(); ++i)
    fits = i == dimension ? small.getDimSize(i) <= big.getDimSize(i)
                          : small.getDimSize(i) == big.getDimSize(i);
  if (!fits)
    return op->emitOpError("dimension ")
           << dimension << " alone does not tell " << small << " from " << big;
  return success();
}

LogicalResult PadOp::verify() {
  return verifyPadded(*this, in(*this), out(*this), getDimension());
}

LogicalResult UnpadOp::verify() {
  return verifyPadded(*this, out(*this), in(*this), getDimension());
}

LogicalResult ReshapeOp::verify() {
  if (in(*this).getNumElements() != out(*this).getNumElements() ||
      in(*this).getElementType() != out(*this).getElementType())
    return emitOpError("operand ") << in(*this) << " and result " << out(*this)
                                   << " hold different elements";
  return success();
}
