#include "bench/perf/team.h"

#include <cstring>

namespace mycel::perf {

Status Team::Barrier() {
  const MutexLock lock(mutex_);
  const uint64_t round = round_;
  if (++arrived_ == mine_.size()) {
    arrived_ = 0;
    ++round_;
    changed_.NotifyAll();
  }
  while (round_ == round && !failed_) changed_.Wait(mutex_);
  return failed_ ? RemoteError("another thread of this process has failed") : OkStatus();
}

void Team::Fail() {
  const MutexLock lock(mutex_);
  failed_ = true;
  changed_.NotifyAll();
}

Status Team::AllGather(int thread, const void* mine, size_t bytes, void* everyone) {
  if (threads() == 1) return job_.AllGather(mine, bytes, everyone);
  mine_[static_cast<size_t>(thread)] = mine;
  MYCEL_RETURN_IF_ERROR(Barrier());
  if (thread == 0) {
    ours_.resize(bytes * mine_.size());
    everyone_.resize(bytes * static_cast<size_t>(size()));
    for (size_t t = 0; t < mine_.size(); ++t) std::memcpy(ours_.data() + t * bytes, mine_[t], bytes);
    status_ = job_.AllGather(ours_.data(), ours_.size(), everyone_.data());
  }
  MYCEL_RETURN_IF_ERROR(Barrier());
  Status status = status_;
  if (status.ok()) std::memcpy(everyone, everyone_.data(), everyone_.size());
  // Thread 0 may start the next one only when all have read this one.
  MYCEL_RETURN_IF_ERROR(Barrier());
  return status;
}

}  // namespace mycel::perf
