//===- Splits.cpp - every legal placement ---------------------------------===//

#include "test/Unit/Library/Splits.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Verifier.h"

using namespace mlir;
using namespace galv;

namespace {
constexpr int nowhere = -1, flattened = -2;

/// What happens over one axis: the factor that it splits, and the operands and
/// results (as bits) that are partial over it.
struct AxisState {
  int factor;
  unsigned operands, results;
};

/// Tries everything; the operation's own verifier decides.
class SplitFinder {
public:
  SplitFinder(Operation *op, MeshAttr mesh)
      : op(op), mesh(mesh), rule(*getFactorRule(op, getEmitter())),
        scratch(ModuleOp::create(op->getLoc())) {
    scratch.get()->setAttr(GalvDialect::placedAttrName,
                           UnitAttr::get(op->getContext()));
  }

  SmallVector<PlacedTypes> find() {
    ScopedDiagnosticHandler quiet(op->getContext(),
                                  [](Diagnostic &) { return success(); });
    SmallVector<AxisState> states;
    int first = rule.flat ? flattened : nowhere;
    for (int factor = first; factor < int(rule.factors.size()); ++factor)
      for (unsigned operands = 0; operands < 1u << op->getNumOperands();
           ++operands)
        for (unsigned results = 0; results < 1u << op->getNumResults();
             ++results)
          if (holdsAlone({factor, operands, results}))
            states.push_back({factor, operands, results});
    SmallVector<PlacedTypes> found;
    for (const AxisState &a : states)
      for (const AxisState &b : states) {
        tryOrder({{0, a}, {1, b}}, found);
        if (a.factor == b.factor && a.factor != nowhere)
          tryOrder({{1, b}, {0, a}}, found);
      }
    return found;
  }

private:
  using Order = ArrayRef<std::pair<int, AxisState>>;

  std::function<InFlightDiagnostic()> getEmitter() {
    return [this] { return op->emitOpError(); };
  }

  /// Whether the terms hold for one axis alone. They speak of each axis for
  /// itself, so what fails here fails beside any other axis too. The splits are
  /// not looked at: a minor factor splits only beside its major one.
  bool holdsAlone(const AxisState &state) {
    if (state.factor >= 0 && rule.factors[state.factor].whole)
      return false;
    Assignment assignment;
    assignment.axes.resize(rule.factors.size());
    assignment.pad.assign(rule.factors.size(), false);
    if (state.factor >= 0)
      assignment.axes[state.factor] = {0};
    if (state.factor == flattened)
      assignment.flat = {0};
    auto place = [&](TypeRange types, ArrayRef<TensorFactors> tensors,
                     unsigned partial, SmallVectorImpl<Type> &placed) {
      for (auto [i, type] : llvm::enumerate(types)) {
        auto tensor = cast<RankedTensorType>(type);
        Placement placement = Placement::replicated(mesh, tensor.getRank());
        for (auto [dim, factors] : llvm::enumerate(tensors[i]))
          if (llvm::is_contained(factors, state.factor))
            placement.dims[dim].axes = {0};
        if (state.factor == flattened && tensor.getRank() != 0)
          placement.flat = {0};
        if (partial >> i & 1) {
          if (placement.isSplitOver(0))
            return false;
          placement.addPartial(0);
        }
        placed.push_back(RankedTensorType::get(
            tensor.getShape(), tensor.getElementType(), placement.getAttr()));
      }
      return true;
    };
    PlacedTypes types;
    return place(op->getOperandTypes(), rule.operands, state.operands,
                 types.operands) &&
           place(op->getResultTypes(), rule.results, state.results,
                 types.results) &&
           succeeded(checkTerms(rule, assignment, types.operands, types.results,
                                getEmitter()));
  }

  void tryOrder(Order order, SmallVectorImpl<PlacedTypes> &found) {
    Assignment assignment;
    assignment.axes.resize(rule.factors.size());
    assignment.pad.assign(rule.factors.size(), false);
    for (const auto &[axis, state] : order)
      if (state.factor == flattened)
        assignment.flat.push_back(axis);
      else if (state.factor != nowhere)
        assignment.axes[state.factor].push_back(axis);
    PlacedTypes types;
    auto place = [&](Type type, const TensorFactors &factors,
                     function_ref<bool(const AxisState &)> isPartial,
                     SmallVectorImpl<Type> &placed) {
      std::optional<Placement> placement = getPlacement(
          rule, assignment, factors, Placement::replicated(mesh, 0));
      if (!placement)
        return false;
      for (const auto &[axis, state] : order)
        if (isPartial(state))
          placement->addPartial(axis);
      FailureOr<RankedTensorType> made =
          getPlacedType(getEmitter(), cast<RankedTensorType>(type), *placement);
      if (succeeded(made))
        placed.push_back(*made);
      return succeeded(made);
    };
    for (unsigned i = 0; i < op->getNumOperands(); ++i)
      if (!place(
              op->getOperand(i).getType(), rule.operands[i],
              [&](const AxisState &s) { return s.operands >> i & 1; },
              types.operands))
        return;
    for (unsigned i = 0; i < op->getNumResults(); ++i)
      if (!place(
              op->getResult(i).getType(), rule.results[i],
              [&](const AxisState &s) { return s.results >> i & 1; },
              types.results))
        return;
    func::FuncOp function = appendFunction(*scratch, op, types);
    if (succeeded(verify(function)))
      found.push_back(std::move(types));
    function.erase();
  }

  Operation *op;
  MeshAttr mesh;
  FactorRule rule;
  OwningOpRef<ModuleOp> scratch;
};

/// Puts one axis after the other into every place.
class PlacementFinder {
public:
  PlacementFinder(ArrayRef<int64_t> shape, Type elementType, MeshAttr mesh)
      : shape(shape), elementType(elementType), mesh(mesh),
        now(Placement::replicated(mesh, shape.size())) {}

  SmallVector<RankedTensorType> find() {
    place(0);
    llvm::append_range(sums, maxima);
    return std::move(sums);
  }

private:
  void insert(int axis, Axes &axes) {
    for (size_t at = 0; at <= axes.size(); ++at) {
      Axes before = axes;
      axes.insert(axes.begin() + at, axis);
      place(axis + 1);
      axes = before;
    }
  }
  void place(int axis) {
    if (axis == int(mesh.getNumAxes()))
      return add();
    place(axis + 1);
    for (Split &dim : now.dims)
      insert(axis, dim.axes);
    insert(axis, now.flat);
    now.addPartial(axis);
    place(axis + 1);
    now.removePartial(axis);
  }
  void add() {
    Placement made = now;
    for (auto [size, dim] : llvm::zip_equal(shape, made.dims))
      dim.pad = size % mesh.product(dim.axes) != 0;
    auto emit = [&] { return emitError(UnknownLoc::get(mesh.getContext())); };
    sums.push_back(*getPlacedType(emit, shape, elementType, made));
    if (made.partial.empty())
      return;
    made.partialMax = true;
    maxima.push_back(*getPlacedType(emit, shape, elementType, made));
  }

  ArrayRef<int64_t> shape;
  Type elementType;
  MeshAttr mesh;
  Placement now;
  SmallVector<RankedTensorType> sums, maxima;
};
} // namespace

PlacedTypes galv::getWholeTypes(Operation *op, MeshAttr mesh) {
  auto place = [&](TypeRange types) {
    return llvm::map_to_vector(types, [&](Type type) -> Type {
      auto tensor = cast<RankedTensorType>(type);
      return *getPlacedType([&] { return op->emitOpError(); }, tensor,
                            Placement::replicated(mesh, tensor.getRank()));
    });
  };
  return {place(op->getOperandTypes()), place(op->getResultTypes())};
}

SmallVector<PlacedTypes> galv::getAllSplits(Operation *op, MeshAttr mesh) {
  return SplitFinder(op, mesh).find();
}

SmallVector<RankedTensorType> galv::getAllPlacements(ArrayRef<int64_t> shape,
                                                     Type elementType,
                                                     MeshAttr mesh) {
  return PlacementFinder(shape, elementType, mesh).find();
}

func::FuncOp galv::appendFunction(ModuleOp module, Operation *op,
                                  const PlacedTypes &types) {
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  auto function = func::FuncOp::create(
      builder, op->getLoc(), "f",
      builder.getFunctionType(types.operands, types.results));
  Block *entry = function.addEntryBlock();
  builder.setInsertionPointToEnd(entry);
  IRMapping mapping;
  for (auto [from, to] :
       llvm::zip_equal(op->getOperands(), entry->getArguments()))
    mapping.map(from, to);
  Operation *copy = builder.clone(*op, mapping);
  for (auto [result, type] : llvm::zip_equal(copy->getResults(), types.results))
    result.setType(type);
  func::ReturnOp::create(builder, op->getLoc(), copy->getResults());
  return function;
}
