//===- Attributes.cpp - meshes, placements: syntax and constraints --------===//

#include "dialects/Galv/Galv.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace galv;

#define GET_ATTRDEF_CLASSES
#include "dialects/Galv/Attributes.cpp.inc"

void GalvDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/Galv/Attributes.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// MeshAttr
//===----------------------------------------------------------------------===//

LogicalResult MeshAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                               ArrayRef<StringAttr> names,
                               ArrayRef<int64_t> sizes, unsigned spaceAxes) {
  llvm::StringSet<> seen;
  for (auto [name, size] : llvm::zip_equal(names, sizes)) {
    if (!seen.insert(name.getValue()).second)
      return emitError() << "axis '" << name.getValue()
                         << "' stands twice in the mesh";
    if (size < 2)
      return emitError() << "axis '" << name.getValue() << "' has size " << size
                         << ", which is less than 2";
  }
  return success();
}

int MeshAttr::lookup(StringRef name) const {
  for (unsigned i = 0; i < getNumAxes(); ++i)
    if (getName(i) == name)
      return i;
  return -1;
}

int64_t MeshAttr::product(ArrayRef<int32_t> axes) const {
  int64_t n = 1;
  for (int32_t axis : axes)
    n *= getSize(axis);
  return n;
}

int64_t MeshAttr::getRanks() const {
  int64_t n = 1;
  for (unsigned axis = 0; axis < getSpaceAxes(); ++axis)
    n *= getSize(axis);
  return n;
}

void MeshAttr::sortAxes(SmallVectorImpl<int32_t> &axes) const {
  llvm::sort(axes, [&](int32_t a, int32_t b) {
    return std::make_pair(!isTime(a), a) < std::make_pair(!isTime(b), b);
  });
}

Attribute MeshAttr::parse(AsmParser &parser, Type) {
  SMLoc loc = parser.getCurrentLocation();
  SmallVector<StringAttr> names;
  SmallVector<int64_t> sizes;
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
  unsigned spaceAxes = names.size();
  if (succeeded(parser.parseOptionalComma()))
    if (parser.parseKeyword("time") || parser.parseEqual() ||
        parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseAxis))
      return {};
  if (parser.parseGreater())
    return {};
  return parser.getChecked<MeshAttr>(loc, parser.getContext(), names, sizes,
                                     spaceAxes);
}

void MeshAttr::print(AsmPrinter &printer) const {
  auto print = [&](unsigned begin, unsigned end) {
    printer << '[';
    for (unsigned i = begin; i < end; ++i)
      printer << (i == begin ? "" : ", ") << getName(i) << " = " << getSize(i);
    printer << ']';
  };
  printer << '<';
  print(0, getSpaceAxes());
  if (getSpaceAxes() != getNumAxes()) {
    printer << ", time = ";
    print(getSpaceAxes(), getNumAxes());
  }
  printer << '>';
}

//===----------------------------------------------------------------------===//
// PlacementAttr
//===----------------------------------------------------------------------===//

/// Parses `{a, b}` or `{a, b : pad}`; `pad` is null where it may not stand.
static ParseResult parseAxes(AsmParser &parser, MeshAttr mesh, Axes &axes,
                             bool *pad = nullptr) {
  if (parser.parseLBrace())
    return failure();
  StringRef name;
  SMLoc loc = parser.getCurrentLocation();
  while (succeeded(parser.parseOptionalKeyword(&name))) {
    int axis = mesh.lookup(name);
    if (axis < 0)
      return parser.emitError(loc)
             << "'" << name << "' is not an axis of mesh " << mesh;
    axes.push_back(axis);
    if (failed(parser.parseOptionalComma()))
      break;
    loc = parser.getCurrentLocation();
  }
  if (pad && succeeded(parser.parseOptionalColon())) {
    if (parser.parseKeyword("pad"))
      return failure();
    *pad = true;
  }
  return parser.parseRBrace();
}

Attribute PlacementAttr::parse(AsmParser &parser, Type) {
  SMLoc loc = parser.getCurrentLocation();
  MeshAttr mesh;
  SmallVector<SplitAttr> dims;
  Axes flat, partial;
  bool partialMax = false;
  if (parser.parseLess() || parser.parseAttribute(mesh) || parser.parseComma())
    return {};
  auto parseDim = [&]() -> ParseResult {
    Axes axes;
    bool pad = false;
    if (parseAxes(parser, mesh, axes, &pad))
      return failure();
    dims.push_back(SplitAttr::get(parser.getContext(), axes, pad));
    return success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseDim))
    return {};
  while (succeeded(parser.parseOptionalComma())) {
    StringRef word;
    SMLoc wordLoc = parser.getCurrentLocation();
    if (parser.parseKeyword(&word) || parser.parseEqual())
      return {};
    if (word == "partial") {
      partialMax = succeeded(parser.parseOptionalKeyword("max"));
    } else if (word != "flat") {
      parser.emitError(wordLoc)
          << "expected flat or partial, not '" << word << "'";
      return {};
    }
    if (parseAxes(parser, mesh, word == "flat" ? flat : partial))
      return {};
  }
  if (parser.parseGreater())
    return {};
  return parser.getChecked<PlacementAttr>(loc, parser.getContext(), mesh, dims,
                                          flat, partial, partialMax);
}

void PlacementAttr::print(AsmPrinter &printer) const {
  auto printAxes = [&](ArrayRef<int32_t> axes) {
    llvm::interleaveComma(axes, printer, [&](int32_t axis) {
      printer << getMesh().getName(axis);
    });
  };
  printer << '<';
  printer.printAttribute(getMesh());
  printer << ", [";
  llvm::interleaveComma(getDims(), printer, [&](SplitAttr dim) {
    printer << '{';
    printAxes(dim.getAxes());
    printer << (dim.getPad() ? " : pad}" : "}");
  });
  printer << ']';
  if (!getFlat().empty()) {
    printer << ", flat = {";
    printAxes(getFlat());
    printer << '}';
  }
  if (!getPartial().empty()) {
    printer << (getPartialMax() ? ", partial = max {" : ", partial = {");
    printAxes(getPartial());
    printer << '}';
  }
  printer << '>';
}

LogicalResult
PlacementAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                      MeshAttr mesh, ArrayRef<SplitAttr> dims,
                      ArrayRef<int32_t> flat, ArrayRef<int32_t> partial,
                      bool partialMax) {
  llvm::SmallDenseMap<int32_t, std::string> places;
  auto check = [&](ArrayRef<int32_t> axes, std::string place) -> LogicalResult {
    for (int32_t axis : axes) {
      if (axis < 0 || axis >= static_cast<int32_t>(mesh.getNumAxes()))
        return emitError() << "axis number " << axis << " is not one of mesh "
                           << mesh;
      auto [it, fresh] = places.try_emplace(axis, place);
      if (!fresh)
        return emitError() << "axis '" << mesh.getName(axis) << "' stands in "
                           << it->second << " and in " << place;
    }
    return success();
  };
  for (auto [i, dim] : llvm::enumerate(dims))
    if (failed(check(dim.getAxes(), "dimension " + std::to_string(i))))
      return failure();
  if (failed(check(flat, "flat")) || failed(check(partial, "partial")))
    return failure();
  for (int32_t axis : flat)
    if (mesh.isTime(axis))
      return emitError() << "time axis '" << mesh.getName(axis)
                         << "' stands in flat";
  for (size_t i = 1; i < partial.size(); ++i)
    if (partial[i - 1] > partial[i])
      return emitError() << "partial lists '" << mesh.getName(partial[i - 1])
                         << "' before '" << mesh.getName(partial[i])
                         << "', which is not the order of mesh " << mesh;
  if (partialMax && partial.empty())
    return emitError() << "a partial maximum over no axis";
  return success();
}

LogicalResult PlacementAttr::verifyEncoding(
    ArrayRef<int64_t> shape, Type,
    function_ref<InFlightDiagnostic()> emitError) const {
  if (shape.size() != getDims().size())
    return emitError() << "placement " << describe(Placement::of(*this))
                       << " has " << getDims().size()
                       << " dimensions, the tensor has " << shape.size();
  for (auto [i, pair] : llvm::enumerate(llvm::zip_equal(shape, getDims()))) {
    auto [size, dim] = pair;
    int64_t n = getMesh().product(dim.getAxes());
    bool divides = size >= 0 && size % n == 0;
    if (!divides && !dim.getPad())
      return emitError() << "dimension " << i << " of size " << size
                         << " is not divisible by " << n << ", its splits in "
                         << describe(Placement::of(*this));
    if (divides && dim.getPad())
      return emitError() << "dimension " << i << " of size " << size
                         << " is divisible by " << n
                         << ": it takes no pad mark";
  }
  return success();
}

//===----------------------------------------------------------------------===//
// From the value that passes compute with
//===----------------------------------------------------------------------===//

static SmallVector<SplitAttr> getSplits(const Placement &placement) {
  SmallVector<SplitAttr> splits;
  for (const Split &dim : placement.dims)
    splits.push_back(
        SplitAttr::get(placement.mesh.getContext(), dim.axes, dim.pad));
  return splits;
}

PlacementAttr Placement::getAttr() const {
  return PlacementAttr::get(mesh.getContext(), getMesh(), getSplits(*this),
                            flat, partial, partialMax);
}

PlacementAttr
Placement::getCheckedAttr(function_ref<InFlightDiagnostic()> emitError) const {
  return PlacementAttr::getChecked(emitError, mesh.getContext(), getMesh(),
                                   getSplits(*this), flat, partial, partialMax);
}

LogicalResult
InitializerAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                        StringRef kind, FloatAttr deviation) {
  if (kind != "zeros" && kind != "ones" && kind != "normal")
    return emitError() << "initializer \"" << kind
                       << "\" is not zeros, ones or normal";
  return success();
}

//===----------------------------------------------------------------------===//
// Helpers
//===----------------------------------------------------------------------===//

comm::GroupAttr galv::getGroup(MeshAttr mesh, ArrayRef<int32_t> axes) {
  SmallVector<StringAttr> names;
  SmallVector<int64_t> sizes;
  for (int32_t axis : axes) {
    names.push_back(mesh.getNames()[axis]);
    sizes.push_back(mesh.getSize(axis));
  }
  return comm::GroupAttr::get(mesh.getContext(), names, sizes, false);
}

StringRef galv::getModulePath(Operation *op) {
  if (auto path = op->getAttrOfType<StringAttr>(moduleAttrName))
    return path.getValue();
  return op->getName().getStringRef();
}
