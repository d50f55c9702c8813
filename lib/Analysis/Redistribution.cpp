//===- Redistribution.cpp - how to get from one placement to another ------===//

#include "lib/Analysis/Redistribution.h"
#include "dialects/Galv/Galv.h"

using namespace mlir;
using namespace galv;

namespace {
using Step = RedistributionStep;

/// Walks from one placement to the other, one step at a time.
class Planner {
public:
  Planner(ArrayRef<int64_t> shape, const Placement &from, const Placement &to)
      : shape(shape), now(from), to(to), extents(from.localShape(shape)) {}

  RedistributionPlan plan() {
    if (now.sameSplits(to)) {
      reducePartial([](int32_t) { return true; });
      keepFirst();
      return std::move(result);
    }
    leaveFlat();
    while (now.dims != to.dims && step()) {
    }
    enterFlat();
    reducePartial([](int32_t) { return true; });
    keepFirst();
    return std::move(result);
  }

private:
  //===--------------------------------------------------------------------===//
  // What is left to do
  //===--------------------------------------------------------------------===//

  /// Number of leading axes of a dimension that stay. A padded dimension whose
  /// axes change goes through the whole dimension.
  size_t kept(size_t dim) const {
    const Split &a = now.dims[dim], &b = to.dims[dim];
    if (a == b)
      return a.axes.size();
    if (a.pad || b.pad)
      return 0;
    size_t n = 0;
    while (n < a.axes.size() && n < b.axes.size() && a.axes[n] == b.axes[n])
      ++n;
    return n;
  }
  Axes toRemove(size_t dim) const {
    return Axes(ArrayRef(now.dims[dim].axes).drop_front(kept(dim)));
  }
  /// Empty while there are axes to remove first.
  Axes toAdd(size_t dim) const {
    if (!toRemove(dim).empty())
      return {};
    return Axes(ArrayRef(to.dims[dim].axes).drop_front(kept(dim)));
  }
  bool isFree(int32_t axis) const {
    return !now.isPartialOver(axis) && !now.isSplitOver(axis);
  }
  bool willSplit(int32_t axis) const { return to.isSplitOver(axis); }

  //===--------------------------------------------------------------------===//
  // Steps
  //===--------------------------------------------------------------------===//

  void add(Step::Kind kind, ArrayRef<int32_t> axes, int64_t dimension,
           ArrayRef<int64_t> after, int64_t gatherDimension = 0,
           bool max = false) {
    Step step;
    step.kind = kind;
    step.axes.assign(axes.begin(), axes.end());
    step.dimension = dimension;
    step.gatherDimension = gatherDimension;
    step.max = max;
    step.before = extents;
    step.after.assign(after.begin(), after.end());
    extents = step.after;
    result.steps.push_back(std::move(step));
  }
  void scale(Step::Kind kind, ArrayRef<int32_t> axes, size_t dim) {
    SmallVector<int64_t> after = extents;
    int64_t n = now.product(axes);
    after[dim] = kind == Step::allGather ? after[dim] * n : after[dim] / n;
    add(kind, axes, dim, after);
  }
  /// Pads or cuts one dimension to `size`; nothing where it has that already.
  void resize(size_t dim, int64_t size) {
    if (extents[dim] == size)
      return;
    SmallVector<int64_t> after = extents;
    after[dim] = size;
    add(size > extents[dim] ? Step::pad : Step::unpad, {}, dim, after);
  }

  /// The leading run of `axes` that fits `accept`; all or nothing where the
  /// dimension is padded.
  template <typename Accept>
  Axes leadingRun(size_t dim, Accept accept) const {
    Axes axes = toAdd(dim);
    size_t n = 0;
    while (n < axes.size() && accept(axes[n]))
      ++n;
    if (to.dims[dim].pad && n != axes.size())
      return {};
    axes.resize(n);
    return axes;
  }
  /// Cuts a dimension further, by slice or reduce-scatter.
  void cut(Step::Kind kind, size_t dim, const Axes &axes) {
    if (to.dims[dim].pad) {
      int64_t n = now.product(axes);
      resize(dim, (extents[dim] + n - 1) / n * n);
      now.dims[dim].pad = true;
    }
    scale(kind, axes, dim);
    llvm::append_range(now.dims[dim].axes, axes);
    if (kind == Step::reduceScatter)
      for (int32_t axis : axes)
        now.removePartial(axis);
  }

  bool trySlice() {
    for (size_t dim = 0; dim < now.dims.size(); ++dim) {
      Axes axes = leadingRun(dim, [&](int32_t axis) { return isFree(axis); });
      if (axes.empty())
        continue;
      cut(Step::slice, dim, axes);
      return true;
    }
    return false;
  }
  bool tryAllToAll() {
    for (size_t from = 0; from < now.dims.size(); ++from) {
      Axes leaving = toRemove(from);
      if (leaving.empty() || now.dims[from].pad || to.dims[from].pad)
        continue;
      for (size_t onto = 0; onto < now.dims.size(); ++onto) {
        Axes arriving = toAdd(onto);
        if (onto == from || arriving.empty() || to.dims[onto].pad)
          continue;
        for (size_t n = std::min(leaving.size(), arriving.size()); n > 0; --n) {
          ArrayRef<int32_t> axes = ArrayRef(leaving).take_back(n);
          if (axes != ArrayRef(arriving).take_front(n))
            continue;
          SmallVector<int64_t> after = extents;
          after[onto] /= now.product(axes);
          after[from] *= now.product(axes);
          add(Step::allToAll, axes, onto, after, from);
          llvm::append_range(now.dims[onto].axes, Axes(axes));
          now.dims[from].axes.truncate(now.dims[from].axes.size() - n);
          return true;
        }
      }
    }
    return false;
  }
  bool tryReduceScatter() {
    if (now.partialMax)
      return false;
    for (size_t dim = 0; dim < now.dims.size(); ++dim) {
      Axes axes = leadingRun(
          dim, [&](int32_t axis) { return now.isPartialOver(axis); });
      if (axes.empty())
        continue;
      cut(Step::reduceScatter, dim, axes);
      return true;
    }
    return false;
  }
  template <typename Accept>
  bool reducePartial(Accept accept) {
    Axes axes;
    for (int32_t axis : now.partial)
      if (!to.isPartialOver(axis) && accept(axis))
        axes.push_back(axis);
    if (axes.empty())
      return false;
    add(Step::allReduce, axes, 0, SmallVector<int64_t>(extents), 0,
        now.partialMax);
    for (int32_t axis : axes)
      now.removePartial(axis);
    return true;
  }
  bool tryGather() {
    for (size_t dim = 0; dim < now.dims.size(); ++dim) {
      Axes axes = toRemove(dim);
      if (axes.empty())
        continue;
      scale(Step::allGather, axes, dim);
      now.dims[dim].axes.truncate(now.dims[dim].axes.size() - axes.size());
      if (now.dims[dim].pad) {
        resize(dim, shape[dim]);
        now.dims[dim].pad = false;
      }
      return true;
    }
    return false;
  }
  bool step() {
    if (trySlice() || tryAllToAll() || tryReduceScatter())
      return true;
    // What stays a sum over an axis that nothing will be split over is reduced
    // before anything grows; where the result is flattened, on the smaller
    // piece after that.
    if (to.flat.empty() &&
        reducePartial([&](int32_t axis) { return !willSplit(axis); }))
      return true;
    return tryGather() || reducePartial([&](int32_t axis) {
             return !llvm::is_contained(to.flat, axis);
           });
  }

  //===--------------------------------------------------------------------===//
  // Flattened values, and partial sums of nothing
  //===--------------------------------------------------------------------===//

  static int64_t count(ArrayRef<int64_t> extents) {
    int64_t n = 1;
    for (int64_t extent : extents)
      n *= extent;
    return n;
  }
  void leaveFlat() {
    if (now.flat.empty())
      return;
    SmallVector<int64_t> unflat = now.localShapeBeforeFlat(shape);
    scale(Step::allGather, now.flat, 0);
    resize(0, count(unflat));
    add(Step::reshape, {}, 0, unflat);
    now.flat.clear();
  }
  void enterFlat() {
    if (to.flat.empty())
      return;
    add(Step::reshape, {}, 0, {count(extents)});
    int64_t n = now.product(to.flat);
    resize(0, (extents[0] + n - 1) / n * n);
    bool allPartial =
        !now.partialMax && llvm::all_of(to.flat, [&](int32_t axis) {
          return now.isPartialOver(axis);
        });
    if (!allPartial)
      reducePartial(
          [&](int32_t axis) { return llvm::is_contained(to.flat, axis); });
    scale(allPartial ? Step::reduceScatter : Step::slice, to.flat, 0);
    for (int32_t axis : to.flat)
      now.removePartial(axis);
    now.flat = to.flat;
  }
  void keepFirst() {
    Axes axes;
    for (int32_t axis : to.partial)
      if (!now.isPartialOver(axis))
        axes.push_back(axis);
    if (!axes.empty())
      add(Step::keepFirst, axes, 0, SmallVector<int64_t>(extents));
  }

  ArrayRef<int64_t> shape;
  Placement now;
  const Placement &to;
  SmallVector<int64_t> extents;
  RedistributionPlan result;
};
} // namespace

RedistributionPlan galv::planRedistribution(ArrayRef<int64_t> shape,
                                            const Placement &from,
                                            const Placement &to) {
  return Planner(shape, from, to).plan();
}

int64_t RedistributionPlan::getElementsReceived(const Placement &mesh) const {
  int64_t received = 0;
  for (const RedistributionStep &step : steps) {
    int64_t n = mesh.product(step.axes);
    int64_t before = 1, after = 1;
    for (int64_t extent : step.before)
      before *= extent;
    for (int64_t extent : step.after)
      after *= extent;
    switch (step.kind) {
    case Step::allGather:
      received += (n - 1) * before;
      break;
    case Step::reduceScatter:
      received += (n - 1) * after;
      break;
    case Step::allReduce:
      received += 2 * (n - 1) * ((before + n - 1) / n);
      break;
    case Step::allToAll:
      received += (n - 1) * (before / n);
      break;
    default:
      break;
    }
  }
  return received;
}
