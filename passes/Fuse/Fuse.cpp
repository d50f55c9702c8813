//===- Fuse.cpp - stands in its place
//---------------------------------------===//

#include "passes/Passes.h"

namespace galv {
#define GEN_PASS_DEF_FUSEPASS
#include "passes/Passes.h.inc"
} // namespace galv

namespace {
struct Fuse : galv::impl::FusePassBase<Fuse> {
  void runOnOperation() override {}
};
} // namespace
