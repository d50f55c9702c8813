//===- GlooWorld.h - ranks as processes, over Gloo --------------*- C++ -*-===//

#ifndef GALV_LIB_RUNTIME_GLOOWORLD_H
#define GALV_LIB_RUNTIME_GLOOWORLD_H

#include "Communicator.h"
#include "Launch.h"

#include <memory>

namespace galv {

/// The world of a run of several processes. Its store also carries the two
/// things that ranks say outside of collectives: rank 0's verdict on the
/// inputs, and that a rank failed.
class ProcessWorld : public World {
public:
  /// Connects to the rendezvous store. No communicator exists before `start`.
  static std::unique_ptr<ProcessWorld> connect(const Launch &launch);

  /// Connects the ranks to one another.
  virtual void start() = 0;

  /// Rank 0: says that all inputs are in order. Others: waits for that word,
  /// and throws `PeerFailed` where rank 0 failed instead.
  virtual void agreeOnInputs() = 0;

  /// Says that this rank failed. True for the first rank of the run to say so,
  /// which prints its error; the others keep quiet.
  virtual bool announceFailure() noexcept = 0;

  /// Waits until every rank is done, then leaves.
  virtual void finish() = 0;

protected:
  using World::World;
};

} // namespace galv

#endif // GALV_LIB_RUNTIME_GLOOWORLD_H
