//===- ArenaPlan.h - offsets of buffers by the time they live ---*- C++ -*-===//

#ifndef GALV_ANALYSIS_ARENAPLAN_H
#define GALV_ANALYSIS_ARENAPLAN_H

#include "llvm/ADT/SmallVector.h"
#include <cstdint>

namespace galv {

/// Every buffer starts at a cache line.
inline int64_t alignArena(int64_t bytes) { return (bytes + 63) / 64 * 64; }

/// Places buffers so that no two that live at the same time overlap: in order
/// of first use, each at the lowest offset that is free (first fit).
class ArenaPlan {
public:
  /// A buffer that lives from `begin` to `end`, both included.
  void add(int64_t bytes, int64_t begin, int64_t end) {
    entries.push_back({alignArena(bytes), begin, end, 0});
  }
  /// Places all; returns the bytes needed.
  int64_t place();
  int64_t getOffset(size_t i) const { return entries[i].offset; }

private:
  struct Entry {
    int64_t bytes, begin, end, offset;
  };
  llvm::SmallVector<Entry> entries;
};

} // namespace galv

#endif // GALV_ANALYSIS_ARENAPLAN_H
