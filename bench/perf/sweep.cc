#include "bench/perf/sweep.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace mycel::perf {
namespace {

constexpr double kFillUs = 10'000;         // how long a small size is measured when -n does not say how often
constexpr double kFillLatencyUs = 50'000;  // percentiles need more samples
constexpr int kIterationsMost = 100'000;
constexpr int kSamplesLeast = 100;
constexpr int kSamplesMost = 10'000;
constexpr int kBatches = 10;  // --min

}  // namespace

Sweep::Sweep(SweepContext& context)
    : context_(context),
      options_(context.options),
      worker_(context.worker),
      loop_(context.collective, context.options, context.demand, context.world.ranks_of(context.worker.thread),
            context.world.ranks_per_thread(), context.world.group_ranks()),
      verifier_(context.collective) {}

Status Sweep::Run() {
  const std::vector<ReduceOp> one_op = {ReduceOp::kSum};
  const bool all_roots = options_.all_roots && context_.collective.rooted;
  for (const DataType type : options_.types) {
    for (const ReduceOp op : context_.collective.reduces ? options_.ops : one_op) {
      if (!Allows(op, type)) {
        if (context_.report != nullptr) {
          context_.report->Note(std::string(NameOf(type)) + " " + std::string(NameOf(op)) + ": N/A, " +
                                std::string(NameOf(op)) + " is for " + NamesOfTypesFor(op));
        }
        continue;
      }
      const int first = all_roots ? 0 : options_.root;
      const int last = all_roots ? context_.world.group_ranks() - 1 : options_.root;
      for (int root = first; root <= last; ++root) {
        MYCEL_RETURN_IF_ERROR(RunSizes({.type = type, .op = op, .root = root}));
      }
    }
  }
  return OkStatus();
}

Status Sweep::RunSizes(Setting setting) {
  const int cycles = options_.run_cycles == 0 ? std::numeric_limits<int>::max() : options_.run_cycles;
  for (int cycle = 0; cycle < cycles; ++cycle) {
    for (const int64_t size : options_.range.Sizes(setting.element_bytes())) {
      setting.size = size;
      MYCEL_RETURN_IF_ERROR(options_.latency ? RunLatencyRow(setting) : RunRow(setting));
    }
  }
  return OkStatus();
}

Status Sweep::RunRow(const Setting& setting) {
  Row row;
  row.setting = setting;
  MYCEL_ASSIGN_OR_RETURN(row.out_of_place, Measure(setting, false, &row.iterations));
  row.size_bytes = loop_.size_bytes();
  row.count = loop_.count();
  if (context_.collective.in_place) {
    MYCEL_ASSIGN_OR_RETURN(row.in_place, Measure(setting, true, &row.iterations));
  }
  for (const std::optional<Result>* result : {&row.out_of_place, &row.in_place}) {
    if (!result->has_value()) continue;
    context_.totals.wrong += (*result)->wrong.value_or(0);
    context_.totals.busbw_sum += (*result)->busbw;
    ++context_.totals.busbw_count;
  }
  if (context_.report != nullptr) context_.report->ShowRow(row);
  if (context_.json != nullptr) context_.json->AddRow(context_.collective, options_, row);
  return OkStatus();
}

Status Sweep::RunLatencyRow(const Setting& setting) {
  LatencyRow row;
  row.setting = setting;
  loop_.Bind(setting, false);
  row.size_bytes = loop_.size_bytes();
  MYCEL_RETURN_IF_ERROR(WarmUp());
  MYCEL_ASSIGN_OR_RETURN(row.iterations, AgreeOnIterations(kFillLatencyUs, kSamplesLeast, kSamplesMost));
  MYCEL_RETURN_IF_ERROR(loop_.Barrier());
  MYCEL_ASSIGN_OR_RETURN(const std::vector<double> mine, loop_.Sample(row.iterations));
  MYCEL_ASSIGN_OR_RETURN(const std::vector<double> lists, worker_.GatherLists(mine));
  row.summary = Summarize(CombineLists(options_.average, lists, mine.size()));
  MYCEL_ASSIGN_OR_RETURN(row.wrong, Check(setting, false));
  context_.totals.wrong += row.wrong.value_or(0);
  if (context_.report != nullptr) context_.report->ShowLatency(row);
  if (context_.json != nullptr) context_.json->AddLatency(context_.collective, row);
  return OkStatus();
}

StatusOr<Result> Sweep::Measure(const Setting& setting, bool in_place, int* iterations) {
  loop_.Bind(setting, in_place);
  MYCEL_RETURN_IF_ERROR(WarmUp());
  MYCEL_ASSIGN_OR_RETURN(const int iters, AgreeOnIterations(kFillUs, options_.iters, kIterationsMost));
  const int batches = options_.minimum ? std::min(kBatches, iters) : 1;
  *iterations = iters / batches * batches;
  std::vector<double> times_us;
  for (int b = 0; b < batches; ++b) {
    MYCEL_ASSIGN_OR_RETURN(const Loop::Elapsed elapsed, Timed(iters / batches));
    times_us.push_back(options_.cpu_time ? elapsed.cpu_per_call_us : elapsed.per_call_us);
  }
  MYCEL_ASSIGN_OR_RETURN(const std::vector<double> lists, worker_.GatherLists(times_us));
  const std::vector<double> by_batch = CombineLists(options_.average, lists, times_us.size());

  Result result;
  result.time_us = *std::min_element(by_batch.begin(), by_batch.end());
  const double size = static_cast<double>(loop_.size_bytes());
  result.algbw = result.time_us > 0 ? size / result.time_us / 1e3 : 0;
  result.busbw = result.algbw * context_.collective.busbw_factor(context_.world.group_ranks());
  if (context_.roofline.has_value()) {
    const double arena = static_cast<double>(context_.world.ranks().front().recv.bytes());
    const double touched = std::min(arena, size * *iterations * options_.agg_iters) * (in_place ? 1 : 2);
    result.bound_us =
        context_.roofline->BoundUs(context_.collective.work(context_.world.group_ranks(), in_place), size, touched);
  }
  if (context_.network != nullptr) {
    MYCEL_ASSIGN_OR_RETURN(result.network_us,
                           context_.network->Us(loop_.calls().front().pairs->matrix, setting.element_bytes()));
  }
  if (options_.per_iteration) MYCEL_RETURN_IF_ERROR(AddPerIteration(&result, *iterations));
  MYCEL_ASSIGN_OR_RETURN(result.wrong, Check(setting, in_place));
  return result;
}

StatusOr<Loop::Elapsed> Sweep::Timed(int iters) {
  // The workers come from talking to each other over slow paths: line up first, then start the clocks together.
  MYCEL_RETURN_IF_ERROR(loop_.Barrier());
  return loop_.Run(iters);
}

Status Sweep::WarmUp() {
  for (int i = 0; i < std::max(1, options_.warmup_iters); ++i) MYCEL_RETURN_IF_ERROR(loop_.Once());
  return OkStatus();
}

StatusOr<double> Sweep::Slowest(double mine) {
  MYCEL_ASSIGN_OR_RETURN(const std::vector<double> all, worker_.Gather(mine));
  return *std::max_element(all.begin(), all.end());
}

// -n if given. Otherwise enough calls to fill the time, as the slowest rank sees it, within the limits.
StatusOr<int> Sweep::AgreeOnIterations(double fill_us, int least, int most) {
  if (options_.iters_given) return options_.iters;
  const double calls = options_.agg_iters;
  MYCEL_ASSIGN_OR_RETURN(const Loop::Elapsed one, Timed(1));
  MYCEL_ASSIGN_OR_RETURN(const double slow_us, Slowest(one.per_call_us * calls));
  if (slow_us * least >= fill_us) return least;
  // The first call also waited for whoever came late: a few more tell better.
  MYCEL_ASSIGN_OR_RETURN(const Loop::Elapsed some, Timed(least));
  MYCEL_ASSIGN_OR_RETURN(const double usual_us, Slowest(some.per_call_us * calls));
  return static_cast<int>(std::clamp<double>(std::ceil(fill_us / std::max(usual_us, 1e-3)), least, most));
}

Status Sweep::AddPerIteration(Result* result, int iters) {
  MYCEL_RETURN_IF_ERROR(loop_.Barrier());
  MYCEL_ASSIGN_OR_RETURN(const std::vector<double> mine, loop_.Sample(iters));
  MYCEL_ASSIGN_OR_RETURN(const std::vector<double> lists, worker_.GatherLists(mine));
  result->iteration_us = CombineLists(Average::kMax, lists, mine.size());
  const ptrdiff_t skip = std::min<ptrdiff_t>(options_.per_iteration_skip, iters - 1);
  result->per_iteration = Summarize({result->iteration_us.begin() + skip, result->iteration_us.end()});
  return OkStatus();
}

StatusOr<std::optional<int64_t>> Sweep::Check(const Setting& setting, bool in_place) {
  std::optional<int64_t> wrong;
  for (int c = 0; c < options_.checks && wrong.value_or(0) == 0; ++c) {
    const uint64_t seed = ++checks_done_;
    verifier_.Prepare(loop_, setting, in_place, seed);
    MYCEL_RETURN_IF_ERROR(loop_.Once());
    MYCEL_ASSIGN_OR_RETURN(const std::vector<int64_t> all,
                           worker_.Gather(verifier_.CountWrong(loop_, setting, in_place, seed)));
    wrong = 0;
    for (const int64_t w : all) *wrong += w;
  }
  return wrong;
}

}  // namespace mycel::perf
