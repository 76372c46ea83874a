// Switches as bars above each other: each reaches over the vertical links that come up to it, and those that would
// overlap lie on different levels.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "core/topo/topology.h"

namespace mycel::cli {

/// Where the vertical link between two nodes runs, and which of the two is nearer to the ranks.
struct Port {
  double x = 0;
  NodeId lower;
};
using NodePair = std::pair<NodeId, NodeId>;  // the smaller id first
using PortMap = std::map<NodePair, Port>;

inline NodePair PairOf(NodeId a, NodeId b) { return {std::min(a, b), std::max(a, b)}; }

struct BarSpan {
  NodeId node;
  int32_t tier = 1;  // 1: next to the ranks
  int32_t level = 0;
  double left = 0;
  double right = 0;
};

class BarStack {
 public:
  /// `ports` holds the links that come up from below; those from bar to bar, and to the `above` (switches of a later
  /// stack), are added.
  BarStack(const Topology& topology, const std::vector<std::vector<NodeId>>& neighbours,
           const std::vector<NodeId>& bars, const std::vector<NodeId>& above, PortMap* ports);

  bool empty() const { return bars_.empty(); }
  const std::vector<BarSpan>& bars() const { return bars_; }
  /// Pixels that all levels take.
  double Height(double bar_height) const;
  /// Fills `places` (by node) with the middles of the bars, from `start` on; level 0 comes last or first.
  void Place(double start, double bar_height, bool level0_last, std::vector<double>* places) const;

 private:
  void FindTiers(const Topology& topology, const std::vector<std::vector<NodeId>>& neighbours);
  void FindSpan(const Topology& topology, const std::vector<NodeId>& neighbours, const PortMap& ports, BarSpan* bar);
  void FindLevel(size_t index, const std::vector<NodeId>& neighbours);

  std::vector<BarSpan> bars_;  // by tier, then node
  int32_t levels_ = 0;
};

}  // namespace mycel::cli
