//===- Movement.cpp - copies, slices, padding, step inputs ----------------===//

#include "../Context.h"
#include "../Types.h"

#include <algorithm>
#include <cstring>

using namespace galv;

namespace {

void copyBytes(void *to, const void *from, int64_t bytes) {
  if (bytes && to != from)
    std::memmove(to, from, bytes);
}

void checkElements(const char *what, const View &result, const View &x) {
  if (result.elements() != x.elements() || result.type != x.type)
    fail(what, ": ", x.elements(), " elements of ", nameOf(x.type), " into ",
         result.elements(), " of ", nameOf(result.type));
}

} // namespace

void galv::copy(Context &, View result, View x) {
  checkElements("copy", result, x);
  copyBytes(result.data, x.data, x.bytes());
}

void galv::reshape(Context &, View result, View x) {
  checkElements("reshape", result, x);
  copyBytes(result.data, x.data, x.bytes());
}

void galv::fill_zero(Context &, View result) {
  if (result.bytes())
    std::memset(result.data, 0, result.bytes());
}

void galv::slice(Context &context, View result, View x, int64_t dimension,
                 Group over) {
  const Communicator &group = context.communicator(over);
  Around from(x, dimension), to(result, dimension);
  if (to.extent * group.size() != from.extent)
    fail("slice: dimension ", dimension, " of extent ", from.extent, " over ",
         group.size(), " ranks does not give ", to.extent);
  int64_t run = to.extent * to.inner * sizeOf(x.type);
  for (int64_t o = 0; o < to.outer; ++o)
    copyBytes(bytesOf(result) + o * run,
              bytesOf(x) + (o * group.size() + group.rank()) * run, run);
}

void galv::keep_first(Context &context, View result, View x, Group over) {
  if (context.communicator(over).rank() == 0)
    copy(context, result, x);
  else
    fill_zero(context, result);
}

void galv::pad(Context &, View result, View x, int64_t dimension) {
  Around from(x, dimension), to(result, dimension);
  int64_t size = sizeOf(x.type);
  int64_t part = from.extent * from.inner * size;
  int64_t whole = to.extent * to.inner * size;
  if (part > whole)
    fail("pad: extent ", from.extent, " into ", to.extent);
  for (int64_t o = 0; o < to.outer; ++o) {
    copyBytes(bytesOf(result) + o * whole, bytesOf(x) + o * part, part);
    if (whole > part)
      std::memset(bytesOf(result) + o * whole + part, 0, whole - part);
  }
}

void galv::unpad(Context &, View result, View x, int64_t dimension) {
  Around from(x, dimension), to(result, dimension);
  int64_t size = sizeOf(x.type);
  int64_t whole = from.extent * from.inner * size;
  int64_t part = to.extent * to.inner * size;
  if (part > whole)
    fail("unpad: extent ", from.extent, " into ", to.extent);
  for (int64_t o = 0; o < to.outer; ++o)
    copyBytes(bytesOf(result) + o * part, bytesOf(x) + o * whole, part);
}

void galv::reciprocal(Context &, View result, View x) {
  dispatchFloating(result.type, [&](auto zero) {
    using T = decltype(zero);
    T value = *elementsOf<T>(x);
    *elementsOf<T>(result) = value == 0 ? T(0) : 1 / value;
  });
}

void galv::input(Context &context, View result, int64_t batch, Group columns,
                 bool microbatched, const char *name, Group rows,
                 int64_t sequence) {
  const Communicator &rowGroup = context.communicator(rows);
  const Communicator &columnGroup = context.communicator(columns);
  int64_t first = 0, count = batch;
  if (microbatched) {
    count = batch / std::max(context.program().microbatches, 1);
    first = std::max(context.microbatch, 0) * count;
  }
  count /= rowGroup.size();
  first += rowGroup.rank() * count;
  int64_t width = sequence / columnGroup.size();
  int64_t begin = columnGroup.rank() * width;
  if (result.rank != 2 || result.shape[0] != count || result.shape[1] != width)
    fail("input: this rank's part of ", name, " is [", count, ", ", width,
         "], not what the program expects");
  if (static_cast<int64_t>(context.step.samples.size()) !=
      batch * (sequence + 1))
    fail("input: the step has ", context.step.samples.size(), " tokens, not ",
         batch, " rows of ", sequence + 1);
  bool labels = !std::strcmp(name, "labels");
  if (!labels && std::strcmp(name, "tokens"))
    fail("input: '", name, "' is neither tokens nor labels");
  for (int64_t row = 0; row < count; ++row)
    copyBytes(elementsOf<int64_t>(result) + row * width,
              context.step.samples.data() + (first + row) * (sequence + 1) +
                  begin + labels,
              width * sizeof(int64_t));
}

void galv::positions(Context &context, View result, Group columns,
                     int64_t sequence) {
  const Communicator &group = context.communicator(columns);
  int64_t width = ceilDivide(sequence, group.size());
  for (int64_t i = 0; i < result.elements(); ++i)
    elementsOf<int64_t>(result)[i] = group.rank() * width + i;
}

void galv::count_valid(Context &context, View result, View labels) {
  const int64_t *label = integersOf(labels);
  int64_t count = 0;
  for (int64_t i = 0; i < labels.elements(); ++i)
    count += label[i] >= 0 && label[i] != context.step.ignoredToken;
  dispatchFloating(result.type, [&](auto zero) {
    *elementsOf<decltype(zero)>(result) = static_cast<decltype(zero)>(count);
  });
}
