//===- FactorRule.cpp - from placed types to σ, and the rule of terms -----===//

#include "dialects/Galv/FactorRule.h"
#include "dialects/Galv/Galv.h"

using namespace mlir;
using namespace galv;

bool Term::isLinearIn(int operand) const {
  return llvm::is_contained(linear, operand);
}

bool FactorRule::has(const TensorFactors &tensor, int factor) {
  return llvm::any_of(tensor, [&](const DimensionFactors &dim) {
    return llvm::is_contained(dim, factor);
  });
}

bool FactorRule::isReduction(int factor, int operand, int result) const {
  return !factors[factor].closed && has(operands[operand], factor) &&
         !has(results[result], factor);
}

//===----------------------------------------------------------------------===//
// Reading σ off types
//===----------------------------------------------------------------------===//

namespace {
/// Where a factor's axes were first read.
struct Origin {
  bool isResult = false;
  int tensor = -1, dim = -1;
};
} // namespace

static std::string name(const Origin &origin) {
  return "dimension " + std::to_string(origin.dim) + " of " +
         (origin.isResult ? "result " : "operand ") +
         std::to_string(origin.tensor);
}

static std::string name(const Placement &placement, ArrayRef<int32_t> axes) {
  std::string text = "{";
  for (auto [i, axis] : llvm::enumerate(axes))
    text += (i ? ", " : "") + placement.getMesh().getName(axis).str();
  return text + "}";
}

/// Gives the axes of one dimension to its factors: the major factor is filled
/// first, and no axis straddles two.
static LogicalResult distribute(const FactorRule &rule,
                                const DimensionFactors &factors,
                                const Placement &placement, const Split &split,
                                const Origin &origin,
                                SmallVectorImpl<Axes> &perFactor,
                                function_ref<InFlightDiagnostic()> emitError) {
  perFactor.assign(factors.size(), {});
  if (factors.size() == 1) {
    perFactor.front() = split.axes;
    return success();
  }
  size_t current = 0;
  int64_t left = rule.factors[factors.front()].size;
  for (int32_t axis : split.axes) {
    while (left == 1 && current + 1 < factors.size())
      left = rule.factors[factors[++current]].size;
    int64_t n = placement.getMesh().getSize(axis);
    if (left % n != 0)
      return emitError() << name(origin) << ": axis '"
                         << placement.getMesh().getName(axis) << "' of size "
                         << n << " does not divide the " << left
                         << " left of factor '"
                         << rule.factors[factors[current]].name << "'";
    left /= n;
    perFactor[current].push_back(axis);
  }
  return success();
}

FailureOr<Assignment>
galv::deriveAssignment(const FactorRule &rule, TypeRange operands,
                       TypeRange results,
                       function_ref<InFlightDiagnostic()> emitError) {
  Assignment assignment;
  assignment.axes.resize(rule.factors.size());
  assignment.pad.assign(rule.factors.size(), false);
  SmallVector<Origin> origins(rule.factors.size());
  Attribute mesh;
  Origin flatOrigin;
  std::optional<TensorFactors> flatDims;

  auto read = [&](bool isResult, int index, Type type,
                  const TensorFactors &dims) -> LogicalResult {
    std::optional<Placement> placement = Placement::of(type);
    if (!placement)
      return emitError() << (isResult ? "result " : "operand ") << index
                         << " has no placement: " << type;
    if (mesh && placement->mesh != mesh)
      return emitError() << (isResult ? "result " : "operand ") << index
                         << " lies on mesh " << placement->mesh
                         << ", another on " << mesh;
    mesh = placement->mesh;
    for (auto [dim, factors] : llvm::enumerate(dims)) {
      Origin origin{isResult, index, static_cast<int>(dim)};
      const Split &split = placement->dims[dim];
      SmallVector<Axes> perFactor;
      if (failed(distribute(rule, factors, *placement, split, origin, perFactor,
                            emitError)))
        return failure();
      for (auto [factor, axes] : llvm::zip_equal(factors, perFactor)) {
        const Factor &info = rule.factors[factor];
        if (info.whole && !axes.empty())
          return emitError()
                 << name(origin) << " is split over " << name(*placement, axes)
                 << ", but factor '" << info.name << "' must stay whole";
        if (split.pad && !info.pad)
          return emitError() << name(origin) << " is padded, but factor '"
                             << info.name << "' cannot be";
        if (origins[factor].tensor < 0) {
          origins[factor] = origin;
          assignment.axes[factor] = axes;
          assignment.pad[factor] = split.pad;
          continue;
        }
        if (assignment.axes[factor] != axes)
          return emitError()
                 << name(origin) << " is split over " << name(*placement, axes)
                 << ", " << name(origins[factor]) << " over "
                 << name(*placement, assignment.axes[factor]);
      }
    }
    // A scalar beside flattened values has nothing to flatten.
    if (dims.empty() && placement->flat.empty())
      return success();
    if (!placement->flat.empty() && !rule.flat)
      return emitError() << (isResult ? "result " : "operand ") << index
                         << " is flattened over "
                         << name(*placement, placement->flat)
                         << ", which this operation does not take";
    if (!placement->flat.empty()) {
      // Flattened values correspond element by element only in one shape.
      if (!flatDims)
        flatDims = dims;
      else if (*flatDims != dims)
        return emitError() << (isResult ? "result " : "operand ") << index
                           << " is flattened, and so is "
                           << (flatOrigin.isResult ? "result " : "operand ")
                           << flatOrigin.tensor << " of another shape";
    }
    if (flatOrigin.tensor < 0) {
      flatOrigin = {isResult, index, 0};
      assignment.flat = placement->flat;
    } else if (assignment.flat != placement->flat) {
      return emitError() << (isResult ? "result " : "operand ") << index
                         << " is flattened over "
                         << name(*placement, placement->flat) << ", "
                         << (flatOrigin.isResult ? "result " : "operand ")
                         << flatOrigin.tensor << " over "
                         << name(*placement, assignment.flat);
    }
    return success();
  };
  for (auto [index, type] : llvm::enumerate(operands))
    if (failed(read(false, index, type, rule.operands[index])))
      return failure();
  for (auto [index, type] : llvm::enumerate(results))
    if (failed(read(true, index, type, rule.results[index])))
      return failure();

  // Rule 2: an axis belongs to one factor at most.
  llvm::SmallDenseMap<int32_t, int> owner;
  for (auto [factor, axes] : llvm::enumerate(assignment.axes))
    for (int32_t axis : axes) {
      auto [it, fresh] = owner.try_emplace(axis, factor);
      if (!fresh)
        return emitError() << "axis '" << cast<MeshAttr>(mesh).getName(axis)
                           << "' splits " << name(origins[it->second])
                           << " and " << name(origins[factor])
                           << ", which do not correspond";
    }
  return assignment;
}

//===----------------------------------------------------------------------===//
// Rule 4
//===----------------------------------------------------------------------===//

LogicalResult galv::checkTerms(const FactorRule &rule,
                               const Assignment &assignment, TypeRange operands,
                               TypeRange results,
                               function_ref<InFlightDiagnostic()> emitError) {
  SmallVector<Placement> placements;
  for (Type type : operands)
    placements.push_back(*Placement::of(type));
  auto axisName = [&](int axis) {
    return placements.empty() ? StringRef()
                              : placements.front().getMesh().getName(axis);
  };
  for (auto [r, type] : llvm::enumerate(results)) {
    Placement result = *Placement::of(type);
    if (result.partialMax)
      return emitError() << "result " << r << " is " << describe(result)
                         << ", but an operation's results are sums";
    if (rule.terms[r].empty() && !result.partial.empty())
      return emitError() << "result " << r << " is " << describe(result)
                         << ", but nothing makes it partial";
    for (const Term &term : rule.terms[r]) {
      Axes carried;
      SmallVector<int> seen;
      for (int o : term.reads) {
        for (size_t f = 0; f < rule.factors.size(); ++f)
          if (rule.isReduction(f, o, r) && !llvm::is_contained(seen, f)) {
            seen.push_back(f);
            llvm::append_range(carried, assignment.axes[f]);
          }
        if (rule.results[r].empty() && !placements[o].flat.empty())
          llvm::append_range(carried, placements[o].flat);
      }
      for (int o : term.reads)
        for (int32_t axis : placements[o].partial) {
          if (!term.isLinearIn(o) || placements[o].partialMax)
            return emitError()
                   << "operand " << o << " is a partial sum over '"
                   << axisName(axis) << "' (" << describe(placements[o])
                   << "), but result " << r << " is not linear in it";
          for (int other : term.reads)
            if (other != o && (placements[other].isPartialOver(axis) ||
                               placements[other].isSplitOver(axis)))
              return emitError()
                     << "operand " << o << " is a partial sum over '"
                     << axisName(axis) << "' (" << describe(placements[o])
                     << "), and operand " << other << ", which it is "
                     << "multiplied with, is split or partial over it too ("
                     << describe(placements[other]) << ")";
          carried.push_back(axis);
        }
      llvm::sort(carried);
      for (size_t i = 1; i < carried.size(); ++i)
        if (carried[i] == carried[i - 1])
          return emitError()
                 << "result " << r << " would be a partial sum over '"
                 << axisName(carried[i]) << "' twice";
      if (carried != result.partial) {
        Placement wanted = result;
        wanted.partial = carried;
        return emitError() << "result " << r << " is " << describe(result)
                           << ", but its operands make it " << describe(wanted);
      }
    }
  }
  return success();
}

//===----------------------------------------------------------------------===//
// From σ to placements
//===----------------------------------------------------------------------===//

std::optional<Placement> galv::getPlacement(const FactorRule &rule,
                                            const Assignment &assignment,
                                            const TensorFactors &tensor,
                                            const Placement &mesh) {
  Placement placement;
  placement.mesh = mesh.mesh;
  for (const DimensionFactors &factors : tensor) {
    Split split;
    bool full = true; // all factors so far are fully split
    for (int factor : factors) {
      const Axes &axes = assignment.axes[factor];
      int64_t size = rule.factors[factor].size;
      if (!axes.empty() && !full)
        return std::nullopt;
      int64_t n = mesh.getMesh().product(axes);
      if (factors.size() > 1 && size % n != 0)
        return std::nullopt;
      full = full && n == size;
      llvm::append_range(split.axes, axes);
      if (size % n != 0) {
        if (!rule.factors[factor].pad)
          return std::nullopt;
        split.pad = true;
      }
    }
    placement.dims.push_back(split);
  }
  if (rule.flat && !tensor.empty())
    placement.flat = assignment.flat;
  return placement;
}

//===----------------------------------------------------------------------===//
// The verifier of every operation with a rule
//===----------------------------------------------------------------------===//

LogicalResult galv::verifyFactorRule(Operation *op) {
  auto emitError = [&]() { return op->emitOpError(); };
  FloatType floatType;
  for (Type type :
       llvm::concat<const Type>(SmallVector<Type>(op->getOperandTypes()),
                                SmallVector<Type>(op->getResultTypes()))) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor || !tensor.hasStaticShape() ||
        llvm::is_contained(tensor.getShape(), 0))
      return emitError() << "takes and gives tensors of fixed, non-zero sizes, "
                         << "not " << type;
    if (auto element = dyn_cast<FloatType>(tensor.getElementType())) {
      if (floatType && floatType != element)
        return emitError() << "mixes element types " << floatType << " and "
                           << element;
      floatType = element;
    }
    if (failed(verifyPlacedType(emitError, type)))
      return failure();
  }
  ModuleOp module = op->getParentOfType<ModuleOp>();
  bool placed = module && module->hasAttr(GalvDialect::placedAttrName);
  FailureOr<FactorRule> rule = getFactorRule(op, emitError);
  if (failed(rule))
    return failure();
  for (auto [r, pair] :
       llvm::enumerate(llvm::zip_equal(rule->results, op->getResultTypes()))) {
    auto [dims, type] = pair;
    auto tensor = cast<RankedTensorType>(type);
    if (static_cast<int64_t>(dims.size()) != tensor.getRank())
      return emitError() << "result " << r << " has " << tensor.getRank()
                         << " dimensions, its rule gives " << dims.size();
    for (auto [d, factors] : llvm::enumerate(dims)) {
      int64_t size = 1;
      for (int factor : factors)
        size *= rule->factors[factor].size;
      // A local shape may hold fewer rows than the attribute that gives the
      // global number.
      bool local = !Placement::of(type) && llvm::any_of(factors, [&](int f) {
        return rule->factors[f].indexed;
      });
      if (size != tensor.getDimSize(d) && !local)
        return emitError() << "dimension " << d << " of result " << r
                           << " has size " << tensor.getDimSize(d)
                           << ", its operands give " << size;
    }
  }
  if (!placed || (op->getNumOperands() + op->getNumResults() == 0))
    return success();
  FailureOr<Assignment> assignment = deriveAssignment(
      *rule, op->getOperandTypes(), op->getResultTypes(), emitError);
  if (failed(assignment))
    return failure();
  return checkTerms(*rule, *assignment, op->getOperandTypes(),
                    op->getResultTypes(), emitError);
}
