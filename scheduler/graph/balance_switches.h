// Switches that let more out than in, or the reverse: takes away what trees do not need until both sides are equal,
// which is what edge splitting asks for.
#pragma once

#include <cstdint>
#include <vector>

#include "scheduler/graph/capacity_graph.h"
#include "scheduler/graph/scaled_graph.h"

namespace mycel {

/// Rounding down can leave a switch with more on one side, and so can a fabric. Narrows the wider side evenly where the
/// trees still fit then (ranks that are alike stay alike, and trees short), else takes away edge by edge what the trees
/// do not need. False when some switch stays unbalanced or the trees do not fit. Greedy: false does not mean that no
/// other choice would do (the best one in whole units is as hard as a Hamiltonian path). `root_trees` by node; they are
/// to reach all ranks.
bool BalanceSwitches(const ScaledGraph& graph, const std::vector<int64_t>& root_trees, CapacityGraph* capacities);

}  // namespace mycel
