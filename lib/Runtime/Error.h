//===- Error.h - errors of the runtime --------------------------*- C++ -*-===//
//
// Every failure that a user can cause or meet is an `Error`: one line, lower
// case, naming both sides of what disagrees. `galv::main` prints it behind
// "error: ". A rank that ends only because another one failed throws
// `PeerFailed` and prints nothing, so that a run of many ranks prints one line.
//
//===----------------------------------------------------------------------===//

#ifndef GALV_LIB_RUNTIME_ERROR_H
#define GALV_LIB_RUNTIME_ERROR_H

#include <exception>
#include <sstream>
#include <stdexcept>
#include <string>

namespace galv {

struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct PeerFailed : std::exception {
  const char *what() const noexcept override { return "another rank failed"; }
};

/// Throws an `Error` made of the parts, as if written to a stream.
template <typename... Parts>
[[noreturn]] void fail(const Parts &...parts) {
  std::ostringstream text;
  (text << ... << parts);
  throw Error(text.str());
}

/// The message of any exception as one line, without LibTorch's backtrace.
std::string describe(const std::exception &error);

} // namespace galv

#endif // GALV_LIB_RUNTIME_ERROR_H
