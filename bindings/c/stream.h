// Host streams: a queue with a worker thread.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <thread>

#include "core/base/mutex.h"
#include "core/base/status.h"

namespace mycel {

/// Thread-safe.
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

  Mutex mutex_;
  Condition changed_;
  std::deque<std::function<Status()>> queue_ ABSL_GUARDED_BY(mutex_);
  uint64_t enqueued_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t finished_ ABSL_GUARDED_BY(mutex_) = 0;
  Status error_ ABSL_GUARDED_BY(mutex_);
  bool closing_ ABSL_GUARDED_BY(mutex_) = false;
  const uint32_t process_;  // ProcessGeneration of its maker: a child of fork has no worker
  std::thread worker_;
};

}  // namespace mycel
