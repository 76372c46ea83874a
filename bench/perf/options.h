// The command line of the benchmark programs: nccl-tests' options with its names and defaults, and ours.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/plan/types.h"

namespace mycel::perf {

/// nccl-tests' sweep: size, size * factor, ... (factor > 1) or size, size + step, ...
struct SizeRange {
  int64_t min_bytes = 32 << 20;
  int64_t max_bytes = 32 << 20;
  int64_t step_bytes = 1 << 20;
  int64_t step_factor = 1;

  /// All sizes in order. No factor leads out of 0, so 0 is followed by one element.
  std::vector<int64_t> Sizes(size_t element_bytes) const;
};

/// -a: how the ranks' times become one.
enum class Average { kRank0 = 0, kMean = 1, kMin = 2, kMax = 3 };

/// -z: what happens between iterations.
enum class Blocking {
  kNone = 0,            // everything is issued, then waited for
  kWaitAndBarrier = 1,  // wait and barrier after each call of the inner loop
  kWait = 2,            // wait after each call of the inner loop
  kOuter = 3,           // wait and barrier after each outer iteration; the barrier is not timed
};

struct Options {
  // How many ranks.
  int procs = 1;
  int threads = 1;
  int ranks_per_thread = 1;  // -g
  bool parallel_init = false;

  // What is run.
  SizeRange range;
  bool range_given = false;  // -b or -e
  std::vector<DataType> types = {DataType::kFloat32};
  std::vector<ReduceOp> ops = {ReduceOp::kSum};
  int root = 0;
  bool all_roots = false;
  int unalign = 0;  // elements
  std::string demand = "gen:uniform";
  bool host_stream = false;  // -y 0: enqueue on a host stream instead of running in the calling thread

  // How often.
  int iters = 20;
  bool iters_given = false;
  int warmup_iters = 1;
  int agg_iters = 1;
  int run_cycles = 1;  // 0 = for ever
  int checks = 1;
  Blocking blocking = Blocking::kNone;
  int timeout_s = 0;
  bool minimum = false;  // --min

  // What is reported.
  Average average = Average::kMean;
  bool cpu_time = false;
  bool timestamps = false;
  bool memory_report = false;
  bool per_iteration = false;
  int per_iteration_skip = 0;
  bool latency = false;
  bool roofline = false;
  std::string json_path;

  // Handed to the library through its environment variables.
  std::string topo;
  std::string planner;
  std::string plan_file;

  // Accepted for nccl-tests' sake; `notes` says what the host device makes of them.
  int graph = 0;
  std::vector<std::string> notes;
};

/// What main does next: run, or print `text` and leave with `exit_code` (help is 0, a wrong option 2).
struct ParsedOptions {
  std::optional<Options> options;
  std::string text;
  int exit_code = 0;
};

/// `takes_demand`: the program is alltoallv_perf, the only one with --demand.
ParsedOptions ParseOptions(std::string_view program, bool takes_demand, int argc, const char* const* argv);

/// Sets MYCEL_TOPO, MYCEL_PLANNER, MYCEL_PLAN_FILE and MYCEL_TIMEOUT where an option asks for it. Before any thread.
void ExportOptions(const Options& options);

}  // namespace mycel::perf
