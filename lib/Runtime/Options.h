//===- Options.h - the command line of an emitted program -------*- C++ -*-===//

#ifndef GALV_LIB_RUNTIME_OPTIONS_H
#define GALV_LIB_RUNTIME_OPTIONS_H

#include "Data.h"
#include "galv/runtime.h"

#include <optional>
#include <string>

namespace galv {

/// The values are set from the defaults of the one option table in
/// Options.cpp, from which the help text is made, too.
struct Options {
  std::string data;
  TokenType tokenType;
  std::optional<uint64_t> shuffle;
  std::optional<int64_t> ignoredToken;
  int64_t steps;
  double learningRate, beta1, beta2, epsilon, weightDecay;
  std::optional<double> clipNorm;
  uint64_t seed;
  std::string load, save, dumpGradients, dumpCopies, metrics;
  int64_t inProcess; ///< number of rank threads; 0: ranks are processes
  bool help = false;
};

/// Throws an `Error` for an unknown option, a missing or a bad value.
Options parseOptions(int argc, char **argv);

/// The text of --help.
std::string helpText(const Program &program, const char *executable);

} // namespace galv

#endif // GALV_LIB_RUNTIME_OPTIONS_H
