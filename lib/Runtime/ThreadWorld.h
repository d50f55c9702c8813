//===- ThreadWorld.h - ranks as threads of one process ----------*- C++ -*-===//

#ifndef GALV_LIB_RUNTIME_THREADWORLD_H
#define GALV_LIB_RUNTIME_THREADWORLD_H

#include "Communicator.h"

#include <memory>
#include <string>
#include <vector>

namespace galv {

/// What the threads of one run share: mailboxes, group states, and whether one
/// of them failed.
class ThreadHub {
public:
  explicit ThreadHub(int size);
  ~ThreadHub();

  /// The world as `rank` sees it. Joining a group never blocks, so all worlds
  /// and their communicators can be made by one thread.
  std::unique_ptr<World> world(int rank);

  /// Wakes all ranks that wait and ends them with `PeerFailed`.
  void abort();

  struct State;

private:
  int size_;
  std::shared_ptr<State> state_;
};

} // namespace galv

#endif // GALV_LIB_RUNTIME_THREADWORLD_H
