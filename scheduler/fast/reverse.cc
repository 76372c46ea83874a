#include <algorithm>
#include <string>

#include "scheduler/fast/fast.h"

namespace mycel {
namespace {

Status BadTree(const Schedule& schedule, size_t tree, const std::string& what) {
  return InvalidArgument("schedule of '" + schedule.planner + "': tree " + std::to_string(tree) + " " + what +
                         "; only alltoallv schedules of paths can be reversed");
}

bool IsPath(const Tree& tree) {
  Rank at = tree.root;
  for (const TreeEdge& edge : tree.down) {
    if (edge.source != at) return false;
    at = edge.target;
  }
  return tree.up.empty();
}

int32_t Transposed(int32_t block, int32_t n) { return block % n * n + block / n; }

}  // namespace

StatusOr<Schedule> ReversedAllToAllV(const Schedule& schedule, const Topology& topology) {
  const int32_t n = schedule.rank_count;
  if (schedule.collective != Collective::kAllToAllV ||
      schedule.block_units.size() != static_cast<size_t>(n) * static_cast<size_t>(n)) {
    return InvalidArgument("schedule of '" + schedule.planner + "': only those of alltoallv can be reversed");
  }
  Schedule reversed = schedule;
  for (int32_t block = 0; block < n * n; ++block) {
    reversed.block_units[static_cast<size_t>(Transposed(block, n))] = schedule.block_units[static_cast<size_t>(block)];
  }
  for (size_t i = 0; i < reversed.routes.size(); ++i) {
    Route& route = reversed.routes[i];
    std::reverse(route.begin(), route.end());
    for (size_t k = 0; k + 1 < route.size(); ++k) {
      if (topology.FindLink(route[k], route[k + 1]).valid()) continue;
      return InvalidArgument("schedule of '" + schedule.planner + "': route " + std::to_string(i) +
                             " has no way back: topology '" + topology.name() + "' has no link from " +
                             topology.node(route[k]).id + " to " + topology.node(route[k + 1]).id);
    }
  }
  int32_t last = 0;
  for (const Tree& tree : schedule.trees) last = std::max(last, tree.stage);
  for (size_t i = 0; i < reversed.trees.size(); ++i) {
    Tree& tree = reversed.trees[i];
    if (tree.chunk.block < 0 || tree.chunk.block >= n * n) return BadTree(schedule, i, "has no such block");
    if (!IsPath(tree)) return BadTree(schedule, i, "is no path from its root");
    if (!tree.down.empty()) tree.root = tree.down.back().target;
    std::reverse(tree.down.begin(), tree.down.end());
    for (TreeEdge& edge : tree.down) {
      std::swap(edge.source, edge.target);
      if (edge.route < 0 && !topology.FindLink(topology.NodeOf(edge.source), topology.NodeOf(edge.target)).valid()) {
        return BadTree(schedule, i, "crosses a link that topology '" + topology.name() + "' has in one direction only");
      }
    }
    tree.chunk.block = Transposed(tree.chunk.block, n);
    tree.stage = last - tree.stage;
    tree.stage_hop = std::max(0, static_cast<int32_t>(tree.down.size()) - 1 - tree.stage_hop);
  }
  // Within a stage the order of trees stays; the stages themselves now go the other way.
  std::stable_sort(reversed.trees.begin(), reversed.trees.end(),
                   [](const Tree& a, const Tree& b) { return a.stage < b.stage; });
  return reversed;
}

}  // namespace mycel
