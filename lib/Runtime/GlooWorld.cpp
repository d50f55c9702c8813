//===- GlooWorld.cpp - ranks as processes, over Gloo ----------------------===//
//
// The only translation unit that includes c10d. Gloo moves bytes here and adds
// nothing up (see Communicator.h for why).
//
// A dead process closes its connections, which ends the operations of its
// peers at once; Gloo's own time-out is therefore long (slow is not dead).
//
//===----------------------------------------------------------------------===//

#include "GlooWorld.h"
#include "Error.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/from_blob.h>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include <algorithm>
#include <cstdlib>
#include <thread>

using namespace galv;
using c10d::ProcessGroupGloo;

namespace {

constexpr std::chrono::seconds connectTimeout(300);
constexpr std::chrono::hours operationTimeout(24);
/// How long rank 0, which may serve the store, stays after a failure so that
/// the others can still learn of it.
constexpr std::chrono::milliseconds lingerTimeout(2000);

at::Tensor bytesTensor(const std::byte *data, int64_t bytes) {
  return at::from_blob(const_cast<std::byte *>(data), {bytes},
                       at::TensorOptions().dtype(at::kByte));
}

class GlooCommunicator : public Communicator {
public:
  GlooCommunicator(c10::intrusive_ptr<ProcessGroupGloo> group, int rank,
                   int size)
      : Communicator(rank, size), group(std::move(group)) {}

protected:
  void exchange(const std::byte *send, std::byte *receive,
                int64_t blockBytes) override {
    if (!blockBytes)
      return;
    at::Tensor in = bytesTensor(send, blockBytes * size());
    at::Tensor out = bytesTensor(receive, blockBytes * size());
    std::vector<int64_t> even;
    group->alltoall_base(out, in, even, even)->wait();
  }

  void gather(const std::byte *send, std::byte *receive,
              int64_t blockBytes) override {
    if (!blockBytes)
      return;
    at::Tensor in = bytesTensor(send, blockBytes);
    at::Tensor out = bytesTensor(receive, blockBytes * size());
    group->_allgather_base(out, in)->wait();
  }

private:
  c10::intrusive_ptr<ProcessGroupGloo> group;
};

class GlooWorld : public ProcessWorld {
public:
  explicit GlooWorld(const Launch &launch)
      : ProcessWorld(launch.rank, launch.size), launch(launch) {
    // c10d's flight recorder notes every operation and is not safe where
    // several threads of a process have process groups. Nobody reads it here.
    setenv("TORCH_FR_BUFFER_SIZE", "0", /*overwrite=*/0);
    c10d::TCPStoreOptions options;
    options.port = static_cast<uint16_t>(launch.masterPort);
    options.isServer = launch.rank == 0 && !launch.agentStore;
    options.numWorkers = launch.size;
    // The agent's store counts other workers than ours.
    options.waitWorkers = !launch.agentStore;
    options.timeout = connectTimeout;
    auto tcp =
        c10::make_intrusive<c10d::TCPStore>(launch.masterAddress, options);
    tcp->setTimeout(operationTimeout);
    store =
        c10::make_intrusive<c10d::PrefixStore>("galv/" + launch.attempt, tcp);
  }

  void start() override {
    device = makeDevice();
    std::vector<int> everyone(size());
    for (int i = 0; i < size(); ++i)
      everyone[i] = i;
    group = makeGroup(everyone);
  }

  std::unique_ptr<Communicator> join(const std::vector<int> &ranks) override {
    int position = static_cast<int>(
        std::find(ranks.begin(), ranks.end(), rank()) - ranks.begin());
    bool whole = static_cast<int>(ranks.size()) == size() &&
                 std::is_sorted(ranks.begin(), ranks.end());
    return std::make_unique<GlooCommunicator>(whole ? group : makeGroup(ranks),
                                              position,
                                              static_cast<int>(ranks.size()));
  }

  void transfer(const std::vector<Message> &messages) override {
    std::vector<c10::intrusive_ptr<c10d::Work>> works;
    for (const Message &message : messages) {
      if (!message.bytes)
        continue;
      std::vector<at::Tensor> tensors{bytesTensor(message.data, message.bytes)};
      works.push_back(message.send
                          ? group->send(tensors, message.peer, message.tag)
                          : group->recv(tensors, message.peer, message.tag));
    }
    for (auto &work : works)
      work->wait();
  }

  void agreeOnInputs() override {
    if (rank() == 0) {
      set("inputs", "ok");
      return;
    }
    if (get("inputs") != "ok")
      throw PeerFailed();
  }

  bool announceFailure() noexcept override {
    try {
      bool first = store->add("failures", 1) == 1;
      if (rank() == 0) {
        // Ranks that still wait for the verdict read this one; the others
        // learn of the failure from the connections that close here.
        set("inputs", "failed");
        group.reset();
        auto end = std::chrono::steady_clock::now() + lingerTimeout;
        while (store->add("failures", 0) < size() &&
               std::chrono::steady_clock::now() < end)
          std::this_thread::sleep_for(std::chrono::milliseconds(10));
      }
      return first;
    } catch (...) {
      return true; // the store is gone with rank 0: say what is known here
    }
  }

  void finish() override {
    // Rank 0 serves the store: it leaves last.
    store->add("finished", 1);
    if (rank() == 0)
      while (store->add("finished", 0) < size())
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }

private:
  std::shared_ptr<gloo::transport::Device> makeDevice() {
    if (const char *interface = std::getenv("GLOO_SOCKET_IFNAME"))
      return ProcessGroupGloo::createDeviceForInterface(interface);
    // All ranks on one machine: do not depend on what its name resolves to.
    if (launch.masterAddress == "127.0.0.1" ||
        launch.masterAddress == "localhost")
      return ProcessGroupGloo::createDeviceForHostname("127.0.0.1");
    return ProcessGroupGloo::createDefaultDevice();
  }

  c10::intrusive_ptr<ProcessGroupGloo>
  makeGroup(const std::vector<int> &ranks) {
    std::string name = "group";
    for (int member : ranks)
      name += "_" + std::to_string(member);
    // The connections are made in the constructor, with a peer that may have
    // died before it had any to close.
    auto options = ProcessGroupGloo::Options::create(connectTimeout);
    options->devices.push_back(device);
    int position = static_cast<int>(
        std::find(ranks.begin(), ranks.end(), rank()) - ranks.begin());
    auto made = c10::make_intrusive<ProcessGroupGloo>(
        c10::make_intrusive<c10d::PrefixStore>(name, store), position,
        static_cast<int>(ranks.size()), options);
    made->setTimeout(operationTimeout);
    return made;
  }

  void set(const std::string &key, const std::string &value) {
    store->set(key, std::vector<uint8_t>(value.begin(), value.end()));
  }
  std::string get(const std::string &key) {
    std::vector<uint8_t> value = store->get(key);
    return {value.begin(), value.end()};
  }

  Launch launch;
  c10::intrusive_ptr<c10d::Store> store;
  std::shared_ptr<gloo::transport::Device> device;
  c10::intrusive_ptr<ProcessGroupGloo> group;
};

} // namespace

std::unique_ptr<ProcessWorld> ProcessWorld::connect(const Launch &launch) {
  try {
    return std::make_unique<GlooWorld>(launch);
  } catch (const std::exception &error) {
    fail("rank ", launch.rank, " cannot meet the others at ",
         launch.masterAddress, ":", launch.masterPort, ": ", describe(error));
  }
}
