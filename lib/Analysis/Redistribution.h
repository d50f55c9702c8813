//===- Redistribution.h - how to get from one placement to another -*- C++ -*-//
//
// A pure function: placements in, a sequence of local cuts and collectives out.
// Localise turns the steps into operations, insertion weighs their bytes.
//
// The order of preference is that of what costs least: a local slice where the
// target is split over axes that the value is replicated over; an all-to-all
// where an axis moves between dimensions; a reduce-scatter where a partial sum
// becomes a split; an all-reduce; and an all-gather only where nothing else
// makes room.
//
//===----------------------------------------------------------------------===//

#ifndef GALV_ANALYSIS_REDISTRIBUTION_H
#define GALV_ANALYSIS_REDISTRIBUTION_H

#include "dialects/Galv/Placement.h"

namespace galv {

struct RedistributionStep {
  enum Kind {
    slice,
    keepFirst,
    allGather,
    reduceScatter,
    allReduce,
    allToAll,
    pad,
    unpad,
    reshape
  };
  Kind kind;
  /// The group's axes; empty for pad, unpad and reshape.
  Axes axes;
  /// The dimension that is cut, joined, padded; for an all-to-all the one that
  /// is split, `gatherDimension` the other.
  int64_t dimension = 0, gatherDimension = 0;
  /// all-reduce: maximum instead of sum.
  bool max = false;
  /// Local shape before and after.
  llvm::SmallVector<int64_t> before, after;
};

struct RedistributionPlan {
  llvm::SmallVector<RedistributionStep> steps;

  /// Elements that one rank receives from others: (n-1) of n chunks of what an
  /// all-gather makes or a reduce-scatter reads, twice that for an all-reduce
  /// (ring algorithms; Thakur et al. 2005).
  int64_t getElementsReceived(const Placement &mesh) const;
};

/// Plans for a tensor of global `shape`. Both placements are legal for it and
/// on one mesh; no time axis is removed or moved.
RedistributionPlan planRedistribution(llvm::ArrayRef<int64_t> shape,
                                      const Placement &from,
                                      const Placement &to);

} // namespace galv

#endif // GALV_ANALYSIS_REDISTRIBUTION_H
