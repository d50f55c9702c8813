//===- Context.h - the state of one rank ------------------------*- C++ -*-===//
//
// What `Context &` of galv/runtime.h is: everything that a function of a
// program may read beside its arguments. One process can hold many of them, so
// nothing here is global.
//
//===----------------------------------------------------------------------===//

#ifndef GALV_LIB_RUNTIME_CONTEXT_H
#define GALV_LIB_RUNTIME_CONTEXT_H

#include "Communicator.h"
#include "galv/runtime.h"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace galv {

/// What changes from step to step or belongs to the run, never to the program.
struct StepInputs {
  /// The whole step's samples on every rank: `batch` rows of `sequence + 1`
  /// tokens. Tokens are a row without its last, labels without its first.
  std::vector<int64_t> samples;
  int64_t number = 1; ///< of the step, from 1 (AdamW's bias correction)
  double learningRate = 0;
  double beta1 = 0.9, beta2 = 0.95, epsilon = 1e-8;
  double weightDecay = 0;
  std::optional<double> clipNorm;
  /// Labels of this value do not count, nor do negative ones.
  int64_t ignoredToken = -1;
};

class Context {
public:
  /// The rank of `world` in `program`. Allocates the stage's arena, zeroed, and
  /// joins all groups in the order of `Program::groups`, which is one total
  /// order for all ranks. Program and world outlive the context.
  Context(const Program &program, World &world);
  ~Context();
  Context(const Context &) = delete;
  Context &operator=(const Context &) = delete;

  const Program &program() const { return program_; }
  const Stage &stage() const { return program_.stages[stageIndex_]; }
  int stageIndex() const { return stageIndex_; }
  World &world() { return world_; }

  /// This rank's coordinate on axis `axis` of the mesh.
  int64_t coordinate(int axis) const { return coordinates_[axis]; }

  /// The communicator of a group; its rank and size are this rank's coordinate
  /// in the group and the group's extent. Equal groups share one.
  Communicator &communicator(Group group) const;
  /// All ranks of all stages.
  Communicator &everyone() const { return *everyone_; }

  /// Address of an operand in call number `call` of its row, in the slot
  /// of `microbatch` (-1: outside of the microbatches).
  std::byte *address(const Operand &operand, int64_t call = 0,
                     int microbatch = -1) const;
  std::byte *scratch() const { return arena_ + stage().scratch; }

  StepInputs step;
  int microbatch = -1; ///< of the running call
  uint64_t seed = 0;   ///< of the run

private:
  Communicator *join(const std::vector<int> &ranks);
  std::vector<int> members(const GroupDescription &group) const;

  const Program &program_;
  World &world_;
  int stageIndex_ = 0;
  std::vector<int64_t> coordinates_;
  std::map<std::vector<int>, std::unique_ptr<Communicator>> communicators_;
  std::vector<Communicator *> groups_;
  Communicator *everyone_;
  std::byte *arena_ = nullptr;
  int64_t arenaBytes_ = 0;
};

/// The ranks of one stage, and of all stages.
int64_t meshSize(const Program &program);
int64_t worldSize(const Program &program);

} // namespace galv

#endif // GALV_LIB_RUNTIME_CONTEXT_H
