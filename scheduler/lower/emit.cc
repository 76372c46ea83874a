// Draft -> Plan. Ops of a lane are ordered by phase, then turn (rotate.cc), then tree; channel index = lane.
#include <algorithm>

#include "core/base/check.h"
#include "scheduler/lower/passes.h"
#include "scheduler/lower/radix_sort.h"

namespace mycel::lower {
namespace {

/// A direct message refers to memory. An op whose result only travels on must keep it somewhere, unless it passes on
/// its own send buffer as it is.
bool NeedsPlace(const Draft& draft, const DraftOp& op) {
  const auto is_channel = [](const Port& port) { return port.kind == Operand::Kind::kChannel; };
  const Port* inputs = draft.InputsOf(op);
  const Port* outputs = draft.OutputsOf(op);
  if (!std::all_of(outputs, outputs + op.outputs, is_channel)) return false;
  return op.inputs > 1 || is_channel(inputs[0]) || op.finish;
}

}  // namespace

Plan EmitPlan(const Draft& draft, const Topology& topology, Protocol protocol) {
  const Schedule& schedule = draft.schedule;
  Plan plan;
  plan.collective = schedule.collective;
  plan.rank_count = schedule.rank_count;
  plan.root = schedule.root;
  plan.units_per_block = schedule.units_per_block;
  plan.block_units = schedule.block_units;
  plan.planner = schedule.planner;
  plan.topology = topology.name();
  plan.topology_hash = topology.hash();
  plan.protocol = protocol;
  plan.slice_bytes = draft.slice_bytes;
  plan.slot_count = draft.slot_count;
  plan.routes = schedule.routes;
  plan.ranks.resize(static_cast<size_t>(schedule.rank_count));
  for (RankPlan& rank : plan.ranks) rank.lanes.resize(static_cast<size_t>(draft.lane_count));

  struct Place {
    uint64_t key;  // rank, lane, phase, turn
    size_t op;
  };
  std::vector<Place> order;
  order.reserve(draft.ops.size());
  for (size_t i = 0; i < draft.ops.size(); ++i) {
    const DraftOp& op = draft.ops[i];
    MYCEL_CHECK(i == 0 || draft.ops[i - 1].tree <= op.tree);  // what is equal stays in the order of trees
    order.push_back({static_cast<uint64_t>(op.rank.value()) << 48 | static_cast<uint64_t>(op.lane) << 40 |
                         static_cast<uint64_t>(op.phase) << 16 | static_cast<uint64_t>(op.turn),
                     i});
  }
  RadixSort(&order);
  for (size_t first = 0, last = 0; first < order.size(); first = last) {
    const DraftOp& op = draft.ops[order[first].op];
    while (last < order.size() && order[last].key >> 40 == order[first].key >> 40) ++last;
    plan.ranks[op.rank.index()].lanes[static_cast<size_t>(op.lane)].ops.reserve(last - first);
  }
  PlanBuilder builder(&plan);
  builder.Reserve(draft.ports.size());
  std::vector<Operand> inputs, outputs;
  for (const Place& place : order) {
    const DraftOp& op = draft.ops[place.op];
    inputs.clear();
    outputs.clear();
    for (int32_t p = 0; p < op.inputs; ++p) {
      const Port& port = draft.InputsOf(op)[p];
      Operand operand{port.kind, -1, -1};
      if (port.kind == Operand::Kind::kChannel) operand.index = builder.ChannelFor(port.peer, op.rank, op.lane).value();
      inputs.push_back(operand);
    }
    for (int32_t p = 0; p < op.outputs; ++p) {
      const Port& port = draft.OutputsOf(op)[p];
      Operand operand{port.kind, -1, port.route};
      if (port.kind == Operand::Kind::kChannel) operand.index = builder.ChannelFor(op.rank, port.peer, op.lane).value();
      outputs.push_back(operand);
    }
    if (protocol == Protocol::kDirect && NeedsPlace(draft, op)) {
      outputs.push_back({Operand::Kind::kScratch, builder.AddScratch(op.rank, op.chunk), -1});
    }
    builder.Add(op.rank, LaneId(op.lane), op.chunk, inputs, outputs, draft.pipelined ? op.lag : 0).finish = op.finish;
  }
  return plan;
}

}  // namespace mycel::lower
