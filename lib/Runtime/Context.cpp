//===- Context.cpp - the state of one rank --------------------------------===//

#include "Context.h"
#include "Error.h"
#include "Layout.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sys/mman.h>

using namespace galv;

int64_t galv::meshSize(const Program &program) {
  int64_t size = 1;
  for (const Axis &axis : program.mesh)
    size *= axis.size;
  return size;
}

int64_t galv::worldSize(const Program &program) {
  return program.stages.size * meshSize(program);
}

Context::Context(const Program &program, World &world)
    : program_(program), world_(world) {
  int64_t ranks = meshSize(program);
  if (worldSize(program) != world.size())
    fail("the program is for ", worldSize(program), " ranks, the run has ",
         world.size());
  stageIndex_ = -1;
  for (int64_t i = 0; i < program.stages.size; ++i)
    if (int64_t first = program.stages[i].firstRank;
        world.rank() >= first && world.rank() < first + ranks)
      stageIndex_ = static_cast<int>(i);
  if (stageIndex_ < 0)
    fail("no stage of the program has rank ", world.rank());

  coordinates_ = coordinatesOf(program, world.rank() - stage().firstRank);

  std::vector<int> all(world.size());
  for (int i = 0; i < world.size(); ++i)
    all[i] = i;
  everyone_ = join(all);
  for (const GroupDescription &group : program.groups)
    groups_.push_back(join(members(group)));

  // Pages of an anonymous mapping are zero and taken only when touched. At
  // least one byte, so that no address is null.
  arenaBytes_ = std::max<int64_t>(stage().arenaBytes, 1);
  void *memory = mmap(nullptr, arenaBytes_, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    fail("rank ", world.rank(), " cannot allocate ", arenaBytes_,
         " bytes: ", std::strerror(errno));
  arena_ = static_cast<std::byte *>(memory);
}

Context::~Context() { munmap(arena_, arenaBytes_); }

Communicator *Context::join(const std::vector<int> &ranks) {
  std::unique_ptr<Communicator> &slot = communicators_[ranks];
  if (!slot)
    slot = ranks.size() == 1 ? makeSoloCommunicator() : world_.join(ranks);
  return slot.get();
}

std::vector<int> Context::members(const GroupDescription &group) const {
  int position = world_.rank() - stage().firstRank;
  if (group.stages) {
    std::vector<int> ranks;
    for (const Stage &other : program_.stages)
      ranks.push_back(other.firstRank + position);
    return ranks;
  }
  // Start from this rank with the group's axes at zero, then run over them,
  // the last one fastest.
  std::vector<int64_t> strides(program_.mesh.size, 1);
  for (int64_t axis = program_.mesh.size - 1; axis-- > 0;)
    strides[axis] = strides[axis + 1] * program_.mesh[axis + 1].size;
  int64_t first = world_.rank();
  for (int axis : group.axes)
    first -= coordinates_[axis] * strides[axis];
  std::vector<int> ranks{static_cast<int>(first)};
  for (int axis : group.axes) {
    std::vector<int> grown;
    for (int rank : ranks)
      for (int64_t i = 0; i < program_.mesh[axis].size; ++i)
        grown.push_back(static_cast<int>(rank + i * strides[axis]));
    ranks = std::move(grown);
  }
  return ranks;
}

Communicator &Context::communicator(Group group) const {
  if (group.index < 0 || group.index >= static_cast<int>(groups_.size()))
    fail("group ", group.index, " of a program with ", groups_.size(),
         " groups");
  return *groups_[group.index];
}

std::byte *Context::address(const Operand &operand, int64_t call,
                            int microbatch) const {
  int64_t slot = operand.slotted && microbatch >= 0
                     ? microbatch % std::max(stage().slots, 1)
                     : 0;
  return arena_ + operand.base + call * operand.layerStride +
         (call & 1) * operand.alternate + slot * stage().slotStride;
}
