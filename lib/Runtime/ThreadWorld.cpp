//===- ThreadWorld.cpp - ranks as threads of one process ------------------===//
//
// One mutex and one condition variable serve all ranks: this transport is for
// tests and small runs, where being evidently right matters more than the last
// microsecond. Bytes are copied outside of the lock.
//
//===----------------------------------------------------------------------===//

#include "ThreadWorld.h"
#include "Error.h"

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <tuple>

using namespace galv;

namespace {

/// A send that waits for its receiver. Shared, since a failing sender may go
/// away while its receiver still copies.
struct Post {
  const std::byte *data;
  int64_t bytes;
  bool delivered = false;
};

/// A group: its barrier, and the addresses that its ranks have shown.
struct GroupState {
  explicit GroupState(int size) : shown(size) {}
  int arrived = 0;
  int64_t generation = 0;
  std::vector<const std::byte *> shown;
};

} // namespace

struct ThreadHub::State {
  std::mutex mutex;
  std::condition_variable changed;
  bool failed = false;
  // Keyed by (source, destination, tag); the queue is the sequence.
  std::map<std::tuple<int, int, int>, std::deque<std::shared_ptr<Post>>>
      mailboxes;
  std::map<std::vector<int>, std::unique_ptr<GroupState>> groups;

  /// Waits until `condition` holds, or ends this rank if another one failed.
  template <typename Condition>
  void await(std::unique_lock<std::mutex> &lock, Condition condition) {
    changed.wait(lock, [&] { return failed || condition(); });
    if (failed)
      throw PeerFailed();
  }
};

namespace {

class ThreadCommunicator : public Communicator {
public:
  ThreadCommunicator(std::shared_ptr<ThreadHub::State> state, GroupState &group,
                     int rank, int size)
      : Communicator(rank, size), state(std::move(state)), group(group) {}

protected:
  void exchange(const std::byte *send, std::byte *receive,
                int64_t blockBytes) override {
    group.shown[rank()] = send;
    meet();
    for (int i = 0; i < size() && blockBytes; ++i)
      std::memmove(receive + i * blockBytes,
                   group.shown[i] + rank() * blockBytes, blockBytes);
    meet();
  }

  void gather(const std::byte *send, std::byte *receive,
              int64_t blockBytes) override {
    group.shown[rank()] = send;
    meet();
    for (int i = 0; i < size() && blockBytes; ++i)
      std::memmove(receive + i * blockBytes, group.shown[i], blockBytes);
    meet();
  }

private:
  /// The group's barrier.
  void meet() {
    std::unique_lock<std::mutex> lock(state->mutex);
    if (state->failed)
      throw PeerFailed();
    int64_t generation = group.generation;
    if (++group.arrived == size()) {
      group.arrived = 0;
      ++group.generation;
      state->changed.notify_all();
      return;
    }
    state->await(lock, [&] { return group.generation != generation; });
  }

  std::shared_ptr<ThreadHub::State> state;
  GroupState &group;
};

class ThreadWorld : public World {
public:
  ThreadWorld(std::shared_ptr<ThreadHub::State> state, int rank, int size)
      : World(rank, size), state(std::move(state)) {}

  std::unique_ptr<Communicator> join(const std::vector<int> &ranks) override {
    int size = static_cast<int>(ranks.size());
    int position = static_cast<int>(
        std::find(ranks.begin(), ranks.end(), rank()) - ranks.begin());
    std::lock_guard<std::mutex> lock(state->mutex);
    std::unique_ptr<GroupState> &group = state->groups[ranks];
    if (!group)
      group = std::make_unique<GroupState>(size);
    return std::make_unique<ThreadCommunicator>(state, *group, position, size);
  }

  void transfer(const std::vector<Message> &messages) override {
    std::vector<std::shared_ptr<Post>> sent;
    std::unique_lock<std::mutex> lock(state->mutex);
    for (const Message &message : messages)
      if (message.send) {
        sent.push_back(
            std::make_shared<Post>(Post{message.data, message.bytes}));
        state->mailboxes[{rank(), message.peer, message.tag}].push_back(
            sent.back());
      }
    state->changed.notify_all();
    for (const Message &message : messages) {
      if (message.send)
        continue;
      auto &box = state->mailboxes[{message.peer, rank(), message.tag}];
      state->await(lock, [&] { return !box.empty(); });
      std::shared_ptr<Post> post = box.front();
      box.pop_front();
      if (post->bytes != message.bytes)
        fail("rank ", rank(), " expects ", message.bytes, " bytes with tag ",
             message.tag, " from rank ", message.peer, ", which sends ",
             post->bytes);
      lock.unlock();
      if (message.bytes)
        std::memcpy(message.data, post->data, message.bytes);
      lock.lock();
      post->delivered = true;
      state->changed.notify_all();
    }
    state->await(lock, [&] {
      return std::all_of(sent.begin(), sent.end(),
                         [](const auto &post) { return post->delivered; });
    });
  }

private:
  std::shared_ptr<ThreadHub::State> state;
};

} // namespace

ThreadHub::ThreadHub(int size)
    : size_(size), state_(std::make_shared<State>()) {}

ThreadHub::~ThreadHub() = default;

std::unique_ptr<World> ThreadHub::world(int rank) {
  return std::make_unique<ThreadWorld>(state_, rank, size_);
}

void ThreadHub::abort() {
  std::lock_guard<std::mutex> lock(state_->mutex);
  state_->failed = true;
  state_->changed.notify_all();
}
