#include "scheduler/sim/sim.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "core/base/check.h"
#include "core/plan/contract.h"
#include "scheduler/sim/engine.h"
#include "scheduler/sim/model.h"
#include "scheduler/sim/symmetry.h"

namespace mycel {
namespace sim {
namespace {

/// A plan still counts as even when at most this share of its bytes lies in chunks with fewer slices.
constexpr double kUnevenShareMax = 0.02;

/// Facts of a plan that decide how a run may be shortened.
struct Shape {
  int64_t slices = 0;  // of the longest chunk
  bool even = true;    // all chunks that matter have the same number of slices, give or take one
  int32_t skew_max = 0;
  int64_t messages = 0;  // per slice
};

template <typename F>
void ForEachOp(const Plan& plan, F&& f) {
  for (const RankPlan& rank : plan.ranks) {
    for (size_t lane = 0; lane < rank.lanes.size(); ++lane) {
      for (const Op& op : rank.lanes[lane].ops) f(lane, op);
    }
  }
}

std::vector<Slicing> SlicingsOf(const Plan& plan, const RunShape& run, int64_t slice_bytes) {
  std::vector<int64_t> longest;
  ForEachOp(plan, [&](size_t lane, const Op& op) {
    if (longest.size() <= lane) longest.resize(lane + 1);
    longest[lane] = std::max(longest[lane], run.ChunkBytesMax(plan, op.chunk));
  });
  std::vector<Slicing> slicing;
  for (const int64_t bytes : longest) slicing.push_back(SlicingOf(bytes, 1, slice_bytes));
  return slicing;
}

Shape MeasureShape(const Plan& plan, const RunShape& run) {
  Shape shape;
  for (const Slicing& slicing : run.slicing) shape.slices = std::max(shape.slices, slicing.slices);
  double bytes_all = 0;
  double bytes_short = 0;  // in chunks with fewer slices
  ForEachOp(plan, [&](size_t lane, const Op& op) {
    const int64_t bytes = run.ChunkBytesMax(plan, op.chunk);
    const int64_t slices = SlicesOf(bytes, run.slicing[lane]).slices;
    bytes_all += static_cast<double>(bytes);
    if (slices + 1 < shape.slices) bytes_short += static_cast<double>(bytes);
    shape.skew_max = std::max(shape.skew_max, op.skew);
    for (int32_t i = 0; i < op.outputs; ++i) shape.messages += plan.OutputsOf(op)[i].kind == Operand::Kind::kChannel;
  });
  shape.even = bytes_short <= kUnevenShareMax * bytes_all;
  return shape;
}

/// Bytes over each link for the whole collective.
std::vector<double> LinkBytes(const Plan& plan, const Topology& topology, const PlanWays& table, const RunShape& run) {
  const Ways& ways = table.ways;
  std::vector<double> bytes(topology.links().size());
  ForEachOp(plan, [&](size_t, const Op& op) {
    for (int32_t i = 0; i < op.outputs; ++i) {
      const int32_t way = table.of_operand[static_cast<size_t>(op.operands + op.inputs + i)];
      if (way < 0) continue;
      const auto chunk_bytes = static_cast<double>(run.ChunkBytes(plan, op.chunk));
      for (int32_t k = ways.first[static_cast<size_t>(way)]; k < ways.first[static_cast<size_t>(way) + 1]; ++k) {
        bytes[static_cast<size_t>(ways.links[static_cast<size_t>(k)].link)] += chunk_bytes;
      }
    }
  });
  return bytes;
}

/// The collective's size in nccl-tests' sense.
double SizeOf(const Plan& plan, int64_t bytes) {
  if (plan.block_units.empty()) return static_cast<double>(bytes);
  double total = 0;
  for (const int64_t units : plan.block_units) total += static_cast<double>(units);
  return total / plan.rank_count;
}

/// The most slices of a chunk that are simulated when a slice of the whole plan is `messages`.
int64_t SlicesMax(const SimOptions& options, const Shape& shape, int64_t messages) {
  const int64_t affordable = std::max<int64_t>(8, options.messages_max / std::max<int64_t>(1, messages));
  return std::min(affordable, std::max<int64_t>(options.slices_max, int64_t{4} * shape.skew_max));
}

/// Runs the plan, shortened where it must be; fills time and intervals.
Status RunAll(const Plan& plan, const Topology& topology, const PlanWays& ways, const SimOptions& options, RunShape run,
              SimResult* result) {
  run.slicing = SlicingsOf(plan, run, plan.slice_bytes);
  Shape shape = MeasureShape(plan, run);
  int64_t slices_max = SlicesMax(options, shape, shape.messages);
  result->slices = shape.slices;
  if (shape.slices > slices_max && !shape.even) {
    const int64_t factor = (shape.slices + slices_max - 1) / slices_max;
    run.slicing = SlicingsOf(plan, run, plan.slice_bytes * factor);
    run.op_overhead_us *= static_cast<double>(factor);
    shape = MeasureShape(plan, run);
  }
  const Model whole = MakeModel(plan, topology, ways, run);
  std::optional<Folded> folded;
  if (options.fold) {
    if (const std::optional<Classes> classes = FindClasses(whole)) folded = Fold(whole, *classes);
  }
  if (folded && shape.even) {
    slices_max = SlicesMax(options, shape, static_cast<int64_t>(folded->model.outputs.size()));
  }
  const Model& model = folded ? folded->model : whole;
  run.slices_max = std::min(shape.slices, slices_max);
  result->slices_simulated = run.slices_max;
  result->lanes = whole.actor_count();
  result->lanes_simulated = model.actor_count();
  if (run.record) {
    for (size_t c = 0; c < plan.channels.size(); ++c) {
      const int32_t simulated = folded ? folded->channel_of[c] : static_cast<int32_t>(c);
      result->channel_alike.emplace_back(model.channel_of_plan[static_cast<size_t>(simulated)]);
    }
    for (int32_t a = 0; a < whole.actor_count(); ++a) {
      const int32_t simulated = folded ? folded->actor_of[static_cast<size_t>(a)] : a;
      const Model::Actor& actor = model.actors[static_cast<size_t>(simulated)];
      result->lane_alike.push_back({Rank(actor.rank), LaneId(actor.lane)});
    }
  }
  Engine engine(model, run);
  MYCEL_ASSIGN_OR_RETURN(result->time_us, engine.Run());
  result->simulated_us = result->time_us;
  result->ops = std::move(engine.ops());
  result->messages = std::move(engine.messages());
  if (run.slices_max == shape.slices) return OkStatus();

  RunShape half = run;
  half.slices_max = run.slices_max / 2;
  half.record = false;
  Engine half_engine(model, half);
  MYCEL_ASSIGN_OR_RETURN(const double half_us, half_engine.Run());
  const double pace = (result->time_us - half_us) / static_cast<double>(run.slices_max - half.slices_max);
  result->time_us += pace * static_cast<double>(shape.slices - run.slices_max);
  return OkStatus();
}

}  // namespace
}  // namespace sim

int64_t BlockBytes(Collective collective, int32_t rank_count, int64_t bytes) {
  const Contract contract{collective, rank_count, Rank(0)};
  return contract.BlockCount() == 1 ? bytes : bytes / rank_count;
}

StatusOr<SimResult> Simulate(const Plan& plan, const Topology& topology, const SimOptions& options) {
  if (options.bytes < 0 || options.slices_max < 2) {
    return InvalidArgument("simulation: bytes must not be negative and slices_max at least 2");
  }
  MYCEL_ASSIGN_OR_RETURN(const sim::PlanWays ways, sim::WaysOf(plan, topology));
  sim::RunShape run;
  run.block_bytes = plan.block_units;
  if (run.block_bytes.empty()) run.block_bytes = {BlockBytes(plan.collective, plan.rank_count, options.bytes)};
  run.op_overhead_us = options.op_overhead_us;
  run.lane_GBps = options.lane_GBps;
  run.record = options.record;
  SimResult result;
  MYCEL_RETURN_IF_ERROR(sim::RunAll(plan, topology, ways, options, run, &result));
  result.link_bytes = sim::LinkBytes(plan, topology, ways, run);
  for (size_t i = 0; i < result.link_bytes.size(); ++i) {
    const double us = result.link_bytes[i] / (topology.links()[i].bandwidth.ToDouble() * 1e3);
    result.bound_us = std::max(result.bound_us, us);
    result.link_utilisation.push_back(us);
  }
  result.time_us = std::max(result.time_us, result.bound_us);
  for (double& busy_us : result.link_utilisation) busy_us = result.time_us > 0 ? busy_us / result.time_us : 0;
  if (result.time_us > 0) result.algbw_GBps = sim::SizeOf(plan, options.bytes) / (result.time_us * 1e3);
  result.busbw_GBps = result.algbw_GBps * BusBandwidthFactor(plan.collective, plan.rank_count);
  return result;
}

}  // namespace mycel
