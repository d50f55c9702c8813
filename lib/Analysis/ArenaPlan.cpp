//===- ArenaPlan.cpp - offsets of buffers by the time they live -----------===//

#include "lib/Analysis/ArenaPlan.h"
#include "llvm/ADT/STLExtras.h"

using namespace galv;

int64_t ArenaPlan::place() {
  llvm::SmallVector<size_t> order(entries.size());
  for (size_t i = 0; i < order.size(); ++i)
    order[i] = i;
  llvm::stable_sort(order, [&](size_t a, size_t b) {
    return entries[a].begin < entries[b].begin;
  });
  llvm::SmallVector<size_t> live; // by offset
  int64_t total = 0;
  for (size_t i : order) {
    Entry &entry = entries[i];
    llvm::erase_if(live,
                   [&](size_t j) { return entries[j].end < entry.begin; });
    int64_t offset = 0;
    auto *at = live.begin();
    for (; at != live.end(); ++at) {
      if (offset + entry.bytes <= entries[*at].offset)
        break;
      offset = entries[*at].offset + entries[*at].bytes;
    }
    entry.offset = offset;
    live.insert(at, i);
    total = std::max(total, offset + entry.bytes);
  }
  return total;
}
