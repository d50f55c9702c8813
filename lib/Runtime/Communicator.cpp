//===- Communicator.cpp - collectives over two primitives -----------------===//

#include "Communicator.h"
#include "Types.h"

#include <algorithm>
#include <cstring>

using namespace galv;

namespace {

/// Up to this size an all-reduce gathers everything and adds locally: one
/// message instead of two.
constexpr int64_t smallBytes = 8192;

class SoloCommunicator : public Communicator {
public:
  SoloCommunicator() : Communicator(0, 1) {}

protected:
  void exchange(const std::byte *send, std::byte *receive,
                int64_t blockBytes) override {
    std::memmove(receive, send, blockBytes);
  }
  void gather(const std::byte *send, std::byte *receive,
              int64_t blockBytes) override {
    std::memmove(receive, send, blockBytes);
  }
};

/// result[i] = block 0 [i] op block 1 [i] op ..., in this order. A NaN in any
/// block gives NaN, also under max.
template <typename T>
void reduceBlocks(T *result, const T *blocks, int count, int64_t stride,
                  int64_t elements, Communicator::Reduction reduction) {
  if (elements == 0)
    return;
  std::memmove(result, blocks, elements * sizeof(T));
  for (int block = 1; block < count; ++block) {
    const T *other = blocks + block * stride;
    if (reduction == Communicator::Reduction::sum)
      for (int64_t i = 0; i < elements; ++i)
        result[i] += other[i];
    else
      for (int64_t i = 0; i < elements; ++i)
        result[i] =
            other[i] > result[i] || other[i] != other[i] ? other[i] : result[i];
  }
}

void reduceBlocks(Type type, std::byte *result, const std::byte *blocks,
                  int count, int64_t stride, int64_t elements,
                  Communicator::Reduction reduction) {
  auto run = [&](auto zero) {
    using T = decltype(zero);
    reduceBlocks(reinterpret_cast<T *>(result),
                 reinterpret_cast<const T *>(blocks), count, stride, elements,
                 reduction);
  };
  if (type == Type::i64)
    run(int64_t{});
  else
    dispatchFloating(type, run);
}

void checkSameBytes(const char *what, int64_t expected, const View &result) {
  if (result.bytes() != expected)
    fail(what, ": result of ", result.bytes(), " bytes where ", expected,
         " are made");
}

/// Packs `x`, cut into `count` chunks along `dimension`, chunk by chunk.
void packChunks(std::byte *packed, const View &x, int64_t dimension,
                int count) {
  Around around(x, dimension);
  if (around.extent % count)
    fail("dimension ", dimension, " of extent ", around.extent,
         " does not divide over ", count, " ranks");
  int64_t run = around.extent / count * around.inner * sizeOf(x.type);
  if (run == 0)
    return;
  for (int chunk = 0; chunk < count; ++chunk)
    for (int64_t o = 0; o < around.outer; ++o, packed += run)
      std::memcpy(packed, bytesOf(x) + (o * count + chunk) * run, run);
}

/// The inverse: chunks, one after the other, become `result`.
void unpackChunks(const View &result, const std::byte *packed,
                  int64_t dimension, int count) {
  Around around(result, dimension);
  if (around.extent % count)
    fail("dimension ", dimension, " of extent ", around.extent,
         " does not divide over ", count, " ranks");
  int64_t run = around.extent / count * around.inner * sizeOf(result.type);
  if (run == 0)
    return;
  for (int chunk = 0; chunk < count; ++chunk)
    for (int64_t o = 0; o < around.outer; ++o, packed += run)
      std::memcpy(bytesOf(result) + (o * count + chunk) * run, packed, run);
}

} // namespace

std::unique_ptr<Communicator> galv::makeSoloCommunicator() {
  return std::make_unique<SoloCommunicator>();
}

std::byte *Communicator::scratch(int which, int64_t bytes) {
  std::vector<double> &buffer = scratch_[which];
  if (static_cast<int64_t>(buffer.size() * sizeof(double)) < bytes)
    buffer.resize(bytes / sizeof(double) + 1);
  return reinterpret_cast<std::byte *>(buffer.data());
}

void Communicator::allGather(View result, View x, int64_t dimension) {
  checkSameBytes("all_gather", x.bytes() * size_, result);
  if (Around(result, dimension).outer == 1) {
    gather(bytesOf(x), bytesOf(result), x.bytes());
    return;
  }
  std::byte *packed = scratch(0, result.bytes());
  gather(bytesOf(x), packed, x.bytes());
  unpackChunks(result, packed, dimension, size_);
}

void Communicator::reduceScatter(View result, View x, int64_t dimension) {
  checkSameBytes("reduce_scatter", x.bytes() / size_, result);
  const std::byte *send = bytesOf(x);
  if (Around(x, dimension).outer != 1) {
    std::byte *packed = scratch(0, x.bytes());
    packChunks(packed, x, dimension, size_);
    send = packed;
  }
  std::byte *received = scratch(1, x.bytes());
  exchange(send, received, result.bytes());
  reduceBlocks(x.type, bytesOf(result), received, size_, result.elements(),
               result.elements(), Reduction::sum);
}

void Communicator::allReduce(View result, View x, Reduction reduction) {
  checkSameBytes("all_reduce", x.bytes(), result);
  int64_t elements = x.elements(), bytes = x.bytes();
  if (size_ == 1) {
    if (bytes && result.data != x.data)
      std::memmove(result.data, x.data, bytes);
    return;
  }
  if (bytes <= smallBytes) {
    std::byte *all = scratch(1, bytes * size_);
    gather(bytesOf(x), all, bytes);
    reduceBlocks(x.type, bytesOf(result), all, size_, elements, elements,
                 reduction);
    return;
  }
  // Each rank reduces one chunk, then all chunks are gathered. The last chunk
  // is filled up with whatever the scratch area holds; nobody reads that.
  int64_t chunk = ceilDivide(elements, size_);
  int64_t chunkBytes = chunk * sizeOf(x.type);
  std::byte *whole = scratch(0, chunkBytes * size_);
  std::byte *received = scratch(1, chunkBytes * size_);
  std::memcpy(whole, x.data, bytes);
  exchange(whole, received, chunkBytes);
  reduceBlocks(x.type, received, received, size_, chunk, chunk, reduction);
  gather(received, whole, chunkBytes);
  std::memcpy(result.data, whole, bytes);
}

void Communicator::allToAll(View result, View x, int64_t splitDimension,
                            int64_t gatherDimension) {
  checkSameBytes("all_to_all", x.bytes(), result);
  std::byte *send = scratch(0, x.bytes());
  std::byte *received = scratch(1, x.bytes());
  packChunks(send, x, splitDimension, size_);
  exchange(send, received, x.bytes() / size_);
  unpackChunks(result, received, gatherDimension, size_);
}

void Communicator::barrier() {
  double token = 0;
  gather(reinterpret_cast<std::byte *>(&token),
         scratch(1, size_ * sizeof(double)), sizeof(double));
}
