#include "scheduler/graph/balance_switches.h"

#include <algorithm>
#include <cstdlib>
#include <map>

#include "scheduler/graph/rooted_cut.h"

namespace mycel {
namespace {

std::vector<bool> IsRank(const ScaledGraph& graph) {
  std::vector<bool> is_rank(static_cast<size_t>(graph.node_count), false);
  for (int32_t node : graph.ranks) is_rank[static_cast<size_t>(node)] = true;
  return is_rank;
}

}  // namespace

bool BalanceSwitches(const ScaledGraph& graph, const std::vector<int64_t>& root_trees, CapacityGraph* capacities) {
  RootedCut cut(*capacities, root_trees, graph.ranks);
  if (!cut.Feasible()) return false;
  const std::vector<bool> is_rank = IsRank(graph);
  for (bool changed = true; changed;) {
    changed = false;
    for (int32_t node = 0; node < graph.node_count; ++node) {
      if (is_rank[static_cast<size_t>(node)]) continue;
      int64_t surplus = capacities->OutSum(node) - capacities->InSum(node);
      const bool out_heavy = surplus > 0;
      surplus = std::abs(surplus);
      const std::map<int32_t, int64_t> edges = out_heavy ? capacities->Out(node) : capacities->In(node);
      for (const auto& [other, capacity] : edges) {
        const int64_t dropped = std::min(surplus, capacity);
        if (dropped == 0) continue;
        const int32_t source = out_heavy ? node : other;
        const int32_t target = out_heavy ? other : node;
        // Dropping lowers a cut by at most `dropped`, so one look says how much may go.
        cut.Set(source, target, capacity - dropped);
        const int64_t kept = dropped - (cut.total() - cut.MinFlow(cut.total() - dropped, target));
        const int64_t gone = std::max<int64_t>(0, kept);
        capacities->Set(source, target, capacity - gone);
        cut.Set(source, target, capacity - gone);
        surplus -= gone;
        changed |= gone > 0;
      }
    }
  }
  for (int32_t node = 0; node < graph.node_count; ++node) {
    if (!is_rank[static_cast<size_t>(node)] && capacities->OutSum(node) != capacities->InSum(node)) return false;
  }
  return true;
}

}  // namespace mycel
