//===- Communicator.h - collectives and transfers ---------------*- C++ -*-===//
//
// A `World` joins all ranks of a run; a `Communicator` joins the ranks of one
// group. Both have one implementation over Gloo and one over threads.
//
// An implementation supplies two primitives that move bytes: an exchange of
// equal blocks and a gather. Packing, and above all the order of additions, is
// written once on top of them: reductions add in the order of the group's
// ranks, whatever the transport, and every chunk is added up by one rank and
// then copied. So a reduced value is bitwise the same on all ranks of a group,
// from run to run, and between a run of processes and a run of threads.
//
//===----------------------------------------------------------------------===//

#ifndef GALV_LIB_RUNTIME_COMMUNICATOR_H
#define GALV_LIB_RUNTIME_COMMUNICATOR_H

#include "galv/runtime.h"

#include <cstddef>
#include <memory>
#include <vector>

namespace galv {

/// One group of ranks. A call must be made by all ranks of the group, in the
/// same order. Chunks are in the order of the group's ranks. `result` and `x`
/// may be the same memory in allReduce, and nowhere else.
class Communicator {
public:
  enum class Reduction { sum, max };

  virtual ~Communicator() = default;

  int rank() const { return rank_; }
  int size() const { return size_; }

  void allGather(View result, View x, int64_t dimension);
  void reduceScatter(View result, View x, int64_t dimension);
  void allReduce(View result, View x, Reduction reduction);
  void allToAll(View result, View x, int64_t splitDimension,
                int64_t gatherDimension);
  void barrier();

protected:
  Communicator(int rank, int size) : rank_(rank), size_(size) {}

  /// Block i of `send` goes to rank i, block i of `receive` comes from it.
  virtual void exchange(const std::byte *send, std::byte *receive,
                        int64_t blockBytes) = 0;
  /// Block i of `receive` becomes rank i's `send`.
  virtual void gather(const std::byte *send, std::byte *receive,
                      int64_t blockBytes) = 0;

private:
  /// Grows on demand and is kept: a step allocates nothing once warm.
  std::byte *scratch(int which, int64_t bytes);

  int rank_, size_;
  std::vector<double> scratch_[2]; // double: its alignment fits all types
};

/// The communicator of a group of one rank.
std::unique_ptr<Communicator> makeSoloCommunicator();

/// One send or receive between two ranks of the world.
struct Message {
  bool send;
  int peer;
  int tag;
  std::byte *data;
  int64_t bytes;
};

/// All ranks of a run.
class World {
public:
  virtual ~World() = default;

  int rank() const { return rank_; }
  int size() const { return size_; }

  /// Joins the communicator of these world ranks (this rank is one of them).
  /// May block until all of them have joined; every rank joins its groups in
  /// the same order.
  virtual std::unique_ptr<Communicator> join(const std::vector<int> &ranks) = 0;

  /// Starts all messages together, then waits for all of them. Messages of
  /// equal source, destination and tag match in the order of their start.
  virtual void transfer(const std::vector<Message> &messages) = 0;

protected:
  World(int rank, int size) : rank_(rank), size_(size) {}

private:
  int rank_, size_;
};

} // namespace galv

#endif // GALV_LIB_RUNTIME_COMMUNICATOR_H
