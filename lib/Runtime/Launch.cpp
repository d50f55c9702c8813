//===- Launch.cpp - what the launcher says about this process -------------===//

#include "Launch.h"
#include "Error.h"

#include <cstdlib>
#include <cstring>

using namespace galv;

namespace {

/// The first of the variables that is set, and its name.
struct Variable {
  const char *name = nullptr;
  const char *value = nullptr;
};

Variable find(std::initializer_list<const char *> names) {
  for (const char *name : names)
    if (const char *value = std::getenv(name); value && *value)
      return {name, value};
  return {};
}

Variable findRank() {
  return find({"RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID"});
}

int number(Variable variable, int low, int high) {
  char *end = nullptr;
  long value = std::strtol(variable.value, &end, 10);
  if (*end || value < low || value > high)
    fail("environment variable ", variable.name, " is '", variable.value,
         "', not a number from ", low, " to ", high);
  return static_cast<int>(value);
}

} // namespace

int galv::guessRank() {
  Variable rank = findRank();
  return rank.name ? std::atoi(rank.value) : 0;
}

Launch galv::readLaunch() {
  constexpr int most = 1 << 20;
  Launch launch;
  Variable rank = findRank();
  Variable size = find({"WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "SLURM_NTASKS"});
  if (!rank.name && !size.name)
    return launch;
  if (!rank.name || !size.name)
    fail("environment variable ", rank.name ? rank.name : size.name,
         " is set, but none that gives the ",
         rank.name ? "number of ranks (WORLD_SIZE)" : "rank (RANK)");
  launch.size = number(size, 1, most);
  launch.rank = number(rank, 0, launch.size - 1);
  if (Variable local =
          find({"LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID"});
      local.name)
    launch.localRank = number(local, 0, most);
  if (launch.size == 1)
    return launch;

  Variable address = find({"MASTER_ADDR"}), port = find({"MASTER_PORT"});
  if (!address.name || !port.name)
    fail("environment variable ", address.name ? "MASTER_PORT" : "MASTER_ADDR",
         " is not set, so the ", launch.size, " ranks cannot meet");
  launch.masterAddress = address.value;
  launch.masterPort = number(port, 1, 65535);
  const char *agent = std::getenv("TORCHELASTIC_USE_AGENT_STORE");
  launch.agentStore = agent && !std::strcmp(agent, "True");
  if (Variable attempt = find({"TORCHELASTIC_RESTART_COUNT"}); attempt.name)
    launch.attempt = attempt.value;
  return launch;
}
