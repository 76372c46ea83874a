// mycelComm: what a mycelComm_t points to. Handles are recycled and never returned to the system, so that use after
// destroy is an error and not a crash.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>

#include "bindings/c/mycel.h"
#include "core/base/status.h"
#include "core/runtime/communicator.h"

inline constexpr uint64_t kMycelLive = 0x6d7963656c2d6f6bULL;  // "mycel-ok"

struct mycelComm {
  std::atomic<uint64_t> magic{0};
  std::unique_ptr<mycel::Communicator> communicator;
  uint32_t process_generation = 0;
  std::atomic<int32_t> queued{0};  // operations on streams that have not finished
  std::mutex mutex;                // for `idle` only
  std::condition_variable idle;    // queued reached 0
};

namespace mycel {

mycelComm* NewHandle(std::unique_ptr<Communicator> communicator);
/// Invalidates the handle and gives it back to the pool; the communicator is returned.
std::unique_ptr<Communicator> RetireHandle(mycelComm* handle);
/// Grows by one in every forked child: a communicator belongs to the process that made it.
uint32_t ProcessGeneration();

/// OK, or InvalidArgument / InvalidUsage saying what is wrong with the handle. `function` begins the text.
Status CheckHandle(const mycelComm* handle, const char* function);

void StreamWorkQueued(mycelComm* handle);
void StreamWorkDone(mycelComm* handle);
/// Waits until no stream operation of the communicator is queued or running.
void AwaitStreams(mycelComm* handle);

}  // namespace mycel
