//===- Overlap.cpp - stands in its place
//---------------------------------------===//

#include "passes/Passes.h"

namespace galv {
#define GEN_PASS_DEF_OVERLAPPASS
#include "passes/Passes.h.inc"
} // namespace galv

namespace {
struct Overlap : galv::impl::OverlapPassBase<Overlap> {
  void runOnOperation() override {}
};
} // namespace
