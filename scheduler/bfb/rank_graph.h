// RankGraph: who can send to whom in one step, and how fast, in integers: what breadth-first schedules are made on.
//
// A topology without switches is its own rank graph, and capacities are exact. Where ranks meet through switches, an
// edge stands for the shortest route (RouteBook's), and edges that cross the same link each get an equal share of it,
// rounded down to 1/64 of the widest one: together they fit the links, but they are not what the links could do best.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/rational.h"
#include "core/base/status.h"
#include "core/topo/topology.h"

namespace mycel::bfb {

struct RankGraph {
  struct Edge {
    int32_t source;
    int32_t target;
    int64_t capacity;  // > 0, in `unit`
  };

  int32_t rank_count = 0;
  std::vector<Edge> edges;        // by target, then source; one for each pair, none from a rank to itself
  std::vector<int32_t> first_in;  // rank_count + 1: the edges into rank r are [first_in[r], first_in[r + 1])
  Rational unit{1};               // GB/s of capacity 1
  bool exact = true;              // no two edges share a link

  int32_t InDegree(int32_t rank) const {
    return first_in[static_cast<size_t>(rank) + 1] - first_in[static_cast<size_t>(rank)];
  }
};

/// Ranks that breadth-first schedules are made for, at most: distances of all pairs are kept.
inline constexpr int32_t kRankCountMax = 8192;
/// Sum of all capacities: loads are fractions whose parts are products of this and a number of ranks.
inline constexpr int64_t kCapacitySumMax = int64_t{1} << 40;

/// Edges between the same two ranks are added up; edges from a rank to itself are left out.
RankGraph MakeRankGraph(int32_t rank_count, std::vector<RankGraph::Edge> edges);
/// Every edge turned around.
RankGraph Transposed(const RankGraph& graph);
/// Impossible with more than kRankCountMax ranks; InvalidArgument when the bandwidths have no common unit in range.
StatusOr<RankGraph> RankGraphOf(const Topology& topology);

/// distances[b * n + a]: hops from a to b. Impossible, naming two ranks, when one does not reach the other.
StatusOr<std::vector<uint16_t>> DistancesOf(const RankGraph& graph);

}  // namespace mycel::bfb
