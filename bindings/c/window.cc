// Windows and registrations: memory that a rank promises to use again. Handles are recycled and never returned to the
// system, so that use after deregistration is an error and not a crash.
#include <cstdio>
#include <deque>
#include <string>

#include "bindings/c/group_state.h"
#include "bindings/c/guard.h"
#include "bindings/c/handle.h"
#include "bindings/c/memory.h"
#include "bindings/c/mycel.h"
#include "bindings/c/status_map.h"
#include "core/base/mutex.h"

struct mycelWindow {
  bool live = false;  // all fields are guarded by the mutex of the pool
  bool collective = false;
  mycelComm* comm = nullptr;
  uint64_t generation = 0;  // of the communicator
  uint64_t number = 0;      // Communicator::CloseWindow
  int32_t peers_mapped = 0;
  const char* reason = "";
  mycel::WindowPart part;
};

namespace mycel {
namespace {

struct WindowPool {
  Mutex mutex;
  std::deque<mycelWindow> all ABSL_GUARDED_BY(mutex);
  std::deque<mycelWindow*> free ABSL_GUARDED_BY(mutex);
};

WindowPool& Pool() {
  static auto* pool = new WindowPool();
  return *pool;
}

/// So many ended handles are kept back before one is used again.
constexpr size_t kEndedKept = 64;

mycelWindow* Keep(mycelWindow window) {
  WindowPool& pool = Pool();
  const MutexLock lock(pool.mutex);
  mycelWindow* handle = nullptr;
  if (pool.free.size() <= kEndedKept) {
    handle = &pool.all.emplace_back();
  } else {
    handle = pool.free.front();
    pool.free.pop_front();
  }
  window.live = true;
  *handle = window;
  return handle;
}

/// What is known of a live window; with `ends`, it is live no more.
StatusOr<mycelWindow> Known(mycelWindow* handle, bool collective, bool ends, const char* function) {
  if (handle == nullptr) return InvalidArgument(std::string(function) + ": the handle is NULL");
  WindowPool& pool = Pool();
  const MutexLock lock(pool.mutex);
  if (!handle->live || handle->collective != collective) {
    return InvalidArgument(std::string(function) + ": the handle was deregistered, or is of another kind");
  }
  const mycelWindow window = *handle;
  if (ends) {
    handle->live = false;
    pool.free.push_back(handle);
  }
  return window;
}

Status CheckBuffer(const mycelComm* comm, const void* buffer, size_t bytes, const void* out, const char* function) {
  MYCEL_RETURN_IF_ERROR(CheckHandle(comm, function));
  if (buffer == nullptr || bytes == 0) return InvalidArgument(std::string(function) + ": the buffer is NULL or empty");
  if (bytes > UINTPTR_MAX - reinterpret_cast<uintptr_t>(buffer)) {
    return InvalidArgument(std::string(function) + ": the buffer reaches beyond the address space");
  }
  if (out == nullptr) return InvalidArgument(std::string(function) + ": there is no place for the handle");
  return OkStatus();
}

/// Why a window changes nothing, or "".
const char* ReasonFor(const mycelWindow& window, const Communicator& communicator) {
  if (window.peers_mapped > 0) return "";
  if (communicator.rank_count() == 1) return "there are no other ranks";
  if (communicator.transport_name() == "loopback") return "the ranks share an address space, there is nothing to map";
  if (!communicator.reads_directly()) return "ranks do not read each other's memory here (MYCEL_DIRECT, permissions)";
  return "no other rank's buffer lies in memory from mycelMemAlloc that can be mapped";
}

Status Register(mycelComm* comm, void* buffer, size_t bytes, mycelWindow** handle) {
  constexpr const char* kFunction = "mycelCommWindowRegister";
  AwaitStreams(comm);
  const Inside inside(comm, kFunction);
  MYCEL_RETURN_IF_ERROR(inside.status());
  mycelWindow window;
  window.collective = true;
  window.comm = comm;
  window.generation = comm->generation.load(std::memory_order_relaxed);
  window.part = UseMemory(buffer, bytes);
  const StatusOr<Communicator::WindowFacts> facts = inside.communicator().OpenWindow(window.part);
  if (!facts.ok()) {
    ReleaseMemory(window.part);
    return facts.status();
  }
  window.number = facts->number;
  window.peers_mapped = facts->peers_mapped;
  window.reason = ReasonFor(window, inside.communicator());
  *handle = Keep(window);
  return OkStatus();
}

Status Deregister(mycelComm* comm, mycelWindow* handle) {
  constexpr const char* kFunction = "mycelCommWindowDeregister";
  MYCEL_RETURN_IF_ERROR(CheckHandle(comm, kFunction, Needs::kCommunicator));
  MYCEL_ASSIGN_OR_RETURN(const mycelWindow known, Known(handle, true, false, kFunction));
  if (known.comm != comm || known.generation != comm->generation.load(std::memory_order_relaxed)) {
    return InvalidArgument(std::string(kFunction) + ": the window is another communicator's");
  }
  AwaitStreams(comm);
  const Inside inside(comm, kFunction, known.generation);
  MYCEL_RETURN_IF_ERROR(inside.status());
  MYCEL_ASSIGN_OR_RETURN(const mycelWindow ended, Known(handle, true, true, kFunction));
  inside.communicator().CloseWindow(ended.number);
  ReleaseMemory(ended.part);
  return OkStatus();
}

}  // namespace

void ForgetWindows(const mycelComm* comm, uint64_t generation) {
  WindowPool& pool = Pool();
  const MutexLock lock(pool.mutex);
  for (mycelWindow& window : pool.all) {
    if (!window.live || window.comm != comm || window.generation != generation) continue;
    window.live = false;
    pool.free.push_back(&window);
    ReleaseMemory(window.part);
  }
}

}  // namespace mycel

using mycel::InvalidUsage;
using mycel::Report;
using mycel::Status;

extern "C" {

mycelResult_t mycelCommWindowRegister(mycelComm_t comm, void* buff, size_t size, mycelWindow_t* win, int winFlags) try {
  Status status = mycel::CheckBuffer(comm, buff, size, win, "mycelCommWindowRegister");
  if (status.ok() && winFlags != MYCEL_WIN_DEFAULT && winFlags != MYCEL_WIN_COLL_SYMMETRIC) {
    status = mycel::InvalidArgument("mycelCommWindowRegister: winFlags is " + std::to_string(winFlags) +
                                    ", neither MYCEL_WIN_DEFAULT nor MYCEL_WIN_COLL_SYMMETRIC");
  }
  if (!status.ok()) return mycel::Refuse(status);
  if (!mycel::InGroup()) {
    return Report(mycel::Guarded("mycelCommWindowRegister", [&] { return mycel::Register(comm, buff, size, win); }));
  }
  // One thread may register the windows of several ranks.
  mycel::DeferInit([comm, buff, size, win] {
    return mycel::Guarded("mycelCommWindowRegister", [&] { return mycel::Register(comm, buff, size, win); });
  });
  return mycelSuccess;
} catch (...) {
  return mycel::Caught("mycelCommWindowRegister");
}

mycelResult_t mycelCommWindowDeregister(mycelComm_t comm, mycelWindow_t win) try {
  return Report(mycel::Guarded("mycelCommWindowDeregister", [&] { return mycel::Deregister(comm, win); }));
} catch (...) {
  return mycel::Caught("mycelCommWindowDeregister");
}

mycelResult_t mycelWindowGetInfo(mycelWindow_t win, mycelWindowInfo* info) try {
  if (info == nullptr || info->size != sizeof(mycelWindowInfo)) {
    return Report(
        mycel::InvalidArgument("mycelWindowGetInfo: info is NULL or info->size is not sizeof(mycelWindowInfo)"));
  }
  const mycel::StatusOr<mycelWindow> known = mycel::Known(win, true, false, "mycelWindowGetInfo");
  if (!known.ok()) return Report(known.status());
  info->bytes = known->part.bytes;
  info->shareable = known->part.fd >= 0 ? 1 : 0;
  info->peers_mapped = known->peers_mapped;
  std::snprintf(info->reason, sizeof(info->reason), "%s", known->reason);
  return mycelSuccess;
} catch (...) {
  return mycel::Caught("mycelWindowGetInfo");
}

mycelResult_t mycelCommRegister(mycelComm_t comm, void* buff, size_t size, void** handle) try {
  const Status status = mycel::CheckBuffer(comm, buff, size, handle, "mycelCommRegister");
  if (!status.ok()) return Report(status);
  return Report(mycel::Guarded("mycelCommRegister", [&] {
    mycelWindow window;
    window.comm = comm;
    window.generation = comm->generation.load(std::memory_order_relaxed);
    window.part.bytes = size;
    *handle = mycel::Keep(window);
    return mycel::OkStatus();
  }));
} catch (...) {
  return mycel::Caught("mycelCommRegister");
}

mycelResult_t mycelCommDeregister(mycelComm_t comm, void* handle) try {
  Status status = mycel::CheckHandle(comm, "mycelCommDeregister", mycel::Needs::kCommunicator);
  if (status.ok())
    status = mycel::Known(static_cast<mycelWindow*>(handle), false, true, "mycelCommDeregister").status();
  return Report(status);
} catch (...) {
  return mycel::Caught("mycelCommDeregister");
}

}  // extern "C"
