//===- Embedding.cpp - table look-up and its gradient ---------------------===//

#include "../Context.h"
#include "../Types.h"

#include <algorithm>
#include <cstring>

using namespace galv;

namespace {

/// The row of this rank's table that holds `id`, or -1.
struct Rows {
  int64_t first, count;

  Rows(Context &context, int64_t vocabulary, Group over, int64_t tableRows) {
    const Communicator &group = context.communicator(over);
    int64_t chunk = ceilDivide(vocabulary, group.size());
    first = group.rank() * chunk;
    count = std::clamp<int64_t>(vocabulary - first, 0, chunk);
    if (tableRows < count)
      fail("a table of ", tableRows, " rows where rank ", group.rank(), " of ",
           group.size(), " holds ", count, " of ", vocabulary);
  }
  int64_t operator()(int64_t id) const {
    return id >= first && id < first + count ? id - first : -1;
  }
};

} // namespace

void galv::embedding(Context &context, View result, View ids, View table,
                     Group over, int64_t vocabulary) {
  Rows rows(context, vocabulary, over, table.shape[0]);
  int64_t bytes = columnsOf(table) * sizeOf(table.type);
  const int64_t *id = integersOf(ids);
  std::byte *to = bytesOf(result);
  for (int64_t i = 0; i < ids.elements(); ++i, to += bytes)
    if (int64_t row = rows(id[i]); row >= 0)
      std::memcpy(to, bytesOf(table) + row * bytes, bytes);
    else
      std::memset(to, 0, bytes);
}

void galv::embedding_gradient(Context &context, View result, View cotangent,
                              View ids, Group over, int64_t vocabulary) {
  Rows rows(context, vocabulary, over, result.shape[0]);
  int64_t columns = columnsOf(result);
  const int64_t *id = integersOf(ids);
  std::memset(result.data, 0, result.bytes());
  // In the order of the places, so that the sum is the same each time.
  dispatchFloating(result.type, [&](auto zero) {
    using T = decltype(zero);
    const T *from = elementsOf<T>(cotangent);
    for (int64_t i = 0; i < ids.elements(); ++i, from += columns) {
      int64_t row = rows(id[i]);
      if (row < 0)
        continue;
      T *to = elementsOf<T>(result) + row * columns;
      for (int64_t k = 0; k < columns; ++k)
        to[k] += from[k];
    }
  });
}
