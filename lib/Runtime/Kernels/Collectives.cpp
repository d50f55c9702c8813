//===- Collectives.cpp - the collectives of a program ---------------------===//

#include "../Context.h"
#include "../Types.h"

#include <cstring>

using namespace galv;

namespace {

/// Runs a collective; an error says which one it was and who took part, since
/// with a lost peer that is all that a survivor knows.
template <typename Body>
void collective(Context &context, const char *name, Group over, Body body) {
  Communicator &group = context.communicator(over);
  try {
    body(group);
  } catch (const PeerFailed &) {
    throw;
  } catch (const std::exception &error) {
    fail(describe(error), " in ", name, " as rank ", group.rank(), " of ",
         group.size(), " in group ", over.index);
  }
}

} // namespace

void galv::all_gather(Context &context, View result, View x, int64_t dimension,
                      Group over) {
  collective(context, "all_gather", over, [&](Communicator &group) {
    group.allGather(result, x, dimension);
  });
}

void galv::reduce_scatter(Context &context, View result, View x,
                          int64_t dimension, Group over) {
  collective(context, "reduce_scatter", over, [&](Communicator &group) {
    group.reduceScatter(result, x, dimension);
  });
}

void galv::all_reduce(Context &context, View result, View x, const char *kind,
                      Group over) {
  collective(context, "all_reduce", over, [&](Communicator &group) {
    bool max = !std::strcmp(kind, "max");
    if (!max && std::strcmp(kind, "sum"))
      fail("'", kind, "' is neither sum nor max");
    group.allReduce(result, x,
                    max ? Communicator::Reduction::max
                        : Communicator::Reduction::sum);
  });
}

void galv::all_to_all(Context &context, View result, View x,
                      int64_t gatherDimension, Group over,
                      int64_t splitDimension) {
  collective(context, "all_to_all", over, [&](Communicator &group) {
    group.allToAll(result, x, splitDimension, gatherDimension);
  });
}
