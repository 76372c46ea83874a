// Which traffic a switch should carry: how the capacity that enters it pairs up with the capacity that leaves it.
//
// Any pairing that leaves the trees enough room gives the same throughput (edge splitting); trees are short when the
// pairing spreads evenly over what lies behind the switch and wastes nothing on nodes that reach each other anyway.
// Two levels: first between groups (servers; each neighbour is its own group when they all belong to one), in fair
// shares with nothing inside a group if that can be; then within a pair of groups, first node to first node and so on,
// so that equal servers meet along rails and few pairs share the capacity.
#pragma once

#include <cstdint>
#include <vector>

#include "scheduler/graph/capacity_graph.h"

namespace mycel {

/// `amount` units enter from `source` and leave to `target`.
struct Transit {
  int32_t source;
  int32_t target;
  int64_t amount;
};

/// Pairs all capacity into `node` with all capacity out of it; both are equal. `group_of` node: groups are numbered
/// from 0; a negative number is a group that holds all such nodes. source == target only where one neighbour has more
/// than half of the capacity.
std::vector<Transit> FairTransit(const CapacityGraph& graph, int32_t node, const std::vector<int32_t>& group_of);

/// An integer matrix with these row sums and column sums (equal in total), each row spread over the columns in
/// proportion to their sums; nothing on the diagonal if `off_diagonal` (square) and that can be.
std::vector<std::vector<int64_t>> SpreadEvenly(const std::vector<int64_t>& rows, const std::vector<int64_t>& columns,
                                               bool off_diagonal);

}  // namespace mycel
