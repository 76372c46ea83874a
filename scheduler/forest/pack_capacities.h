// From integer capacities to trees on physical paths: switches are split off, trees packed, and logical edges mapped
// back.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/status.h"
#include "core/topo/topology.h"
#include "scheduler/forest/spanning_forest.h"
#include "scheduler/graph/capacity_graph.h"

namespace mycel {

/// Trees that span all ranks, `root_trees[node]` of them at each rank's node, and use each link of `topology` at most
/// as often as `capacities` (on its nodes, in the direction away from the roots) says. `reversed`: the capacities are
/// those of the links' other directions, and the trees come back as in-trees, as PackSpanningForest gives them. By
/// root, in rank order. Every switch must have as much capacity in as out, and RootedCut must call the trees feasible;
/// InternalError otherwise.
StatusOr<std::vector<ForestTree>> PackCapacities(const Topology& topology, const CapacityGraph& capacities,
                                                 const std::vector<int64_t>& root_trees, bool reversed);

}  // namespace mycel
