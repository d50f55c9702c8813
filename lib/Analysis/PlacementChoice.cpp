//===- PlacementChoice.cpp - the σ that moves least -----------------------===//

#include "lib/Analysis/PlacementChoice.h"
#include "dialects/Galv/Galv.h"
#include "lib/Analysis/Redistribution.h"
#include <limits>
#include <tuple>

using namespace mlir;
using namespace galv;

namespace {
/// What one mesh axis does in a candidate: split a factor, stay a partial sum
/// from operands to results, or nothing.
constexpr int stayPartial = -1, unused = -2;

using Cost = std::tuple<int64_t, int64_t, int64_t>;

class Chooser {
public:
  Chooser(Operation *op, MeshAttr mesh, const FactorRule &rule,
          ArrayRef<OperandState> operands, ArrayRef<ResultState> results)
      : op(op), mesh(mesh), rule(rule), operands(operands), results(results) {}

  FailureOr<PlacementChoice> choose();

private:
  LogicalResult collectOptions();
  LogicalResult emitIndivisible(size_t operand, const Placement &version);
  void enumerate(size_t axis);
  void evaluate();
  bool wantPartials(PlacementChoice &candidate);
  std::optional<Axes> getPartial(const PlacementChoice &candidate,
                                 size_t result) const;
  int64_t getBytes(size_t operand, const Placement &wanted) const;
  RankedTensorType getOperandType(size_t o) const {
    return cast<RankedTensorType>(op->getOperand(o).getType());
  }

  Operation *op;
  MeshAttr mesh;
  const FactorRule &rule;
  ArrayRef<OperandState> operands;
  ArrayRef<ResultState> results;

  SmallVector<SmallVector<int, 4>> options; // per mesh axis
  SmallVector<int> roles;                   // per mesh axis
  std::optional<PlacementChoice> best;
  Cost bestCost;
};
} // namespace

/// Notes which factors each axis splits in `placement`.
static bool addOptions(const FactorRule &rule, const TensorFactors &dims,
                       const Placement &placement,
                       SmallVectorImpl<SmallVector<int, 4>> &options) {
  auto add = [&](int axis, int role) {
    if (!llvm::is_contained(options[axis], role))
      options[axis].push_back(role);
  };
  bool fits = true;
  for (auto [factors, split] : llvm::zip_equal(dims, placement.dims)) {
    size_t current = 0;
    int64_t left = rule.factors[factors.front()].size;
    for (int32_t axis : split.axes) {
      int64_t n = placement.getMesh().getSize(axis);
      while (factors.size() > 1 && left == 1 && current + 1 < factors.size())
        left = rule.factors[factors[++current]].size;
      if (factors.size() > 1 && left % n != 0) {
        fits = false;
        break;
      }
      left /= n;
      if (!rule.factors[factors[current]].whole)
        add(axis, factors[current]);
    }
  }
  for (int32_t axis : placement.partial)
    add(axis, stayPartial);
  return fits;
}

/// A compound dimension (heads and their elements) is split unevenly.
LogicalResult Chooser::emitIndivisible(size_t o, const Placement &version) {
  InFlightDiagnostic diag = op->emitError() << getModulePath(op) << ": operand "
                                            << o << " is " << describe(version);
  for (auto [factors, split] : llvm::zip_equal(rule.operands[o], version.dims))
    if (factors.size() > 1 && !split.axes.empty())
      diag << ", but its " << rule.factors[factors.front()].size
           << " heads are not divisible by " << version.product(split.axes);
  return diag;
}

LogicalResult Chooser::collectOptions() {
  options.resize(mesh.getNumAxes());
  roles.assign(mesh.getNumAxes(), unused);
  for (auto [o, state] : llvm::enumerate(operands))
    for (const Placement &version : state.versions)
      if (!addOptions(rule, rule.operands[o], version, options))
        return emitIndivisible(o, version);
  for (auto [r, state] : llvm::enumerate(results))
    if (state.fixed)
      addOptions(rule, rule.results[r], *state.fixed, options);
  for (auto &axisOptions : options) {
    // Factors in their order, then partial, then nothing.
    llvm::sort(axisOptions, [](int a, int b) {
      return (a < 0 ? std::numeric_limits<int>::max() + a : a) <
             (b < 0 ? std::numeric_limits<int>::max() + b : b);
    });
    axisOptions.push_back(unused);
  }
  return success();
}

void Chooser::enumerate(size_t axis) {
  if (axis == options.size())
    return evaluate();
  for (int role : options[axis]) {
    roles[axis] = role;
    enumerate(axis + 1);
  }
}

/// Marks the operands that must be partial so that every term carries the same
/// axes; false where no operand can.
bool Chooser::wantPartials(PlacementChoice &candidate) {
  for (size_t axis = 0; axis < roles.size(); ++axis) {
    if (roles[axis] == unused)
      continue;
    for (size_t r = 0; r < rule.results.size(); ++r) {
      auto carries = [&](const Term &term) {
        return llvm::any_of(term.reads, [&](int o) {
          return (roles[axis] >= 0 && rule.isReduction(roles[axis], o, r)) ||
                 candidate.operands[o].isPartialOver(axis);
        });
      };
      bool needed =
          roles[axis] == stayPartial || llvm::any_of(rule.terms[r], carries);
      if (!needed)
        continue;
      for (const Term &term : rule.terms[r]) {
        if (carries(term))
          continue;
        int chosen = -1;
        for (int o : term.linear) {
          if (candidate.operands[o].isSplitOver(axis))
            continue;
          bool atHand =
              llvm::any_of(operands[o].versions, [&](const Placement &p) {
                return p.isPartialOver(axis);
              });
          if (atHand || chosen < 0)
            chosen = o;
          if (atHand)
            break;
        }
        if (chosen < 0)
          return false;
        candidate.operands[chosen].addPartial(axis);
      }
    }
  }
  return true;
}

/// Rule 4 for one result: what all its terms carry; none where they disagree
/// or a term may not carry what its operands hold.
std::optional<Axes> Chooser::getPartial(const PlacementChoice &candidate,
                                        size_t result) const {
  std::optional<Axes> partial;
  for (const Term &term : rule.terms[result]) {
    Axes carried;
    for (size_t f = 0; f < rule.factors.size(); ++f)
      if (llvm::any_of(term.reads,
                       [&](int o) { return rule.isReduction(f, o, result); }))
        llvm::append_range(carried, candidate.assignment.axes[f]);
    for (int o : term.reads) {
      if (rule.results[result].empty() && !rule.operands[o].empty())
        llvm::append_range(carried, candidate.operands[o].flat);
      for (int32_t axis : candidate.operands[o].partial) {
        if (!term.isLinearIn(o))
          return std::nullopt;
        for (int other : term.reads)
          if (other != o && (candidate.operands[other].isPartialOver(axis) ||
                             candidate.operands[other].isSplitOver(axis)))
            return std::nullopt;
        carried.push_back(axis);
      }
    }
    llvm::sort(carried);
    if (std::adjacent_find(carried.begin(), carried.end()) != carried.end() ||
        (partial && *partial != carried))
      return std::nullopt;
    partial = carried;
  }
  return partial ? partial : Axes();
}

int64_t Chooser::getBytes(size_t o, const Placement &wanted) const {
  if (operands[o].anywhere || llvm::is_contained(operands[o].versions, wanted))
    return 0;
  RankedTensorType type = getOperandType(o);
  int64_t least = std::numeric_limits<int64_t>::max();
  for (const Placement &version : operands[o].versions)
    least = std::min(least, planRedistribution(type.getShape(), version, wanted)
                                    .getElementsReceived(wanted) *
                                getElementBytes(type.getElementType()));
  return least;
}

void Chooser::evaluate() {
  PlacementChoice candidate;
  candidate.assignment.axes.resize(rule.factors.size());
  candidate.assignment.pad.assign(rule.factors.size(), false);
  for (size_t axis = 0; axis < roles.size(); ++axis)
    if (roles[axis] >= 0)
      candidate.assignment.axes[roles[axis]].push_back(axis);
  for (Axes &axes : candidate.assignment.axes)
    mesh.sortAxes(axes);
  for (const OperandState &state : operands)
    for (const Placement &version : state.versions)
      if (!version.flat.empty())
        candidate.assignment.flat = version.flat;

  Placement base = Placement::replicated(mesh, 0);
  for (size_t o = 0; o < operands.size(); ++o) {
    std::optional<Placement> placement =
        getPlacement(rule, candidate.assignment, rule.operands[o], base);
    if (!placement)
      return;
    if (operands[o].isUse &&
        !operands[o].versions.front().sameSplits(*placement))
      return;
    candidate.operands.push_back(*placement);
  }
  for (size_t r = 0; r < results.size(); ++r) {
    std::optional<Placement> placement =
        getPlacement(rule, candidate.assignment, rule.results[r], base);
    if (!placement)
      return;
    candidate.results.push_back(*placement);
  }
  if (!wantPartials(candidate))
    return;
  int64_t partialAxes = 0, bytes = 0, local = 0;
  for (size_t r = 0; r < results.size(); ++r) {
    std::optional<Axes> partial = getPartial(candidate, r);
    if (!partial)
      return;
    candidate.results[r].partial = *partial;
    partialAxes += partial->size();
    if (const auto &fixed = results[r].fixed) {
      if (!fixed->sameSplits(candidate.results[r]) ||
          (!results[r].splitsOnly && *fixed != candidate.results[r]))
        return;
    }
  }
  for (size_t o = 0; o < operands.size(); ++o) {
    RankedTensorType type = getOperandType(o);
    const Placement &wanted = candidate.operands[o];
    if (!isLegalPlacement(type.getShape(), wanted) ||
        (!wanted.partial.empty() && !isa<FloatType>(type.getElementType())))
      return;
    bytes += getBytes(o, wanted);
    int64_t elements = 1;
    for (int64_t extent : wanted.localShape(type.getShape()))
      elements *= extent;
    local += elements * getElementBytes(type.getElementType());
  }
  Cost cost(bytes, partialAxes, local);
  if (best && cost >= bestCost)
    return;
  best = std::move(candidate);
  bestCost = cost;
}

FailureOr<PlacementChoice> Chooser::choose() {
  if (failed(collectOptions()))
    return failure();
  enumerate(0);
  if (best)
    return std::move(*best);
  InFlightDiagnostic diag = op->emitError()
                            << getModulePath(op)
                            << ": no split of its factors gives ";
  for (auto [r, state] : llvm::enumerate(results))
    if (state.fixed)
      diag << "result " << r << " " << describe(*state.fixed) << ' ';
  diag << "from the placements of its operands";
  for (auto [o, state] : llvm::enumerate(operands))
    for (const Placement &version : state.versions)
      diag.attachNote(op->getOperand(o).getLoc())
          << "operand " << o << " is " << describe(version);
  return diag;
}

FailureOr<PlacementChoice>
galv::choosePlacement(Operation *op, MeshAttr mesh,
                      ArrayRef<OperandState> operands,
                      ArrayRef<ResultState> results) {
  FailureOr<FactorRule> rule =
      getFactorRule(op, [&] { return op->emitOpError(); });
  if (failed(rule))
    return failure();
  return Chooser(op, mesh, *rule, operands, results).choose();
}
