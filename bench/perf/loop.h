// The measured loop of one thread: calls of one collective with one size, type and operation, for the ranks it drives.
// Between two clock readings there is nothing but the calls and the arithmetic that moves the buffers along.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "bench/perf/collective.h"
#include "bench/perf/demand.h"
#include "bench/perf/options.h"
#include "bench/perf/world.h"

namespace mycel::perf {

/// What one row measures.
struct Setting {
  DataType type = DataType::kFloat32;
  ReduceOp op = ReduceOp::kSum;
  int root = 0;
  int64_t size = 0;  // bytes asked for; the row shows what is left after rounding to blocks

  size_t element_bytes() const { return SizeOf(type); }
};

class Loop {
 public:
  /// `demand` is used by alltoallv only. Everything outlives the loop.
  Loop(const Collective& collective, const Options& options, const Demand& demand, Rank* ranks, size_t rank_count,
       int group_ranks);

  /// Chooses the row. `in_place` only where the collective has it.
  void Bind(const Setting& setting, bool in_place);

  /// nccl-tests' size and count columns.
  size_t size_bytes() const { return step_bytes_; }
  size_t count() const { return counts_.argument; }

  /// One call per rank at the start of the buffers, and wait.
  Status Once();
  /// All ranks of the group pass together; their clocks start right after it.
  Status Barrier();

  struct Elapsed {
    double per_call_us = 0;
    double cpu_per_call_us = 0;  // until the calls had returned, without waiting for streams
  };
  /// `iters` times agg_iters calls.
  StatusOr<Elapsed> Run(int iters);
  /// The duration of each of `iters` iterations, in µs.
  StatusOr<std::vector<double>> Sample(int iters);

  /// The calls, one per rank; their buffers are at the start of the arena except while Run and Sample run.
  const std::vector<Call>& calls() const { return calls_; }
  const Counts& counts() const { return counts_; }

 private:
  mycelRedOp_t OpOf(const Rank& rank, const Setting& setting);
  Status Issue();
  Status Iterate();
  Status Wait();
  Status WaitAndBarrier(bool barrier);
  void Advance();
  void MoveTo(size_t shift);
  Status Failure(mycelResult_t result, const Call& call) const;

  const Collective& collective_;
  const Options& options_;
  const Demand& demand_;
  Rank* ranks_;
  size_t rank_count_;
  int group_ranks_;

  /// mulsum of one type at one rank; the communicator's, like all of them.
  struct MulSum {
    mycelComm_t comm;
    DataType type;
    mycelRedOp_t op;
  };
  std::vector<MulSum> mul_sums_;
  Counts counts_;
  std::vector<Call> calls_;        // with the buffers of the next call
  std::vector<PairCounts> pairs_;  // alltoallv
  size_t step_bytes_ = 0;          // what one call touches at most of one buffer
  size_t shift_ = 0;               // where the next call's buffers start in the arena
  size_t shift_last_ = 0;          // the last start that fits into the arena
};

}  // namespace mycel::perf
