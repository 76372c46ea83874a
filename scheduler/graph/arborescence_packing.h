// Packing of spanning out-trees with multiplicities (Edmonds; Frank; Berczi and Frank): as many trees from each root as
// it must have, together within the capacities. Trees that are equal are one batch with a multiplicity.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "core/base/status.h"
#include "scheduler/graph/capacity_graph.h"

namespace mycel {

/// `multiplicity` equal trees. Edges (parent, child) in the order of attachment: a parent is attached before its child.
struct ArborescenceBatch {
  int32_t root = -1;
  int64_t multiplicity = 0;
  std::vector<std::pair<int32_t, int32_t>> edges;
};

/// Trees over exactly the nodes `nodes` of `graph` (whose edges join only them). `root_trees` per node. The answer uses
/// each edge at most as often as its capacity says; trees are kept short. `group_of` node (servers; negative: in none)
/// guides the search, see shallow_trees.h. InternalError when none exists, i.e. RootedCut says infeasible.
StatusOr<std::vector<ArborescenceBatch>> PackArborescences(const CapacityGraph& graph,
                                                           const std::vector<int32_t>& nodes,
                                                           const std::vector<int64_t>& root_trees,
                                                           const std::vector<int32_t>& group_of);

}  // namespace mycel
