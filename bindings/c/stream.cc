#include "bindings/c/stream.h"

#include <pthread.h>

#include <set>
#include <string>

#include "bindings/c/guard.h"
#include "bindings/c/handle.h"
#include "bindings/c/mycel.h"
#include "bindings/c/status_map.h"

namespace mycel {
namespace {

struct Live {
  Mutex mutex;
  std::set<const void*> streams ABSL_GUARDED_BY(mutex);
};

Live& OfProcess() {
  static auto* live = new Live();  // outlives every static destructor that may still use a stream
  return *live;
}

}  // namespace

HostStream::HostStream() : process_((WatchForks(), ProcessGeneration())) {
  Live& live = OfProcess();
  const MutexLock lock(live.mutex);
  const auto place = live.streams.insert(this).first;
  // Last: a thread that runs may not be left behind by what is thrown.
  try {
    worker_ = std::thread([this] { Work(); });
  } catch (...) {
    live.streams.erase(place);
    throw;
  }
}

HostStream::~HostStream() {
  {
    Live& live = OfProcess();
    const MutexLock lock(live.mutex);
    live.streams.erase(this);
  }
  {
    const MutexLock lock(mutex_);
    closing_ = true;
  }
  changed_.NotifyAll();
  worker_.join();
}

Status HostStream::CheckHandle(const void* handle, const char* function) {
  Live& live = OfProcess();
  const MutexLock lock(live.mutex);
  if (live.streams.count(handle) == 0) {
    return InvalidArgument(std::string(function) + ": the stream was not made by mycelStreamCreate, or is destroyed");
  }
  if (static_cast<const HostStream*>(handle)->process_ == ProcessGeneration()) return OkStatus();
  return InvalidUsage(std::string(function) +
                      ": the stream was created in another process (before fork); create it after fork");
}

void HostStream::Enqueue(std::function<Status()> work) {
  {
    const MutexLock lock(mutex_);
    queue_.push_back(std::move(work));
    ++enqueued_;
  }
  changed_.NotifyAll();
}

Status HostStream::Synchronize() {
  const MutexLock lock(mutex_);
  const uint64_t target = enqueued_;
  while (finished_ < target) changed_.Wait(mutex_);
  Status status = error_;
  error_ = OkStatus();
  return status;
}

void HostStream::Work() {
  pthread_setname_np(pthread_self(), "mycel-stream");
  mutex_.Lock();
  while (true) {
    while (!closing_ && queue_.empty()) changed_.Wait(mutex_);
    if (queue_.empty()) break;
    std::function<Status()> work = std::move(queue_.front());
    queue_.pop_front();
    mutex_.Unlock();
    const Status status = work();
    work = nullptr;
    mutex_.Lock();
    if (!status.ok() && error_.ok()) error_ = status;
    ++finished_;
    changed_.NotifyAll();
  }
  mutex_.Unlock();
}

}  // namespace mycel

extern "C" {

mycelResult_t mycelStreamCreate(mycelStream_t* stream) try {
  if (stream == nullptr) return mycel::Report(mycel::InvalidArgument("mycelStreamCreate: stream is NULL"));
  return mycel::Report(mycel::Guarded("mycelStreamCreate", [stream] {
    *stream = new mycel::HostStream();
    return mycel::OkStatus();
  }));
} catch (...) {
  return mycel::Caught("mycelStreamCreate");
}

mycelResult_t mycelStreamSynchronize(mycelStream_t stream) try {
  const mycel::Status usable = mycel::HostStream::CheckHandle(stream, "mycelStreamSynchronize");
  if (!usable.ok()) return mycel::Report(usable);
  return mycel::Report(static_cast<mycel::HostStream*>(stream)->Synchronize());
} catch (...) {
  return mycel::Caught("mycelStreamSynchronize");
}

mycelResult_t mycelStreamDestroy(mycelStream_t stream) try {
  if (stream == nullptr) return mycelSuccess;
  const mycel::Status usable = mycel::HostStream::CheckHandle(stream, "mycelStreamDestroy");
  if (!usable.ok()) return mycel::Report(usable);
  delete static_cast<mycel::HostStream*>(stream);
  return mycelSuccess;
} catch (...) {
  return mycel::Caught("mycelStreamDestroy");
}

}  // extern "C"
