#include "bindings/c/handle.h"

#include <pthread.h>

#include <deque>
#include <string>
#include <vector>

namespace mycel {
namespace {

std::atomic<uint32_t> g_generation{1};

void CountFork() { g_generation.fetch_add(1, std::memory_order_relaxed); }

/// Handles that may be used again. Leaked on purpose: a stale pointer must stay readable.
struct HandlePool {
  std::mutex mutex;
  std::deque<mycelComm> all;
  std::vector<mycelComm*> free;
};

HandlePool& Pool() {
  static auto* pool = [] {
    pthread_atfork(nullptr, nullptr, &CountFork);
    return new HandlePool();
  }();
  return *pool;
}

}  // namespace

uint32_t ProcessGeneration() { return g_generation.load(std::memory_order_relaxed); }

mycelComm* NewHandle(std::unique_ptr<Communicator> communicator) {
  HandlePool& pool = Pool();
  const std::lock_guard<std::mutex> lock(pool.mutex);
  mycelComm* handle = nullptr;
  if (pool.free.empty()) {
    handle = &pool.all.emplace_back();
  } else {
    // The oldest first: a stale pointer stays recognisable as long as possible.
    handle = pool.free.front();
    pool.free.erase(pool.free.begin());
  }
  handle->communicator = std::move(communicator);
  handle->process_generation = ProcessGeneration();
  // release: a thread that sees the magic sees the communicator.
  handle->magic.store(kMycelLive, std::memory_order_release);
  return handle;
}

std::unique_ptr<Communicator> RetireHandle(mycelComm* handle) {
  HandlePool& pool = Pool();
  const std::lock_guard<std::mutex> lock(pool.mutex);
  handle->magic.store(0, std::memory_order_relaxed);
  std::unique_ptr<Communicator> communicator = std::move(handle->communicator);
  pool.free.push_back(handle);
  return communicator;
}

Status CheckHandle(const mycelComm* handle, const char* function) {
  if (handle == nullptr) return InvalidArgument(std::string(function) + ": the communicator is NULL");
  // acquire: pairs with the release in NewHandle.
  if (handle->magic.load(std::memory_order_acquire) != kMycelLive) {
    return InvalidArgument(std::string(function) + ": the communicator was destroyed, aborted or never created");
  }
  if (handle->process_generation != ProcessGeneration()) {
    return InvalidUsage(std::string(function) +
                        ": the communicator was created in another process (before fork); create it after fork");
  }
  return OkStatus();
}

void StreamWorkQueued(mycelComm* handle) { handle->queued.fetch_add(1, std::memory_order_relaxed); }

void StreamWorkDone(mycelComm* handle) {
  const std::lock_guard<std::mutex> lock(handle->mutex);
  // release: whoever sees 0 sees what the operation wrote; pairs with the acquire in AwaitStreams.
  handle->queued.fetch_sub(1, std::memory_order_release);
  handle->idle.notify_all();
}

void AwaitStreams(mycelComm* handle) {
  // acquire: pairs with the release in StreamWorkDone.
  if (handle->queued.load(std::memory_order_acquire) == 0) return;
  std::unique_lock<std::mutex> lock(handle->mutex);
  handle->idle.wait(lock, [handle] { return handle->queued.load(std::memory_order_acquire) == 0; });
}

}  // namespace mycel
