// The threads of all processes of a run, as equals: each has an index, and they meet through their processes' Job.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <type_traits>
#include <vector>

#include "bench/perf/job.h"
#include "core/base/mutex.h"

namespace mycel::perf {

/// The threads of one process. Thread t of process p has index p * threads + t.
class Team {
 public:
  Team(Job& job, int threads) : job_(job), mine_(static_cast<size_t>(threads)) {}

  Job& job() { return job_; }
  int threads() const { return static_cast<int>(mine_.size()); }
  int size() const { return job_.size() * threads(); }

  /// everyone[index * bytes .. ] = that thread's `mine`. Every thread of every process calls it.
  Status AllGather(int thread, const void* mine, size_t bytes, void* everyone);
  /// A thread of this process failed: those waiting here, or coming here later, get an error.
  void Fail();

 private:
  Status Barrier();

  Job& job_;
  Mutex mutex_;
  Condition changed_;
  size_t arrived_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t round_ ABSL_GUARDED_BY(mutex_) = 0;
  bool failed_ ABSL_GUARDED_BY(mutex_) = false;
  // Between two barriers either each thread writes its own entry or thread 0 alone writes: no lock.
  std::vector<const void*> mine_;
  std::vector<char> ours_;
  std::vector<char> everyone_;
  Status status_;
};

/// One thread's place in its team.
struct Worker {
  Team& team;
  int thread = 0;

  int index() const { return team.job().rank() * team.threads() + thread; }
  bool first() const { return index() == 0; }

  Status Barrier() {
    std::vector<char> nothing(static_cast<size_t>(team.size()));
    return team.AllGather(thread, nothing.data(), 1, nothing.data());
  }

  /// The workers' values in order of index.
  template <typename T>
  StatusOr<std::vector<T>> Gather(const T& mine) {
    static_assert(std::is_trivially_copyable_v<T>);
    std::vector<T> all(static_cast<size_t>(team.size()));
    MYCEL_RETURN_IF_ERROR(team.AllGather(thread, &mine, sizeof(T), all.data()));
    return all;
  }

  /// The workers' lists, which all have the same length, one after the other.
  StatusOr<std::vector<double>> GatherLists(const std::vector<double>& mine) {
    std::vector<double> all(mine.size() * static_cast<size_t>(team.size()));
    MYCEL_RETURN_IF_ERROR(team.AllGather(thread, mine.data(), mine.size() * sizeof(double), all.data()));
    return all;
  }
};

}  // namespace mycel::perf
