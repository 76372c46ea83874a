#include "bindings/c/vector_handle.h"

#include <deque>
#include <string>
#include <vector>

#include "bindings/c/handle.h"
#include "core/base/mutex.h"

namespace mycel {
namespace {

/// Handles that may be used again. Leaked on purpose: a stale pointer must stay readable.
struct VectorHandlePool {
  Mutex mutex;
  std::deque<mycelAllToAllvPlan> all ABSL_GUARDED_BY(mutex);
  std::vector<mycelAllToAllvPlan*> free ABSL_GUARDED_BY(mutex);
};

VectorHandlePool& Pool() {
  static auto* pool = new VectorHandlePool();
  return *pool;
}

}  // namespace

mycelAllToAllvPlan* NewVectorHandle(mycelComm* comm, DataType type) {
  VectorHandlePool& pool = Pool();
  const MutexLock lock(pool.mutex);
  mycelAllToAllvPlan* handle = nullptr;
  if (pool.free.empty()) {
    handle = &pool.all.emplace_back();
  } else {
    // The oldest first: a stale pointer stays recognisable as long as possible.
    handle = pool.free.front();
    pool.free.erase(pool.free.begin());
  }
  handle->comm = comm;
  handle->generation = comm->generation.load(std::memory_order_relaxed);
  handle->type = type;
  // release: a thread that sees the plan live sees its fields.
  handle->live.store(true, std::memory_order_release);
  return handle;
}

void RetireVectorHandle(mycelAllToAllvPlan* handle) {
  VectorHandlePool& pool = Pool();
  const MutexLock lock(pool.mutex);
  handle->live.store(false, std::memory_order_relaxed);
  handle->pair = VectorPair();
  pool.free.push_back(handle);
}

Status CheckVectorHandle(const mycelAllToAllvPlan* handle, const char* function) {
  if (handle == nullptr) return InvalidArgument(std::string(function) + ": the plan is NULL");
  // acquire: pairs with the release in NewVectorHandle.
  if (handle->live.load(std::memory_order_acquire)) return OkStatus();
  return InvalidArgument(std::string(function) + ": the plan was destroyed or never created");
}

bool HasCommunicator(const mycelAllToAllvPlan* handle) {
  return CheckHandle(handle->comm, "").ok() &&
         handle->comm->generation.load(std::memory_order_relaxed) == handle->generation;
}

}  // namespace mycel
