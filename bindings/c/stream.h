// Host streams: a queue with a worker thread.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

#include "core/base/status.h"

namespace mycel {

/// Thread-safe. Fields below `mutex_` are guarded by it.
class HostStream {
 public:
  HostStream();
  ~HostStream();  // finishes what is queued
  HostStream(const HostStream&) = delete;
  HostStream& operator=(const HostStream&) = delete;

  void Enqueue(std::function<Status()> work);
  /// Waits for everything enqueued before; returns and clears the first error since the last Synchronize.
  Status Synchronize();
  /// OK for a live stream of this process, else what is wrong with it. `function` begins the text.
  static Status CheckHandle(const void* handle, const char* function);

 private:
  void Work();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<Status()>> queue_;
  uint64_t enqueued_ = 0;
  uint64_t finished_ = 0;
  Status error_;
  bool closing_ = false;
  const uint32_t process_;  // ProcessGeneration of its maker: a child of fork has no worker
  std::thread worker_;
};

}  // namespace mycel
