// The one question that switch removal and tree counting ask: can every sink draw everything that the roots have?
// (Frank; ForestColl's oracle.) With root multiplicities k_v, spanning trees rooted as the multiplicities say fit into
// the capacities if and only if the answer is yes.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "scheduler/graph/capacity_graph.h"
#include "scheduler/graph/max_flow.h"

namespace mycel {

/// Mirrors a CapacityGraph so that many slightly different questions cost little.
class RootedCut {
 public:
  /// `root_trees[v]`: trees rooted at node v (0 for most switches). `sinks`: nodes that every tree must reach.
  RootedCut(const CapacityGraph& graph, const std::vector<int64_t>& root_trees, std::vector<int32_t> sinks);

  /// All trees together: what every sink must be able to draw.
  int64_t total() const { return total_; }
  void Set(int32_t source, int32_t target, int64_t capacity);
  /// Changes how many trees `node` roots.
  void SetRoot(int32_t node, int64_t trees);
  /// min over sinks of the flow into it from all roots; at most total(). `first`: sinks to look at first, since the
  /// minimum is likeliest there (-1 or a switch: ignored). Looks no further once it falls to `floor` or below.
  int64_t MinFlow(int64_t floor, int32_t first = -1, int32_t second = -1);
  bool Feasible() { return MinFlow(total_ - 1) == total_; }

 private:
  int64_t total_ = 0;
  std::vector<int32_t> sinks_;
  std::vector<bool> is_sink_;
  MaxFlow<int64_t> flow_;
  std::map<std::pair<int32_t, int32_t>, FlowEdge> edges_;
  std::vector<FlowEdge> root_edges_;  // by node
};

}  // namespace mycel
