//===- Placement.cpp - the algebra of placements --------------------------===//

#include "dialects/Galv/Placement.h"
#include "dialects/Galv/Galv.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace galv;

Placement Placement::replicated(MeshAttr mesh, unsigned rank) {
  Placement p;
  p.mesh = mesh;
  p.dims.resize(rank);
  return p;
}

Placement Placement::of(PlacementAttr attr) {
  Placement p;
  p.mesh = attr.getMesh();
  for (SplitAttr dim : attr.getDims())
    p.dims.push_back({Axes(dim.getAxes()), dim.getPad()});
  p.flat.assign(attr.getFlat().begin(), attr.getFlat().end());
  p.partial.assign(attr.getPartial().begin(), attr.getPartial().end());
  p.partialMax = attr.getPartialMax();
  return p;
}

std::optional<Placement> Placement::of(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return std::nullopt;
  auto attr = dyn_cast_or_null<PlacementAttr>(tensor.getEncoding());
  if (!attr)
    return std::nullopt;
  return of(attr);
}

MeshAttr Placement::getMesh() const { return cast<MeshAttr>(mesh); }

bool Placement::operator==(const Placement &o) const {
  return mesh == o.mesh && sameSplits(o) && partial == o.partial &&
         partialMax == o.partialMax;
}

bool Placement::isSplitOver(int axis) const {
  return llvm::is_contained(flat, axis) ||
         llvm::any_of(dims, [&](const Split &dim) {
           return llvm::is_contained(dim.axes, axis);
         });
}

bool Placement::isPartialOver(int axis) const {
  return llvm::is_contained(partial, axis);
}

bool Placement::isTime(int axis) const { return getMesh().isTime(axis); }

int64_t Placement::product(ArrayRef<int32_t> axes) const {
  return getMesh().product(axes);
}

void Placement::addPartial(int axis) {
  if (isPartialOver(axis))
    return;
  partial.push_back(axis);
  llvm::sort(partial);
}

void Placement::removePartial(int axis) {
  llvm::erase(partial, axis);
  if (partial.empty())
    partialMax = false;
}

SmallVector<int64_t>
Placement::localShapeBeforeFlat(ArrayRef<int64_t> shape) const {
  SmallVector<int64_t> local;
  for (auto [size, dim] : llvm::zip_equal(shape, dims)) {
    int64_t n = product(dim.axes);
    local.push_back((size + n - 1) / n);
  }
  return local;
}

SmallVector<int64_t> Placement::localShape(ArrayRef<int64_t> shape) const {
  SmallVector<int64_t> local = localShapeBeforeFlat(shape);
  if (flat.empty())
    return local;
  int64_t elements = 1;
  for (int64_t size : local)
    elements *= size;
  int64_t n = product(flat);
  return {(elements + n - 1) / n};
}

FailureOr<RankedTensorType>
galv::getPlacedType(function_ref<InFlightDiagnostic()> emitError,
                    ArrayRef<int64_t> shape, Type elementType,
                    const Placement &placement) {
  Placement p = placement;
  llvm::sort(p.partial);
  PlacementAttr attr = p.getCheckedAttr(emitError);
  if (!attr || failed(attr.verifyEncoding(shape, elementType, emitError)))
    return failure();
  return RankedTensorType::get(shape, elementType, attr);
}

FailureOr<RankedTensorType>
galv::getPlacedType(function_ref<InFlightDiagnostic()> emitError,
                    RankedTensorType type, const Placement &placement) {
  return getPlacedType(emitError, type.getShape(), type.getElementType(),
                       placement);
}

bool galv::isLegalPlacement(ArrayRef<int64_t> shape,
                            const Placement &placement) {
  if (shape.size() != placement.dims.size())
    return false;
  llvm::SmallDenseSet<int32_t> seen;
  auto distinct = [&](ArrayRef<int32_t> axes) {
    return llvm::all_of(axes,
                        [&](int32_t axis) { return seen.insert(axis).second; });
  };
  for (auto [size, dim] : llvm::zip_equal(shape, placement.dims)) {
    bool divides = size % placement.product(dim.axes) == 0;
    if (!distinct(dim.axes) || divides == dim.pad)
      return false;
  }
  return distinct(placement.flat) && distinct(placement.partial);
}

LogicalResult
galv::verifyPlacedType(function_ref<InFlightDiagnostic()> emitError,
                       Type type) {
  if (auto on = dyn_cast<OnType>(type))
    type = on.getValue();
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return success();
  std::optional<Placement> placement = Placement::of(tensor);
  if (!placement)
    return success();
  return getPlacedType(emitError, tensor, *placement);
}

RankedTensorType galv::getLocalType(RankedTensorType type) {
  std::optional<Placement> placement = Placement::of(type);
  if (!placement)
    return type;
  return RankedTensorType::get(placement->localShape(type.getShape()),
                               type.getElementType());
}

int64_t galv::getElementBytes(Type elementType) {
  return (elementType.getIntOrFloatBitWidth() + 7) / 8;
}

int64_t galv::getLocalBytes(RankedTensorType type) {
  return getLocalType(type).getNumElements() *
         getElementBytes(type.getElementType());
}

std::string galv::describe(const Placement &placement) {
  std::string text;
  llvm::raw_string_ostream os(text);
  auto print = [&](ArrayRef<int32_t> axes) {
    llvm::interleaveComma(axes, os, [&](int32_t axis) {
      os << placement.getMesh().getName(axis);
    });
  };
  os << '[';
  llvm::interleaveComma(placement.dims, os, [&](const Split &dim) {
    os << '{';
    print(dim.axes);
    os << (dim.pad ? " : pad}" : "}");
  });
  os << ']';
  if (!placement.flat.empty()) {
    os << " flat {";
    print(placement.flat);
    os << '}';
  }
  if (!placement.partial.empty()) {
    os << (placement.partialMax ? " partial max {" : " partial {");
    print(placement.partial);
    os << '}';
  }
  return text;
}
