#include "scheduler/select/estimate.h"

#include <algorithm>
#include <bit>
#include <unordered_map>

#include "core/base/check.h"
#include "core/plan/contract.h"
#include "scheduler/lower/depths.h"
#include "scheduler/lower/lower.h"
#include "scheduler/sim/sim.h"

namespace mycel::select {
namespace {

constexpr int32_t kLanesMax = 128;

/// First phase of each stage number, as in lowering: a stage begins when the one before it is over, or, where stages
/// overlap, a phase later.
struct Stages {
  std::vector<std::pair<int32_t, int32_t>> first_phase;  // stage -> phase, by stage
  int32_t phases = 1;
  int32_t hops = 1;   // phases of the longest tree
  int32_t lead = -1;  // overlapping: hops before the stage's own, at most

  int32_t PhaseOf(const Tree& tree) const {
    if (lead >= 0) return tree.stage + lead - tree.stage_hop;
    const auto at = std::lower_bound(first_phase.begin(), first_phase.end(), std::make_pair(tree.stage, 0));
    MYCEL_CHECK(at != first_phase.end());
    return at->second;
  }
};

StatusOr<Stages> StagesOf(const Schedule& schedule, lower::Depths* depths) {
  std::vector<std::pair<int32_t, int32_t>> lengths;  // stage -> phases of its longest tree
  Stages stages;
  for (const Tree& tree : schedule.trees) {
    if (schedule.stages_overlap) stages.lead = std::max(stages.lead, tree.stage_hop);
  }
  for (const Tree& tree : schedule.trees) {
    MYCEL_RETURN_IF_ERROR(lower::MeasureTree(tree, schedule.rank_count, depths));
    const int32_t length = depths->height + depths->reach + 1;
    stages.hops = std::max(stages.hops, length);
    if (stages.lead >= 0) {
      stages.phases = std::max(stages.phases, stages.PhaseOf(tree) + length);
      continue;
    }
    auto at = std::lower_bound(lengths.begin(), lengths.end(), std::make_pair(tree.stage, 0));
    if (at == lengths.end() || at->first != tree.stage) at = lengths.insert(at, {tree.stage, 0});
    at->second = std::max(at->second, length);
  }
  if (stages.lead >= 0) return stages;
  int32_t phase = 0;
  for (const auto& [stage, length] : lengths) {
    stages.first_phase.emplace_back(stage, phase);
    phase += length;
  }
  stages.phases = std::max(1, phase);
  return stages;
}

double UserBytes(const Contract& contract, double block_bytes) {
  double blocks = 0;
  for (const Rank r : Ids<Rank>(contract.rank_count)) {
    blocks += static_cast<double>(contract.SendBlocks(r).size() + contract.RecvBlocks(r).size());
  }
  return blocks * block_bytes;
}

/// How many lanes of a rank work at the same time.
double Workers(const CostModel& model, const Shape& shape) { return model.lanes_share_core ? 1 : shape.lanes; }

}  // namespace

StatusOr<Estimate> Estimate::Make(const Schedule& schedule, const Topology& topology, int64_t bytes) {
  Estimate estimate;
  estimate.rank_count_ = static_cast<size_t>(schedule.rank_count);
  lower::Depths depths;
  MYCEL_ASSIGN_OR_RETURN(const Stages stages, StagesOf(schedule, &depths));
  estimate.phases_ = stages.phases;
  estimate.staged_ = stages.lead >= 0;
  if (estimate.staged_ && !schedule.block_units.empty()) {
    for (int32_t lanes = 1; lanes <= kLanesMax; lanes *= 2) estimate.widths_.push_back(StagedWidth(schedule, lanes));
    double travelling = 0, chunks = 0;
    for (const Tree& tree : schedule.trees) {
      if (tree.down.empty()) continue;
      travelling += static_cast<double>(tree.chunk.units());
      chunks += 1;
    }
    if (chunks > 0) estimate.mean_bytes_ = travelling / chunks;
  }
  estimate.depth_ = stages.lead >= 0 ? stages.hops : stages.phases;
  estimate.work_.resize(estimate.rank_count_ * static_cast<size_t>(estimate.phases_));
  const Contract contract{schedule.collective, schedule.rank_count, schedule.root};
  const bool regular = schedule.block_units.empty();
  const int64_t block_bytes = regular ? BlockBytes(schedule.collective, schedule.rank_count, bytes) : 0;
  if (regular) estimate.footprint_ = UserBytes(contract, static_cast<double>(block_bytes));

  std::vector<double> link_bytes(topology.links().size());
  std::unordered_map<int64_t, int32_t> messages;  // by channel
  std::vector<int32_t> channels(estimate.rank_count_);
  for (const Tree& tree : schedule.trees) {
    MYCEL_RETURN_IF_ERROR(lower::MeasureTree(tree, schedule.rank_count, &depths));
    const double chunk_bytes = regular ? static_cast<double>(block_bytes) * static_cast<double>(tree.chunk.units()) /
                                             static_cast<double>(schedule.units_per_block)
                                       : static_cast<double>(tree.chunk.units());
    if (!regular) estimate.footprint_ += 2 * chunk_bytes;
    estimate.longest_bytes_ = std::max(estimate.longest_bytes_, static_cast<int64_t>(chunk_bytes + 0.999));
    estimate.AddTree(contract, tree, depths, stages.PhaseOf(tree), chunk_bytes);
    for (const std::vector<TreeEdge>* edges : {&tree.up, &tree.down}) {
      estimate.AddLinks(schedule, topology, *edges, chunk_bytes, &link_bytes);
      for (const TreeEdge& edge : *edges) {
        int32_t& count = messages[static_cast<int64_t>(edge.source.value()) << 32 | edge.target.value()];
        estimate.channel_messages_ = std::max(estimate.channel_messages_, ++count);
        if (count > 1) continue;
        for (const Rank end : {edge.source, edge.target}) {
          estimate.rank_channels_ = std::max(estimate.rank_channels_, ++channels[end.index()]);
        }
      }
    }
  }
  for (size_t i = 0; i < link_bytes.size(); ++i) {
    const double us = link_bytes[i] / (topology.links()[i].bandwidth.ToDouble() * 1e3);
    estimate.link_us_ = std::max(estimate.link_us_, us);
  }
  return estimate;
}

void Estimate::AddTree(const Contract& contract, const Tree& tree, const lower::Depths& depths, int32_t first_phase,
                       double bytes) {
  const int32_t block = tree.chunk.block;
  const int32_t root_phase = first_phase + depths.height;
  ops_.assign(rank_count_, {});
  for (const TreeEdge& edge : tree.up) {
    ++ops_[edge.target.index()].up_children;
    if (contract.SendPlace(edge.source, block) >= 0) ops_[edge.source.index()].own = 1;
  }
  for (const TreeEdge& edge : tree.down) ++ops_[edge.source.index()].down_children;
  for (const TreeEdge& edge : tree.up) {
    const TreeOps& ops = ops_[edge.source.index()];
    const int32_t phase = root_phase - depths.up[edge.source.index()];
    AddOp(edge.source, phase, tree.chunk, bytes, {ops.own, ops.up_children, 0, 1});
  }
  const auto wants = [&](Rank rank) { return contract.RecvPlace(rank, block) >= 0 ? 1 : 0; };
  const TreeOps& root = ops_[tree.root.index()];
  AddOp(tree.root, root_phase, tree.chunk, bytes, {1, root.up_children, wants(tree.root), root.down_children});
  for (const TreeEdge& edge : tree.down) {
    const int32_t phase = root_phase + depths.down[edge.target.index()];
    AddOp(edge.target, phase, tree.chunk, bytes, {0, 1, wants(edge.target), ops_[edge.target.index()].down_children});
  }
}

void Estimate::AddOp(Rank rank, int32_t phase, const Chunk& chunk, double bytes, const OpShape& op) {
  Work& work = work_[rank.index() * static_cast<size_t>(phases_) + static_cast<size_t>(phase)];
  const int inputs = op.memory_inputs + op.channel_inputs;
  const int outputs = op.memory_outputs + op.channel_outputs;
  const bool only_sends = op.channel_inputs == 0 && op.memory_outputs == 0;
  if (only_sends && work.last_read == chunk) {  // lowering's pass "share" joins it to the op before
    work.fanned += bytes * outputs;
    return;
  }
  if (only_sends) work.last_read = chunk;
  work.ops += 1;
  work.reduced += bytes * (inputs - 1);
  work.copied += inputs == 1 ? bytes : 0;
  work.fanned += bytes * (outputs - 1);
  work.moved += bytes * std::max(inputs, outputs);
  work.direct_calls += op.channel_inputs;
  const bool keeps = op.memory_outputs > 0 || op.channel_inputs > 0;  // a pure sender writes nothing
  work.direct_copied += bytes * (inputs == 1 ? (keeps ? 1 : 0) : op.channel_inputs);
}

void Estimate::AddLinks(const Schedule& schedule, const Topology& topology, const std::vector<TreeEdge>& edges,
                        double bytes, std::vector<double>* link_bytes) {
  for (const TreeEdge& edge : edges) {
    const NodeId ends[2] = {topology.NodeOf(edge.source), topology.NodeOf(edge.target)};
    const NodeId* nodes = ends;
    size_t count = 2;
    if (edge.route >= 0) {
      const Route& route = schedule.routes[static_cast<size_t>(edge.route)];
      nodes = route.data();
      count = route.size();
    }
    double latency_us = 0;
    for (size_t i = 0; i + 1 < count; ++i) {
      const LinkId id = topology.FindLink(nodes[i], nodes[i + 1]);
      MYCEL_CHECK(id.valid());  // a planner's routes exist
      const Link& link = topology.link(id);
      (*link_bytes)[id.index()] += bytes;
      latency_us += link.latency_us;
      const double GBps = link.bandwidth.ToDouble();
      edge_GBps_ = edge_GBps_ == 0 ? GBps : std::min(edge_GBps_, GBps);
    }
    latency_us_ = std::max(latency_us_, latency_us);
  }
}

Estimate::Span Estimate::SpanOf(size_t rank) const {
  Span span{phases_, -1};
  for (int32_t phase = 0; phase < phases_; ++phase) {
    if (At(rank, phase).ops == 0) continue;
    span.first = std::min(span.first, phase);
    span.last = phase;
  }
  return span;
}

double Estimate::HostUs(const CostModel& model, const Shape& shape, double slices) const {
  const bool cached = footprint_ <= static_cast<double>(model.cache_bytes);
  const int64_t slice_bytes = std::min(shape.slice_bytes, longest_bytes_);
  const int64_t ring_bytes = std::min(model.channel_bytes, kSlotsWanted * slice_bytes);
  const bool spills = rank_channels_ * ring_bytes > model.slot_cache_bytes && shape.protocol != Protocol::kDirect;
  const double scale = spills ? model.slot_spill * 1e-3 : 1e-3;
  const double copy = scale / (cached ? model.copy_cache_GBps : model.copy_memory_GBps);  // us per byte
  const double reduce = scale / (cached ? model.reduce_cache_GBps : model.reduce_memory_GBps);
  const bool direct = shape.protocol == Protocol::kDirect;
  std::vector<double> slowest(static_cast<size_t>(phases_));  // per slice, over ranks
  double total = 0, busiest = 0;
  for (size_t rank = 0; rank < rank_count_; ++rank) {
    double own = 0;
    for (int32_t phase = 0; phase < phases_; ++phase) {
      const Work& work = At(rank, phase);
      double us = work.ops * model.op_us + work.reduced * reduce / slices;
      us += direct ? work.direct_calls * model.direct_us + work.direct_copied * copy / slices
                   : (work.copied + work.fanned * model.fan_out) * copy / slices;
      slowest[static_cast<size_t>(phase)] = std::max(slowest[static_cast<size_t>(phase)], us);
      own += us;
    }
    total += own;
    busiest = std::max(busiest, own);
  }
  double one_slice = 0, plain = 0;
  int32_t span_max = 1;
  for (const double us : slowest) one_slice += us;
  for (size_t rank = 0; rank < rank_count_; ++rank) {
    const Span span = SpanOf(rank);
    double us = 0;
    for (int32_t phase = span.first; phase <= span.last; ++phase) us += slowest[static_cast<size_t>(phase)];
    plain = std::max(plain, us + std::max(0, span.last - span.first) * model.alpha_us);
    span_max = std::max(span_max, span.last - span.first + 1);
  }
  if (static_cast<int32_t>(rank_count_) > model.cores) {
    const double rounds = phases_ + (slices - 1) * (shape.pipelined ? 1 : span_max);
    const double ranks_per_core = static_cast<double>(rank_count_) / model.cores;
    return total * slices / model.cores + rounds * ranks_per_core * model.switch_us;
  }
  one_slice += (phases_ - 1) * model.alpha_us;
  return one_slice + (slices - 1) * (shape.pipelined ? busiest + model.alpha_us : plain);
}

double Estimate::LaneUs(const CostModel& model, const Shape& shape, double slices) const {
  double lane_us = 0;
  for (size_t rank = 0; rank < rank_count_; ++rank) {
    double us = 0;
    for (int32_t phase = 0; phase < phases_; ++phase) {
      const Work& work = At(rank, phase);
      us += work.moved / (model.lane_GBps * 1e3) + work.ops * model.op_us * slices;
    }
    lane_us = std::max(lane_us, us / Workers(model, shape));
  }
  return lane_us;
}

double Estimate::FabricUs(const CostModel& model, const Shape& shape, double slices) const {
  const double bulk = std::max(link_us_, LaneUs(model, shape, slices));
  const double slice_bytes = static_cast<double>(longest_bytes_) / slices;
  const double hop = model.op_us + latency_us_ + (edge_GBps_ > 0 ? slice_bytes / (edge_GBps_ * 1e3) : 0);
  double chain = ((shape.pipelined ? depth_ : phases_) - 1) * hop;
  // Without skew every slice waits for its way through the phases that a rank takes part in.
  int32_t span_max = 1;
  for (size_t rank = 0; rank < rank_count_; ++rank)
    span_max = std::max(span_max, SpanOf(rank).last - SpanOf(rank).first + 1);
  if (staged_ && shape.pipelined)
    return std::max(bulk, RoundUs(model, shape) * slices) + chain + StagedUs(model, shape, slices);
  if (!shape.pipelined) chain += (slices - 1) * (span_max - 1) * (model.op_us + latency_us_);
  return bulk + chain;
}

double Estimate::RoundUs(const CostModel& model, const Shape& shape) const {
  double ops = 0;
  for (size_t rank = 0; rank < rank_count_; ++rank) {
    double own = 0;
    for (int32_t phase = 0; phase < phases_; ++phase) own += At(rank, phase).ops;
    ops = std::max(ops, own);
  }
  return 2 * ops / Workers(model, shape) * model.op_us + latency_us_;
}

double Estimate::StagedUs(const CostModel& model, const Shape& shape, double slices) const {
  // Of a round that the links stand still, because some lane has more to do in it: where chunks are equal, hardly any.
  const double round_share =
      0.02 + 0.18 * (1 - std::min(1.0, mean_bytes_ / static_cast<double>(std::max<int64_t>(1, WidestBytes(shape)))));
  constexpr double kUnevenShare = 0.15;  // of a slice by which lanes differ in the end
  return slices * RoundUs(model, shape) * round_share + link_us_ / slices * kUnevenShare;
}

double Estimate::LaneExcess(const CostModel& model, const Shape& shape) const {
  constexpr double kLeast = 1.125;
  constexpr double kMargin = 0.7;  // lanes also wait for each other's messages
  if (model.device == CostModel::Device::kHost) return kLeast;
  const double lane_us = LaneUs(model, shape, SlicesOf(shape));
  return lane_us > 0 ? std::max(kLeast, kMargin * link_us_ / lane_us) : kLeast;
}

int64_t Estimate::WidestBytes(const Shape& shape) const {
  if (widths_.empty()) return std::max<int64_t>(1, longest_bytes_);
  const auto at = static_cast<size_t>(std::bit_width(static_cast<uint32_t>(shape.lanes)) - 1);
  return widths_[std::min(at, widths_.size() - 1)];
}

double Estimate::SlicesOf(const Shape& shape) const {
  const int64_t slice_bytes = std::max<int64_t>(1, shape.slice_bytes);
  return static_cast<double>(std::max<int64_t>(1, (WidestBytes(shape) + slice_bytes - 1) / slice_bytes));
}

double Estimate::Us(const CostModel& model, const Shape& shape) const {
  const double slices = SlicesOf(shape);
  return model.device == CostModel::Device::kHost ? HostUs(model, shape, slices) : FabricUs(model, shape, slices);
}

}  // namespace mycel::select
