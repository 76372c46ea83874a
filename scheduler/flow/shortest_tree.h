// ShortestTree: a tree of shortest ways from one node under integer lengths (Dijkstra). Ties go to the way that is
// found first, which integers make the same on every machine.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/int128.h"
#include "scheduler/flow/flow_graph.h"

namespace mycel::flow {

/// Lengths of edges, at most: 2^13 of them in a row, packed with a node's number, fill a word.
inline constexpr int64_t kLengthMax = int64_t{1} << 36;

class ShortestTree {
 public:
  /// `graph` must outlive it.
  explicit ShortestTree(const FlowGraph& graph);

  /// The tree from `source`; lengths of edges are in [0, kLengthMax].
  void Grow(int32_t source, const std::vector<int64_t>& lengths);

  /// Sum over the targets of demand * distance. All with demand must have been reached.
  int128 Cost(int32_t source, const Demand& demand) const;
  /// Calls visit(edge, amount) for the edges of the tree that carry something, leaves first.
  template <typename Visit>
  void ForEachLoad(int32_t source, const Demand& demand, Visit&& visit) {
    for (const int32_t node : order_) {
      below_[static_cast<size_t>(node)] = node < graph_.rank_count ? demand.Of(source, node) : 0;
    }
    for (size_t i = order_.size(); i-- > 1;) {
      const auto node = static_cast<size_t>(order_[i]);
      const int64_t amount = below_[node];
      if (amount == 0) continue;
      const int32_t edge = in_edge_[node];
      below_[static_cast<size_t>(graph_.edges[static_cast<size_t>(edge)].source)] += amount;
      visit(edge, amount);
    }
  }

 private:
  const FlowGraph& graph_;
  std::vector<int64_t> distance_;
  std::vector<int32_t> in_edge_;
  std::vector<int32_t> order_;  // by distance
  std::vector<int64_t> below_;  // amount for a node and what hangs on it
  std::vector<uint64_t> heap_;
};

}  // namespace mycel::flow
