#include "scheduler/graph/balance_switches.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <utility>

#include "core/base/int128.h"
#include "scheduler/graph/rooted_cut.h"

namespace mycel {
namespace {

/// A shortage at one switch becomes one at the next; longer chains are left to the search for single units.
constexpr int kRoundsMax = 8;

std::vector<int32_t> SwitchesOf(const ScaledGraph& graph) {
  std::vector<bool> is_rank(static_cast<size_t>(graph.node_count), false);
  for (int32_t node : graph.ranks) is_rank[static_cast<size_t>(node)] = true;
  std::vector<int32_t> switches;
  for (int32_t node = 0; node < graph.node_count; ++node) {
    if (!is_rank[static_cast<size_t>(node)]) switches.push_back(node);
  }
  return switches;
}

bool Balanced(const std::vector<int32_t>& switches, const CapacityGraph& capacities) {
  return std::all_of(switches.begin(), switches.end(),
                     [&](int32_t node) { return capacities.OutSum(node) == capacities.InSum(node); });
}

/// The wider side of every switch narrowed to the other by the same part of each edge, rounded down.
CapacityGraph Narrowed(const std::vector<int32_t>& switches, CapacityGraph capacities) {
  bool changed = true;
  for (int round = 0; changed && round < kRoundsMax; ++round) {
    changed = false;
    for (const int32_t node : switches) {
      const int64_t out = capacities.OutSum(node);
      const int64_t in = capacities.InSum(node);
      if (out == in) continue;
      const bool out_heavy = out > in;
      const std::map<int32_t, int64_t> edges = out_heavy ? capacities.Out(node) : capacities.In(node);
      for (const auto& [other, capacity] : edges) {
        const int128 part = int128{capacity} * std::min(in, out) / std::max(in, out);
        capacities.Set(out_heavy ? node : other, out_heavy ? other : node, static_cast<int64_t>(part));
      }
      changed = true;
    }
  }
  return capacities;
}

/// Takes surplus away edge by edge, as much as the trees let go. `cut` mirrors the capacities.
bool Trim(const std::vector<int32_t>& switches, RootedCut* cut, CapacityGraph* capacities) {
  for (bool changed = true; changed;) {
    changed = false;
    for (const int32_t node : switches) {
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
        cut->Set(source, target, capacity - dropped);
        const int64_t kept = dropped - (cut->total() - cut->MinFlow(cut->total() - dropped, target));
        const int64_t gone = std::max<int64_t>(0, kept);
        capacities->Set(source, target, capacity - gone);
        cut->Set(source, target, capacity - gone);
        surplus -= gone;
        changed |= gone > 0;
      }
    }
  }
  return Balanced(switches, *capacities);
}

}  // namespace

bool BalanceSwitches(const ScaledGraph& graph, const std::vector<int64_t>& root_trees, CapacityGraph* capacities) {
  const std::vector<int32_t> switches = SwitchesOf(graph);
  RootedCut cut(*capacities, root_trees, graph.ranks);
  if (!cut.Feasible()) return false;
  if (Balanced(switches, *capacities)) return true;
  CapacityGraph even = Narrowed(switches, *capacities);
  RootedCut even_cut(even, root_trees, graph.ranks);
  if (even_cut.Feasible() && Trim(switches, &even_cut, &even)) {
    *capacities = std::move(even);
    return true;
  }
  return Trim(switches, &cut, capacities);
}

}  // namespace mycel
