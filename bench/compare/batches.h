// The measurement that every engine of the comparison goes through, so that only the library differs: the same buffers,
// the same loop, batches of calls between two clock readings, the time of a batch is that of its slowest rank, and the
// fastest batch counts (other work on the machine only ever makes one slower).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "bench/perf/demand.h"
#include "core/base/status.h"

namespace mycel::compare {

enum class Operation { kAllReduce, kAllGather, kReduceScatter, kBroadcast, kReduce, kAllToAll, kAllToAllV, kBarrier };

/// One size of one operation on float32; the root is rank 0 and reductions are sums. `count` elements per rank or per
/// block, as the library functions count.
struct Task {
  Operation operation = Operation::kAllReduce;
  size_t count = 0;
  float* send = nullptr;
  float* recv = nullptr;
  const perf::PairCounts* pairs = nullptr;  // kAllToAllV only
};

/// A library under comparison, at one rank.
class Engine {
 public:
  Engine(int rank, int ranks) : rank_(rank), ranks_(ranks) {}
  virtual ~Engine() = default;

  int rank() const { return rank_; }
  int ranks() const { return ranks_; }

  /// Gets ready for `task`. False if the library does not offer the operation.
  virtual bool Prepare(const Task& task) = 0;
  /// One call. A library error ends the process with a message.
  virtual void Call() = 0;
  virtual void Barrier() = 0;
  /// Each entry becomes the largest over all ranks.
  virtual void MaxOverRanks(std::vector<double>& values) = 0;

 private:
  int rank_;
  int ranks_;
};

struct Arguments {
  Operation operation = Operation::kAllReduce;
  std::string operation_name = "all_reduce";
  std::vector<int64_t> sizes;          // bytes in nccl-tests' meaning
  int ranks = 2;                       // of engines that start their own processes
  int milliseconds = 100;              // per size
  std::string demand = "gen:uniform";  // of all_to_all_v, as alltoallv_perf takes it
};

/// --collective C --sizes 8,16K --ranks N --milliseconds M --demand D. InvalidArgument names the option.
StatusOr<Arguments> ParseArguments(int argc, const char* const* argv);

/// Measures every size and prints "<size> <microseconds>" lines at rank 0. Returns the exit code: 0, 1 for a wrong
/// result, 4 if the operation is not offered.
int MeasureAll(Engine& engine, const Arguments& arguments);

/// Ends the process, naming who failed.
[[noreturn]] void Fail(const Engine& engine, const std::string& what);

}  // namespace mycel::compare
