// The ranks that live in this process: their communicators, streams and buffers.
#pragma once

#include <string>
#include <vector>

#include "bench/perf/buffer.h"
#include "bench/perf/job.h"
#include "bench/perf/options.h"
#include "bindings/c/mycel.h"

namespace mycel::perf {

/// One rank. Owned by World, used by one thread.
struct Rank {
  int rank = 0;   // in its group
  int index = 0;  // in the whole run
  mycelComm_t comm = nullptr;
  mycelStream_t stream = nullptr;  // NULL: run in the calling thread
  Buffer send;
  Buffer recv;
};

/// NCCL_TESTS_SPLIT ("AND 1", "MOD 2", "DIV 4", "OR 3") or NCCL_TESTS_SPLIT_MASK (hexadecimal): the group of process
/// `process`. Groups run the same collective side by side. InvalidArgument quotes the text.
StatusOr<int> GroupOf(int process, const Environment& environment);

/// The error of a library call, with what the library says about it.
Status CallError(mycelResult_t result, mycelComm_t comm, const std::string& what);

class World {
 public:
  /// Agrees with the other processes on groups and unique ids. Creates no communicator yet.
  static StatusOr<World> Meet(Job& job, const Options& options);

  /// Creates the communicators of threads [first_thread, last_thread). Called once for all of them by the main thread,
  /// or by each thread for itself (-p 1).
  Status Connect(int first_thread, int last_thread);
  /// Allocates and touches the buffers of one thread's ranks; called by that thread.
  Status Allocate(int thread, size_t arena_bytes, size_t offset);
  /// Destroys the communicators after a run that went well. After a failure they are left to the process's end:
  /// destroying them could wait for dead ranks.
  Status Disconnect();

  /// The ranks that thread `thread` drives.
  Rank* ranks_of(int thread) { return &ranks_[static_cast<size_t>(thread) * per_thread_]; }
  size_t ranks_per_thread() const { return per_thread_; }
  const std::vector<Rank>& ranks() const { return ranks_; }

  int group() const { return group_; }
  /// Ranks of this process's group.
  int group_ranks() const { return group_ranks_; }
  /// Ranks of the whole run.
  int run_ranks() const { return run_ranks_; }

 private:
  World() = default;

  std::vector<Rank> ranks_;
  size_t per_thread_ = 1;
  int group_ = 0;
  int group_ranks_ = 1;
  int run_ranks_ = 1;
  bool host_stream_ = false;
  mycelUniqueId id_ = {};
};

}  // namespace mycel::perf
