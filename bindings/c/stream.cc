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

std::mutex& LiveMutex() {
  static std::mutex mutex;
  return mutex;
}

std::set<const void*>& LiveStreams() {
  static auto* streams = new std::set<const void*>();  // outlives every static destructor that may still use a stream
  return *streams;
}

}  // namespace

HostStream::HostStream() : process_((WatchForks(), ProcessGeneration())), worker_([this] { Work(); }) {
  const std::lock_guard<std::mutex> lock(LiveMutex());
  LiveStreams().insert(this);
}

HostStream::~HostStream() {
  {
    const std::lock_guard<std::mutex> lock(LiveMutex());
    LiveStreams().erase(this);
  }
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    closing_ = true;
  }
  changed_.notify_all();
  worker_.join();
}

Status HostStream::CheckHandle(const void* handle, const char* function) {
  const std::lock_guard<std::mutex> lock(LiveMutex());
  if (LiveStreams().count(handle) == 0) {
    return InvalidArgument(std::string(function) + ": the stream was not made by mycelStreamCreate, or is destroyed");
  }
  if (static_cast<const HostStream*>(handle)->process_ == ProcessGeneration()) return OkStatus();
  return InvalidUsage(std::string(function) +
                      ": the stream was created in another process (before fork); create it after fork");
}

void HostStream::Enqueue(std::function<Status()> work) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    queue_.push_back(std::move(work));
    ++enqueued_;
  }
  changed_.notify_all();
}

Status HostStream::Synchronize() {
  std::unique_lock<std::mutex> lock(mutex_);
  const uint64_t target = enqueued_;
  changed_.wait(lock, [this, target] { return finished_ >= target; });
  Status status = error_;
  error_ = OkStatus();
  return status;
}

void HostStream::Work() {
  pthread_setname_np(pthread_self(), "mycel-stream");
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return closing_ || !queue_.empty(); });
    if (queue_.empty()) return;
    std::function<Status()> work = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    const Status status = work();
    lock.lock();
    if (!status.ok() && error_.ok()) error_ = status;
    ++finished_;
    changed_.notify_all();
  }
}

}  // namespace mycel

extern "C" {

mycelResult_t mycelStreamCreate(mycelStream_t* stream) {
  if (stream == nullptr) return mycel::Report(mycel::InvalidArgument("mycelStreamCreate: stream is NULL"));
  return mycel::Report(mycel::Guarded("mycelStreamCreate", [stream] {
    *stream = new mycel::HostStream();
    return mycel::OkStatus();
  }));
}

mycelResult_t mycelStreamSynchronize(mycelStream_t stream) {
  const mycel::Status usable = mycel::HostStream::CheckHandle(stream, "mycelStreamSynchronize");
  if (!usable.ok()) return mycel::Report(usable);
  return mycel::Report(static_cast<mycel::HostStream*>(stream)->Synchronize());
}

mycelResult_t mycelStreamDestroy(mycelStream_t stream) {
  if (stream == nullptr) return mycelSuccess;
  const mycel::Status usable = mycel::HostStream::CheckHandle(stream, "mycelStreamDestroy");
  if (!usable.ok()) return mycel::Report(usable);
  delete static_cast<mycel::HostStream*>(stream);
  return mycelSuccess;
}

}  // extern "C"
