//===- galv-run.cpp - starts the ranks of a program on this machine -------===//
//
// One process a rank, with the variables that torchrun would set. When a rank
// fails the rest is ended: the failing rank has said why.
//
//===----------------------------------------------------------------------===//

#include <arpa/inet.h>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <netinet/in.h>
#include <string>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <vector>

namespace {

const char usage[] =
    "usage: galv-run -n RANKS [--in-process] PROGRAM [ARGUMENTS...]\n"
    "\n"
    "starts an emitted program on this machine, one process a rank\n"
    "\n"
    "  -n RANKS      number of ranks, from 1 to 4096 (required)\n"
    "  --in-process  runs all ranks as threads of one process instead\n"
    "  --help        prints this\n"
    "\n"
    "sets RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, MASTER_ADDR and\n"
    "MASTER_PORT, and OMP_NUM_THREADS=1 where it is not set. only rank 0 "
    "writes\n"
    "to standard output. if a rank fails, the others are ended (by SIGKILL\n"
    "after 5 seconds) and galv-run exits with 1.\n";

constexpr int graceSeconds = 5;

[[noreturn]] void fail(const std::string &message) {
  std::fprintf(stderr, "error: %s\n", message.c_str());
  std::exit(1);
}

struct Command {
  int ranks = 0;
  bool inProcess = false;
  std::vector<char *> program; // and its arguments, ending in null
};

Command parse(int argc, char **argv) {
  Command command;
  int i = 1;
  for (; i < argc && argv[i][0] == '-'; ++i) {
    std::string option = argv[i];
    if (option == "--help" || option == "-h") {
      std::fputs(usage, stdout);
      std::exit(0);
    }
    if (option == "--in-process") {
      command.inProcess = true;
    } else if (option == "-n") {
      if (++i == argc)
        fail("option '-n' needs a value (RANKS)");
      char *end = nullptr;
      long ranks = std::strtol(argv[i], &end, 10);
      if (!*argv[i] || *end || ranks < 1 || ranks > 4096)
        fail(std::string("-n is '") + argv[i] +
             "', not a number from 1 to 4096");
      command.ranks = static_cast<int>(ranks);
    } else {
      fail("unknown option '" + option + "'; --help lists the options");
    }
  }
  if (!command.ranks)
    fail("-n is missing; --help lists the options");
  if (i == argc)
    fail("no program is given; --help shows how");
  for (; i < argc; ++i)
    command.program.push_back(argv[i]);
  // A bare name is looked up in PATH, by execvp.
  if (std::strchr(command.program[0], '/') && access(command.program[0], X_OK))
    fail(std::string("cannot run '") + command.program[0] +
         "': " + std::strerror(errno));
  command.program.push_back(nullptr);
  return command;
}

/// A port that was free a moment ago. Another process could take it before
/// rank 0 does, which then fails with a clear error; a port that rank 0 chose
/// itself could not be told to the others.
int freePort() {
  int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  if (socket < 0 ||
      bind(socket, reinterpret_cast<sockaddr *>(&address), size) ||
      getsockname(socket, reinterpret_cast<sockaddr *>(&address), &size))
    fail(std::string("cannot find a free port: ") + std::strerror(errno));
  close(socket);
  return ntohs(address.sin_port);
}

[[noreturn]] void runRank(const Command &command, int rank, int port,
                          pid_t parent) {
  // Do not outlive galv-run, however it ends.
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent)
    _exit(1);
  auto set = [](const char *name, const std::string &value) {
    setenv(name, value.c_str(), 1);
  };
  set("RANK", std::to_string(rank));
  set("LOCAL_RANK", std::to_string(rank));
  set("WORLD_SIZE", std::to_string(command.ranks));
  set("LOCAL_WORLD_SIZE", std::to_string(command.ranks));
  set("MASTER_ADDR", "127.0.0.1");
  set("MASTER_PORT", std::to_string(port));
  setenv("OMP_NUM_THREADS", "1", 0);
  if (rank != 0)
    if (int null = open("/dev/null", O_WRONLY); null >= 0)
      dup2(null, STDOUT_FILENO);
  execvp(command.program[0], command.program.data());
  if (rank == 0)
    std::fprintf(stderr, "error: cannot run '%s': %s\n", command.program[0],
                 std::strerror(errno));
  _exit(1);
}

void endAll(const std::vector<pid_t> &running, int signal) {
  for (pid_t process : running)
    if (process > 0)
      kill(process, signal);
}

/// Starts all ranks and waits for them. Signals are blocked and taken one at a
/// time, so that nothing can be missed between two looks.
int runProcesses(const Command &command) {
  sigset_t signals, before;
  sigemptyset(&signals);
  for (int signal : {SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGALRM})
    sigaddset(&signals, signal);
  sigprocmask(SIG_BLOCK, &signals, &before);

  int port = freePort();
  pid_t self = getpid();
  std::vector<pid_t> running;
  for (int rank = 0; rank < command.ranks; ++rank) {
    pid_t process = fork();
    if (process == 0) {
      sigprocmask(SIG_SETMASK, &before, nullptr);
      runRank(command, rank, port, self);
    }
    if (process < 0) {
      int error = errno;
      endAll(running, SIGKILL);
      fail("cannot start rank " + std::to_string(rank) + ": " +
           std::strerror(error));
    }
    running.push_back(process);
  }

  int left = command.ranks, result = 0;
  while (left > 0) {
    int signal = 0;
    sigwait(&signals, &signal);
    if (signal == SIGALRM) {
      endAll(running, SIGKILL);
      continue;
    }
    if (signal != SIGCHLD) { // hand it on, and do not wait for ever
      result = 1;
      endAll(running, signal);
      alarm(graceSeconds);
      continue;
    }
    int status = 0;
    for (pid_t ended; (ended = waitpid(-1, &status, WNOHANG)) > 0;) {
      int rank = 0;
      while (rank < command.ranks && running[rank] != ended)
        ++rank;
      if (rank == command.ranks)
        continue;
      running[rank] = 0;
      --left;
      bool failed = !WIFEXITED(status) || WEXITSTATUS(status) != 0;
      if (!failed || result)
        continue;
      result = 1;
      // A rank that exits has printed why; one that was killed could not.
      if (WIFSIGNALED(status))
        std::fprintf(stderr, "error: rank %d was ended by signal %d (%s)\n",
                     rank, WTERMSIG(status), strsignal(WTERMSIG(status)));
      // Ranks that learn of a failure by themselves leave in good order;
      // those that do not are ended.
      timespec pause{0, 200 * 1000 * 1000};
      nanosleep(&pause, nullptr);
      endAll(running, SIGTERM);
      alarm(graceSeconds);
    }
  }
  return result;
}

} // namespace

int main(int argc, char **argv) {
  Command command = parse(argc, argv);
  if (!command.inProcess)
    return runProcesses(command);
  std::string ranks = std::to_string(command.ranks);
  std::string option = "--in-process";
  std::vector<char *> arguments = command.program;
  arguments.insert(arguments.begin() + 1, {option.data(), ranks.data()});
  execvp(arguments[0], arguments.data());
  fail(std::string("cannot run '") + arguments[0] +
       "': " + std::strerror(errno));
}
