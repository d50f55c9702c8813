//===- fwd.h - the part of Gloo that c10d's header names --------*- C++ -*-===//
//
// LibTorch's wheel exports ProcessGroupGloo but ships no Gloo headers, which
// its header includes. These declarations let one translation unit
// (GlooWorld.cpp) include it. Only pointers to these types are used there and
// none of their virtual tables is emitted, so their layout does not matter.
//
//===----------------------------------------------------------------------===//

#ifndef GALV_GLOO_STUB_FWD_H
#define GALV_GLOO_STUB_FWD_H

#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace gloo {
class Context {
public:
  void setTimeout(std::chrono::milliseconds);
};
namespace transport {
class Device;
class UnboundBuffer {
public:
  virtual ~UnboundBuffer();
};
} // namespace transport
namespace rendezvous {
struct Store {
  virtual ~Store();
  virtual void set(const std::string &, const std::vector<char> &) = 0;
  virtual std::vector<char> get(const std::string &) = 0;
  virtual void wait(const std::vector<std::string> &) = 0;
  virtual void wait(const std::vector<std::string> &,
                    const std::chrono::milliseconds &) = 0;
};
} // namespace rendezvous
} // namespace gloo

#endif // GALV_GLOO_STUB_FWD_H
