//===- Placement.h - the algebra of placements ------------------*- C++ -*-===//
//
// A placement as a value that passes can compute with, and the one checked way
// to make a placed type of it. MLIR checks an encoding only when it parses it,
// so every type that a pass makes goes through `getPlacedType`.
//
//===----------------------------------------------------------------------===//

#ifndef GALV_DIALECTS_GALV_PLACEMENT_H
#define GALV_DIALECTS_GALV_PLACEMENT_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"
#include <optional>

namespace galv {

class MeshAttr;
class PlacementAttr;

/// Indices into a mesh's axes, major to minor.
using Axes = llvm::SmallVector<int32_t, 3>;

/// How one dimension is split.
struct Split {
  Axes axes;
  bool pad = false;

  bool operator==(const Split &o) const {
    return axes == o.axes && pad == o.pad;
  }
  bool operator!=(const Split &o) const { return !(*this == o); }
};

/// How a tensor is spread over a mesh (design: `#galv.placement`).
struct Placement {
  mlir::Attribute mesh; // a MeshAttr, which is not declared here
  llvm::SmallVector<Split, 3> dims;
  Axes flat;
  Axes partial;
  bool partialMax = false;

  /// Nothing split, nothing partial.
  static Placement replicated(MeshAttr mesh, unsigned rank);
  /// The placement in a tensor's type; none where it has none.
  static std::optional<Placement> of(mlir::Type type);
  static Placement of(PlacementAttr attr);

  MeshAttr getMesh() const;
  PlacementAttr getAttr() const;
  /// The same where its constraints hold, else null and a diagnostic.
  PlacementAttr getCheckedAttr(
      llvm::function_ref<mlir::InFlightDiagnostic()> emitError) const;

  bool operator==(const Placement &o) const;
  bool operator!=(const Placement &o) const { return !(*this == o); }
  /// Same dimension splits and flat axes; partial axes may differ.
  bool sameSplits(const Placement &o) const {
    return dims == o.dims && flat == o.flat;
  }
  bool isSplitOver(int axis) const;
  bool isPartialOver(int axis) const;
  int64_t product(llvm::ArrayRef<int32_t> axes) const;
  bool isTime(int axis) const;
  /// Adds an axis to `partial`, in mesh order.
  void addPartial(int axis);
  void removePartial(int axis);

  /// Extents on one rank (and one microbatch) of a tensor of global `shape`:
  /// one dimension where `flat` is not empty.
  llvm::SmallVector<int64_t> localShape(llvm::ArrayRef<int64_t> shape) const;
  /// The same before `flat` is applied.
  llvm::SmallVector<int64_t>
  localShapeBeforeFlat(llvm::ArrayRef<int64_t> shape) const;
};

/// The one way to make a placed type: the constraints of section 3.1 are
/// checked, and reported through `emitError`.
mlir::FailureOr<mlir::RankedTensorType>
getPlacedType(llvm::function_ref<mlir::InFlightDiagnostic()> emitError,
              llvm::ArrayRef<int64_t> shape, mlir::Type elementType,
              const Placement &placement);

/// `type` with another placement.
mlir::FailureOr<mlir::RankedTensorType>
getPlacedType(llvm::function_ref<mlir::InFlightDiagnostic()> emitError,
              mlir::RankedTensorType type, const Placement &placement);

/// Whether `getPlacedType` would succeed.
bool isLegalPlacement(llvm::ArrayRef<int64_t> shape,
                      const Placement &placement);

/// Checks the placement (if any) in one type, or in every type of an
/// operation and its nested operations: MLIR does it only when it parses.
mlir::LogicalResult
verifyPlacedType(llvm::function_ref<mlir::InFlightDiagnostic()> emitError,
                 mlir::Type type);

/// The tensor on one rank: local shape, no encoding. A type without placement
/// is returned as it is.
mlir::RankedTensorType getLocalType(mlir::RankedTensorType type);

/// Bytes of the tensor on one rank.
int64_t getLocalBytes(mlir::RankedTensorType type);

/// Bytes of an element.
int64_t getElementBytes(mlir::Type elementType);

/// "[{m, a}, {}] partial {b}", for diagnostics and remarks.
std::string describe(const Placement &placement);

} // namespace galv

#endif // GALV_DIALECTS_GALV_PLACEMENT_H
