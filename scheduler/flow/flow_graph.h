// FlowGraph: a topology as concurrent flow sees it, in integers: who can send to whom over one link, switches included,
// and what is to be sent. Every rank may pass on what is not for it.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/ids.h"
#include "core/base/rational.h"
#include "core/base/status.h"
#include "core/spi/planner.h"
#include "core/topo/topology.h"

namespace mycel::flow {

struct FlowGraph {
  struct Edge {
    int32_t source;
    int32_t target;
    int64_t capacity;  // > 0, in `unit`
  };

  int32_t rank_count = 0;          // nodes 0..rank_count-1 are the ranks
  std::vector<Edge> edges;         // by source, then target
  std::vector<int32_t> first_out;  // nodes + 1: the edges out of node v are [first_out[v], first_out[v + 1])
  std::vector<NodeId> nodes;       // of the topology
  Rational unit{1};                // GB/s of capacity 1

  int32_t node_count() const { return static_cast<int32_t>(nodes.size()); }
  bool HasSwitches() const { return node_count() > rank_count; }
  /// The edge source -> target, or -1.
  int32_t Find(int32_t source, int32_t target) const;
};

/// Nodes of a graph, at most: a search packs node and distance into one word.
inline constexpr int32_t kNodeCountMax = 1 << 13;
/// Sums of all capacities, and of all demands, at most: their products stay in 128 bits, and thousands of rounds of the
/// demand in 64.
inline constexpr int64_t kCapacitySumMax = int64_t{1} << 40;
inline constexpr int64_t kDemandSumMax = int64_t{1} << 48;

/// Impossible with more than kNodeCountMax nodes; InvalidArgument when the bandwidths have no common unit in range.
StatusOr<FlowGraph> FlowGraphOf(const Topology& topology);

/// What rank i has for rank j, i != j.
struct Demand {
  int32_t rank_count = 0;
  std::vector<int64_t> amounts;  // by i * rank_count + j; empty: 1 for every pair
  int64_t total = 0;             // of all pairs

  bool uniform() const { return amounts.empty(); }
  int64_t Of(int32_t source, int32_t target) const {
    if (source == target) return 0;
    if (amounts.empty()) return 1;
    return amounts[static_cast<size_t>(source) * static_cast<size_t>(rank_count) + static_cast<size_t>(target)];
  }
};

/// Of alltoall or alltoallv. InvalidArgument when the matrix is of the wrong size, negative, or beyond 2^48 bytes.
StatusOr<Demand> DemandOf(const Topology& topology, const PlanRequest& request);

/// Hops of all pairs that have something to send, each on its shortest way; a hop leads from rank to rank. Impossible,
/// naming a pair, when no way leads from one to the other.
StatusOr<int64_t> HopsOf(const FlowGraph& graph, const Demand& demand, const Topology& topology);

}  // namespace mycel::flow
