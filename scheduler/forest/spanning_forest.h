// ForestColl's pipeline for one direction: optimum -> tree count -> switches split off -> trees packed -> physical
// paths.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/rational.h"
#include "core/base/status.h"
#include "core/topo/topology.h"

namespace mycel {

/// One logical hop with the nodes it passes, both ends included.
struct ForestEdge {
  Rank source;
  Rank target;
  std::vector<NodeId> path;
};

/// `multiplicity` equal trees that leave `root`; edges parent first.
struct ForestTree {
  Rank root;
  int64_t multiplicity = 0;
  std::vector<ForestEdge> edges;
};

struct SpanningForest {
  int64_t trees_per_weight = 0;   // a root of weight w has w times as many
  Rational optimum;               // ns per byte of one unit of weight, of the best schedule without copies in switches
  Rational inv_x;                 // by its busiest link; equal to the optimum unless the tree count was given
  std::vector<ForestTree> trees;  // by root, in rank order
};

/// Spanning out-trees of `topology` with `weights[rank]` shares at each root, throughput-optimal (`trees_per_weight` 0)
/// or the best found with that many trees. A topology whose links are all reversed gives in-trees (`reversed`): the
/// edges come back in the direction data flows, child to parent, still parent first. Impossible: disconnected, or the
/// surplus of switches with unequal ingress and egress matters and its best use cannot be found (tree_rates.h; the
/// message names a switch). InvalidArgument: every weight is 0, or numbers leave 62 bits.
StatusOr<SpanningForest> PackSpanningForest(const Topology& topology, const std::vector<int64_t>& weights,
                                            int64_t trees_per_weight, bool reversed);

}  // namespace mycel
