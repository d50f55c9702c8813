//===- CrossEntropy.cpp - the loss, whole and over a split vocabulary -----===//
//
// Rows are worked off in blocks of some ten thousand logits, so that what ATen
// needs in between stays small and in the cache. Columns past the vocabulary
// are left out by narrowing, never by masking.
//
//===----------------------------------------------------------------------===//

#include "../Context.h"
#include "Tensors.h"

#include <ATen/ops/amax.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/exp.h>
#include <ATen/ops/sub.h>
#include <ATen/ops/sum.h>

#include <algorithm>
#include <cmath>
#include <limits>

using namespace galv;

namespace {

constexpr int64_t blockElements = 1 << 16;

/// The columns of this rank's logits.
struct Columns {
  int64_t first; // the global number of the first
  int64_t local; // padding included
  int64_t valid; // without padding

  Columns(Context &context, const View &logits, int64_t vocabulary,
          Group over) {
    const Communicator &group = context.communicator(over);
    int64_t chunk = ceilDivide(vocabulary, group.size());
    first = group.rank() * chunk;
    local = columnsOf(logits);
    if (local < std::min(chunk, std::max<int64_t>(vocabulary - first, 0)))
      fail("logits of ", local, " columns where rank ", group.rank(), " of ",
           group.size(), " holds ", chunk, " of ", vocabulary);
    valid = std::clamp<int64_t>(vocabulary - first, 0, std::min(local, chunk));
  }
};

bool counts(const Context &context, int64_t label) {
  return label >= 0 && label != context.step.ignoredToken;
}

/// Calls body(first row, number of rows) for blocks of rows.
template <typename Body>
void forEachBlock(int64_t rows, int64_t columns, Body body) {
  int64_t block =
      std::max<int64_t>(blockElements / std::max<int64_t>(columns, 1), 1);
  for (int64_t row = 0; row < rows; row += block)
    body(row, std::min(block, rows - row));
}

/// The valid columns of some rows.
at::Tensor validBlock(const View &logits, const Columns &columns, int64_t row,
                      int64_t rows) {
  View block = logits;
  block.data = bytesOf(logits) + row * columns.local * sizeOf(logits.type);
  return tensor(block, {rows, columns.local}).narrow(1, 0, columns.valid);
}

/// Rows [row, row + rows) of a view that has one element a row.
at::Tensor rowBlock(const View &view, int64_t row, int64_t rows) {
  View block = view;
  block.data = bytesOf(view) + row * sizeOf(view.type);
  return tensor(block, {rows, 1});
}

void checkRows(const char *what, const View &view, int64_t rows) {
  if (view.elements() != rows)
    fail("cross entropy: ", what, " has ", view.elements(),
         " elements for logits of ", rows, " rows");
}

void maximum(const View &result, const View &logits, const Columns &columns) {
  int64_t rows = rowsOf(logits);
  checkRows("the maximum", result, rows);
  if (columns.valid == 0) {
    dispatchFloating(result.type, [&](auto zero) {
      using T = decltype(zero);
      std::fill_n(elementsOf<T>(result), rows,
                  -std::numeric_limits<T>::infinity());
    });
    return;
  }
  forEachBlock(rows, columns.valid, [&](int64_t row, int64_t count) {
    at::Tensor out = rowBlock(result, row, count);
    at::amax_out(out, validBlock(logits, columns, row, count), {1}, true);
  });
}

/// sums[row] and picked[row] of cross_entropy_parts.
void parts(const View &sums, const View &picked, const View &logits,
           const View &labels, const View &maximum, const Columns &columns) {
  int64_t rows = rowsOf(logits);
  checkRows("labels", labels, rows);
  checkRows("the maximum", maximum, rows);
  const int64_t *label = integersOf(labels);
  dispatchFloating(logits.type, [&](auto zero) {
    using T = decltype(zero);
    const T *x = elementsOf<T>(logits);
    T *to = elementsOf<T>(picked);
    std::fill_n(elementsOf<T>(sums), rows, T(0));
    for (int64_t row = 0; row < rows; ++row) {
      int64_t column = label[row] - columns.first;
      to[row] = column >= 0 && column < columns.valid
                    ? x[row * columns.local + column]
                    : 0;
    }
  });
  if (columns.valid == 0)
    return;
  at::Tensor work;
  forEachBlock(rows, columns.valid, [&](int64_t row, int64_t count) {
    at::Tensor block = validBlock(logits, columns, row, count);
    if (!work.defined())
      work = at::empty({count, columns.valid}, block.options());
    at::Tensor shifted = work.narrow(0, 0, count);
    at::sub_out(shifted, block, rowBlock(maximum, row, count));
    at::exp_out(shifted, shifted);
    at::Tensor out = rowBlock(sums, row, count);
    at::sum_out(out, shifted, {1}, true, out.scalar_type());
  });
}

/// The loss is added up in double, in the order of the rows.
void finish(Context &context, const View &loss, const View &logSumExp,
            const View &maximum, const View &sums, const View &picked,
            const View &labels) {
  const int64_t *label = integersOf(labels);
  int64_t rows = labels.elements();
  dispatchFloating(logSumExp.type, [&](auto zero) {
    using T = decltype(zero);
    T *lse = elementsOf<T>(logSumExp);
    const T *top = elementsOf<T>(maximum), *sum = elementsOf<T>(sums);
    const T *logit = elementsOf<T>(picked);
    double total = 0;
    for (int64_t row = 0; row < rows; ++row) {
      T value = std::log(sum[row]) + top[row];
      if (counts(context, label[row]))
        total += static_cast<double>(value) - static_cast<double>(logit[row]);
      lse[row] = value;
    }
    dispatchFloating(loss.type, [&](auto other) {
      *elementsOf<decltype(other)>(loss) = static_cast<decltype(other)>(total);
    });
  });
}

/// One half of the parts: [2, ...] as [...].
View half(const View &parts, int which) {
  View view = parts;
  --view.rank;
  for (int i = 0; i < view.rank; ++i)
    view.shape[i] = parts.shape[i + 1];
  view.data = bytesOf(parts) + which * view.bytes();
  return view;
}

} // namespace

void galv::cross_entropy(Context &context, View loss, View logSumExp,
                         View logits, View labels, Group over,
                         int64_t vocabulary) {
  Columns columns(context, logits, vocabulary, over);
  int64_t rows = rowsOf(logits);
  at::Tensor work = at::empty({3, rows}, tensor(logits, {0}).options());
  auto row = [&](int i) {
    return Frame::view(static_cast<std::byte *>(work.data_ptr()) +
                           i * rows * sizeOf(logits.type),
                       logits.type, {rows});
  };
  maximum(row(0), logits, columns);
  parts(row(1), row(2), logits, labels, row(0), columns);
  finish(context, loss, logSumExp, row(0), row(1), row(2), labels);
}

void galv::cross_entropy_maximum(Context &context, View result, View logits,
                                 Group over, int64_t vocabulary) {
  maximum(result, logits, Columns(context, logits, vocabulary, over));
}

void galv::cross_entropy_parts(Context &context, View result, View logits,
                               View labels, View maximum, Group over,
                               int64_t vocabulary) {
  parts(half(result, 0), half(result, 1), logits, labels, maximum,
        Columns(context, logits, vocabulary, over));
}

void galv::cross_entropy_finish(Context &context, View loss, View logSumExp,
                                View maximum, View parts, View labels) {
  finish(context, loss, logSumExp, maximum, half(parts, 0), half(parts, 1),
         labels);
}

void galv::cross_entropy_gradient(Context &context, View result, View cotangent,
                                  View logits, View labels, View logSumExp,
                                  Group over, int64_t vocabulary) {
  Columns columns(context, logits, vocabulary, over);
  int64_t rows = rowsOf(logits);
  checkRows("labels", labels, rows);
  const int64_t *label = integersOf(labels);
  double seed = readScalar(cotangent);
  forEachBlock(rows, columns.local, [&](int64_t row, int64_t count) {
    if (columns.valid == 0)
      return;
    at::Tensor out = validBlock(result, columns, row, count);
    at::sub_out(out, validBlock(logits, columns, row, count),
                rowBlock(logSumExp, row, count));
    at::exp_out(out, out);
    out.mul_(seed);
  });
  dispatchFloating(result.type, [&](auto zero) {
    using T = decltype(zero);
    for (int64_t row = 0; row < rows; ++row) {
      T *x = elementsOf<T>(result) + row * columns.local;
      int64_t column = label[row] - columns.first;
      int64_t valid = counts(context, label[row]) ? columns.valid : 0;
      if (column >= 0 && column < valid)
        x[column] -= static_cast<T>(seed);
      std::fill(x + valid, x + columns.local, T(0));
    }
  });
}
