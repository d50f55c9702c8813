//===- InProcess.h - all ranks as threads of this process -------*- C++ -*-===//
//
// For `--in-process` and for test drivers. A driver that wants to run bare
// functions on the ranks of a mesh builds a Program that has only a mesh,
// groups and stages (no tables, no arena), and calls the functions itself:
//
//   const galv::Axis mesh[] = {{"a", 2}, {"b", 2}};
//   const int axes[] = {1};
//   const galv::GroupDescription groups[] = {{{}, false}, {axes, false}};
//   galv::Stage stage{};                 // first rank 0, one stage
//   galv::Program program{};
//   program.mesh = mesh; program.groups = groups;
//   program.stages = {&stage, 1};
//   galv::runInProcess(program, [&](galv::Context &context) {
//     int rank = context.world().rank();
//     void *arguments[] = {...};         // this rank's own memory
//     function(context, {arguments, scratch});
//   });
//
// What a function reads beside its arguments is set on the context first
// (`context.step`, `context.microbatch`). Memory that a collective sends from
// should outlive the call of runInProcess.
//
//===----------------------------------------------------------------------===//

#ifndef GALV_LIB_RUNTIME_INPROCESS_H
#define GALV_LIB_RUNTIME_INPROCESS_H

#include "Context.h"

#include <functional>

namespace galv {

/// Calls `body` for every rank of `program`, each on a thread of its own with
/// one LibTorch thread (all of them where there is one rank only). Where a
/// rank throws, the others are woken and ended, and the first error is thrown
/// again here.
void runInProcess(const Program &program,
                  const std::function<void(Context &)> &body);

/// Calls `body` in the state that every rank's thread needs: no autograd, and
/// one LibTorch thread where there are several ranks.
void runAsRank(int worldSize, const std::function<void()> &body);

} // namespace galv

#endif // GALV_LIB_RUNTIME_INPROCESS_H
