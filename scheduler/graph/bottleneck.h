// The bottleneck of a graph: the node set S that maximises (weight in S) / (capacity leaving S), over sets that miss at
// least one sink. With weight 1 at every rank and all ranks as sinks this is ForestColl's optimum 1/x*; other weights
// and sinks give broadcast, gather and uneven shards.
//
// Method (exact, integers only). For a guess p/q put capacity p * c on the edges and q * w on edges from an extra
// source to the weighted nodes. No set beats the guess if and only if every sink can draw q * (all weight) from the
// source; if one cannot, its minimum cut is a set that does beat it, and becomes the next guess (Newton's iteration, as
// Dinkelbach uses it for ratios). After a sink is satisfied it joins the source: a cut that separates the source from
// several sinks has been examined at the first of them, so later sinks only need cuts with all earlier ones on the
// source's side, and their flows stay short. A better guess never breaks an earlier sink, so one pass over the sinks is
// enough.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/status.h"
#include "scheduler/graph/scaled_graph.h"

namespace mycel {

/// weight / capacity is the maximum; both 0 and no nodes when no set has a positive weight. capacity 0 with a positive
/// weight: nothing leads from `nodes` to some sink outside.
struct Bottleneck {
  int64_t weight = 0;
  int64_t capacity = 0;
  std::vector<int32_t> nodes;  // S, ascending
};

/// `weights`: one for each node of the graph, not negative, at most kScaledSumMax together.
Bottleneck FindBottleneck(const ScaledGraph& graph, const std::vector<int64_t>& weights,
                          const std::vector<int32_t>& sinks);

}  // namespace mycel
