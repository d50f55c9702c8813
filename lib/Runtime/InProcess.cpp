//===- InProcess.cpp - all ranks as threads of this process ---------------===//

#include "InProcess.h"
#include "Error.h"
#include "ThreadWorld.h"

#include <ATen/Parallel.h>
#include <ATen/core/LegacyTypeDispatch.h>

#include <exception>
#include <mutex>
#include <thread>

using namespace galv;

void galv::runAsRank(int worldSize, const std::function<void()> &body) {
  at::AutoDispatchBelowADInplaceOrView withoutAutograd;
  // The ranks of one machine share its cores; the setting is per thread.
  if (worldSize > 1)
    at::set_num_threads(1);
  body();
}

void galv::runInProcess(const Program &program,
                        const std::function<void(Context &)> &body) {
  int size = static_cast<int>(worldSize(program));
  ThreadHub hub(size);
  // Made before and destroyed after the threads: a rank that ends early must
  // not take memory away from one that still copies out of it.
  std::vector<std::unique_ptr<World>> worlds;
  std::vector<std::unique_ptr<Context>> contexts;
  for (int rank = 0; rank < size; ++rank) {
    worlds.push_back(hub.world(rank));
    contexts.push_back(std::make_unique<Context>(program, *worlds.back()));
  }

  std::mutex mutex;
  std::exception_ptr first;
  auto run = [&](int rank) {
    try {
      runAsRank(size, [&] { body(*contexts[rank]); });
    } catch (const PeerFailed &) {
    } catch (...) {
      std::lock_guard<std::mutex> lock(mutex);
      if (!first)
        first = std::current_exception();
      hub.abort();
    }
  };
  if (size == 1) {
    run(0);
  } else {
    std::vector<std::thread> threads;
    for (int rank = 0; rank < size; ++rank)
      threads.emplace_back(run, rank);
    for (std::thread &thread : threads)
      thread.join();
  }
  if (first)
    std::rethrow_exception(first);
}
