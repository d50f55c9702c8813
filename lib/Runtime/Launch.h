//===- Launch.h - what the launcher says about this process -----*- C++ -*-===//

#ifndef GALV_LIB_RUNTIME_LAUNCH_H
#define GALV_LIB_RUNTIME_LAUNCH_H

#include <string>

namespace galv {

/// Read from torchrun's variables (RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR,
/// MASTER_PORT), else from those of mpirun (OMPI_COMM_WORLD_*) or srun
/// (SLURM_*). Without any the process is the only rank.
struct Launch {
  int rank = 0;
  int size = 1;
  int localRank = 0;
  std::string masterAddress;
  int masterPort = 0;
  /// torchrun's agent serves the store: every rank is a client of it.
  bool agentStore = false;
  /// Which attempt of an elastic launcher this is: the agent's store still
  /// holds the keys of earlier ones.
  std::string attempt = "0";
};

Launch readLaunch();

/// This process's rank as far as it can be told, for deciding who prints an
/// error about the launch itself. Never fails.
int guessRank();

} // namespace galv

#endif // GALV_LIB_RUNTIME_LAUNCH_H
