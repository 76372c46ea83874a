// The text forms of schedules and plans: one tree or op a line, stable order, no floats, so that a diff is a review.
#include <string>

#include "core/base/hex.h"
#include "core/plan/plan.h"
#include "core/plan/schedule.h"
#include "core/plan/structure.h"

namespace mycel {
namespace {

std::string TextOfUnits(int64_t units_per_block, const std::vector<int64_t>& block_units) {
  if (block_units.empty()) return "units " + std::to_string(units_per_block);
  std::string text = "units of blocks";
  for (int64_t units : block_units) text += " " + std::to_string(units);
  return text;
}

std::string TextOfRoutes(const std::vector<Route>& routes) {
  std::string text;
  for (size_t i = 0; i < routes.size(); ++i) {
    text += "route " + std::to_string(i) + ":";
    for (NodeId node : routes[i]) text += " " + std::to_string(node.value());
    text += "\n";
  }
  return text;
}

std::string TextOfEdges(const std::vector<TreeEdge>& edges) {
  std::string text;
  for (const TreeEdge& edge : edges) {
    text += " " + std::to_string(edge.source.value()) + ">" + std::to_string(edge.target.value());
    if (edge.route >= 0) text += "/" + std::to_string(edge.route);
  }
  return text;
}

std::string TextOf(const Operand& operand) {
  switch (operand.kind) {
    case Operand::Kind::kSend:
      return "send";
    case Operand::Kind::kRecv:
      return "recv";
    case Operand::Kind::kScratch:
      return "scratch " + std::to_string(operand.index);
    case Operand::Kind::kChannel:
      return "channel " + std::to_string(operand.index) +
             (operand.route < 0 ? "" : " route " + std::to_string(operand.route));
  }
  return "?";
}

std::string TextOf(const Plan& plan, const Op& op) {
  std::string text = DescribeChunk(op.chunk) + " skew " + std::to_string(op.skew) + ":";
  const Operand* inputs = plan.InputsOf(op);
  for (int32_t i = 0; i < op.inputs; ++i) text += (i == 0 ? " " : " + ") + TextOf(inputs[i]);
  const Operand* outputs = plan.OutputsOf(op);
  for (int32_t i = 0; i < op.outputs; ++i) text += (i == 0 ? " -> " : ", ") + TextOf(outputs[i]);
  if (op.finish) text += " finish";
  for (int32_t i = 0; i < op.wait_count; ++i) {
    const Wait& wait = plan.waits[static_cast<size_t>(op.waits + i)];
    text += " after " + std::to_string(wait.lane.value()) + "." + std::to_string(wait.op);
  }
  return text;
}

std::string TextOf(const Plan& plan, const RankPlan& rank) {
  std::string text;
  for (size_t i = 0; i < rank.scratch.size(); ++i) {
    text += "  scratch " + std::to_string(i) + ": " + DescribeChunk(rank.scratch[i].chunk) + "\n";
  }
  for (size_t lane = 0; lane < rank.lanes.size(); ++lane) {
    text += "  lane " + std::to_string(lane) + "\n";
    const std::vector<Op>& ops = rank.lanes[lane].ops;
    for (size_t i = 0; i < ops.size(); ++i) text += "    " + std::to_string(i) + ". " + TextOf(plan, ops[i]) + "\n";
  }
  return text;
}

}  // namespace

std::string ToText(const Schedule& schedule) {
  std::string text =
      "schedule " + std::string(NameOf(schedule.collective)) + ", " + std::to_string(schedule.rank_count) + " ranks";
  if (schedule.root.valid()) text += ", root " + std::to_string(schedule.root.value());
  text += ", " + TextOfUnits(schedule.units_per_block, schedule.block_units) + "\nplanner " + schedule.planner +
          (schedule.stages_overlap ? ", stages overlap" : "") + "\n";
  text += TextOfRoutes(schedule.routes);
  for (size_t i = 0; i < schedule.trees.size(); ++i) {
    const Tree& tree = schedule.trees[i];
    text += "tree " + std::to_string(i) + ": " + DescribeChunk(tree.chunk) + " root " +
            std::to_string(tree.root.value()) + " stage " + std::to_string(tree.stage);
    if (schedule.stages_overlap) text += " at hop " + std::to_string(tree.stage_hop);
    if (!tree.up.empty()) text += " up" + TextOfEdges(tree.up);
    if (!tree.down.empty()) text += " down" + TextOfEdges(tree.down);
    text += "\n";
  }
  return text;
}

std::string ToText(const Plan& plan) {
  std::string text = "plan " + std::string(NameOf(plan.collective)) + ", " + std::to_string(plan.rank_count) + " ranks";
  if (plan.root.valid()) text += ", root " + std::to_string(plan.root.value());
  text += ", " + TextOfUnits(plan.units_per_block, plan.block_units) + "\n";
  text += "planner " + plan.planner + "\ntopology " + plan.topology + " " + Hex(plan.topology_hash) + "\n";
  text += "protocol " + std::string(NameOf(plan.protocol)) + ", " + std::to_string(plan.slot_count) + " slots of " +
          std::to_string(plan.slice_bytes) + " bytes\n";
  text += TextOfRoutes(plan.routes);
  for (size_t i = 0; i < plan.channels.size(); ++i) {
    const Channel& channel = plan.channels[i];
    text += "channel " + std::to_string(i) + ": " + std::to_string(channel.source.value()) + " > " +
            std::to_string(channel.target.value()) + " index " + std::to_string(channel.index) + "\n";
  }
  for (size_t rank = 0; rank < plan.ranks.size(); ++rank) {
    text += "rank " + std::to_string(rank) + "\n" + TextOf(plan, plan.ranks[rank]);
  }
  return text;
}

}  // namespace mycel
