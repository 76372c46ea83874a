// Streams, events and graphs of the fake driver. A stream is a queue with a thread; a graph is what its queue was given
// while it captured, with the order that events made between streams.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "core/base/mutex.h"

namespace mycel::fake {

/// Becomes true once.
class Mark {
 public:
  void Set();
  void Wait();
  bool IsSet();

 private:
  Mutex mutex_;
  Condition changed_;
  bool set_ ABSL_GUARDED_BY(mutex_) = false;
};

struct FakeGraph {
  struct Node {
    std::function<void()> work;
    std::vector<size_t> after;
  };
  std::vector<Node> nodes;
  std::atomic<bool> open{true};  // still captured
  /// Every node, each on a thread of its own when those before it are done.
  void Run() const;
};

/// What an event stands for: work that was queued, or a place in a graph.
struct FakeEvent {
  std::shared_ptr<Mark> mark;  // null: nothing was recorded
  std::shared_ptr<FakeGraph> graph;
  std::vector<size_t> after;
};

/// Used by one thread at a time, as real streams may not be but ours are.
class FakeStream {
 public:
  explicit FakeStream(int device) : device_(device) {}
  ~FakeStream();  // finishes what is queued
  FakeStream(const FakeStream&) = delete;
  FakeStream& operator=(const FakeStream&) = delete;

  int device() const { return device_; }
  void Add(std::function<void()> work);
  void Record(FakeEvent* event);
  void WaitFor(const FakeEvent& event);
  void Synchronize();

  bool capturing();
  void BeginCapture();
  /// Null where nothing was captured.
  std::shared_ptr<FakeGraph> EndCapture();

 private:
  void Enqueue(std::function<void()> work);
  /// A forked stream leaves the graph when that has been ended elsewhere.
  void LeaveClosedGraph() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Work();

  const int device_;
  Mutex mutex_;
  Condition changed_;
  std::thread worker_;  // from the first work on
  std::deque<std::function<void()>> queue_ ABSL_GUARDED_BY(mutex_);
  uint64_t queued_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t done_ ABSL_GUARDED_BY(mutex_) = 0;
  bool closing_ ABSL_GUARDED_BY(mutex_) = false;
  std::shared_ptr<FakeGraph> graph_ ABSL_GUARDED_BY(mutex_);
  std::vector<size_t> last_ ABSL_GUARDED_BY(mutex_);  // nodes that the next one comes after
};

}  // namespace mycel::fake
