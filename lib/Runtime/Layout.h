//===- Layout.h - from elements at rest to the checkpoint -------*- C++ -*-===//
//
// The one place that knows where an element of a rank's rest lies in its
// checkpoint tensor. Initial values, loading, saving and dumping all go
// through `RestLayout::forEachRun`.
//
//===----------------------------------------------------------------------===//

#ifndef GALV_LIB_RUNTIME_LAYOUT_H
#define GALV_LIB_RUNTIME_LAYOUT_H

#include "galv/runtime.h"

#include <algorithm>
#include <string>
#include <vector>

namespace galv {

/// Where the rest of one parameter lies on the rank with these coordinates.
class RestLayout {
public:
  RestLayout(const Program &program, const Parameter &parameter,
             const std::vector<int64_t> &coordinates);

  /// Elements of the local rest, padding included.
  int64_t elements() const { return end - begin; }

  /// Whether this rank is the one that saves these elements: coordinate 0 on
  /// every mesh axis over which the rest is replicated.
  bool owner() const { return owner_; }

  /// Calls run(local, checkpoint, stride, count) for consecutive elements at
  /// rest `local, local + 1, ...` that are the elements `checkpoint, checkpoint
  /// + stride, ...` of the row-major checkpoint tensor. Padding is skipped.
  template <typename Run>
  void forEachRun(Run run) const {
    if (columns == 0 || end <= begin)
      return;
    int64_t last = std::min(validRows, (end - 1) / columns + 1);
    for (int64_t row = begin / columns; row < last; ++row) {
      int64_t first = std::max(row * columns, begin);
      int64_t stop = std::min(row * columns + validColumns, end);
      if (first < stop)
        run(first - begin,
            origin + row * rowStride + (first - row * columns) * columnStride,
            columnStride, stop - first);
    }
  }

private:
  int64_t columns;                 // of the local tensor before it is flat
  int64_t validRows, validColumns; // without padding
  int64_t begin, end;              // this rank's piece of the flat tensor
  int64_t origin, rowStride, columnStride; // in the checkpoint tensor
  bool owner_;
};

/// `pattern` with `{layer}` replaced.
std::string layerName(const char *pattern, int layer);

/// Elements of a parameter's checkpoint tensor.
int64_t checkpointElements(const Parameter &parameter);

/// The mesh coordinates of the rank at `position` of its stage.
std::vector<int64_t> coordinatesOf(const Program &program, int64_t position);

} // namespace galv

#endif // GALV_LIB_RUNTIME_LAYOUT_H
