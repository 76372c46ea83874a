// Maximum flow for many related questions about one graph.
//
// Model. A digraph with integer capacities in which any number of nodes are marked as sources (together they are one
// source of unlimited supply). Run(sink) pushes flow from the marked nodes to the sink. The usual sequence is: build
// once, then ask about sink after sink, marking or changing a little in between.
//
// Method. Dinic's algorithm run backwards from the sink: each search stops at the first layer that touches a marked
// node, and ResetFlow undoes only the edges that flow has touched. A question whose answer lies near the sink costs its
// neighbourhood, not the graph, which is what makes thousands of questions on thousands of nodes affordable.
//
// Capacities are int64_t, or int128 where products would not fit. No capacity, and no sum of flows into a node, may
// exceed the type's maximum; callers bound their inputs.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/ids.h"
#include "core/base/int128.h"

namespace mycel {

using FlowEdge = Id<struct FlowEdgeTag>;

/// Nodes are 0..node_count-1. Not for use by several threads at once.
template <typename Capacity>
class MaxFlow {
 public:
  explicit MaxFlow(int32_t node_count);

  int32_t node_count() const { return static_cast<int32_t>(first_arc_.size()); }
  int32_t AddNode();
  FlowEdge AddEdge(int32_t source, int32_t target, Capacity capacity);
  /// Needs a flow of zero (before Run or after ResetFlow).
  void SetCapacity(FlowEdge edge, Capacity capacity);
  Capacity CapacityOf(FlowEdge edge) const { return capacities_[edge.index()]; }
  Capacity FlowOf(FlowEdge edge) const { return arcs_[2 * edge.index() + 1].residual; }

  /// Needs a flow of zero.
  void MarkSource(int32_t node);
  void UnmarkSource(int32_t node);
  bool IsSource(int32_t node) const { return is_source_[static_cast<size_t>(node)]; }

  /// Adds flow from the marked nodes to `sink` (not marked itself) until `limit` more has arrived or no more fits;
  /// returns what arrived.
  Capacity Run(int32_t sink, Capacity limit);

  /// After a Run that returned less than its limit: the nodes from which the sink can still be reached. The other nodes
  /// are the source side of a minimum cut, and the largest one.
  const std::vector<int32_t>& SinkSide() const { return queue_; }
  bool OnSinkSide(int32_t node) const { return seen_[static_cast<size_t>(node)] == search_; }

  /// Back to a flow of zero, at the price of the edges that carry some.
  void ResetFlow();

 private:
  static constexpr int32_t kNone = -1;

  // Arc 2e is edge e, arc 2e+1 its reverse; a node's arcs, both kinds, form a list.
  struct Arc {
    int32_t target;
    int32_t next;
    Capacity residual;
  };

  void AddArc(int32_t source, int32_t target, Capacity residual);
  bool Search(int32_t sink);
  int32_t Advance(int32_t node);
  Capacity Augment(Capacity limit);
  Capacity PushLayered(int32_t sink, Capacity limit);

  std::vector<Arc> arcs_;
  std::vector<Capacity> capacities_;
  std::vector<int32_t> first_arc_;
  std::vector<bool> is_source_;

  // Edges that ResetFlow has to undo, each once.
  std::vector<int32_t> touched_;
  std::vector<bool> is_touched_;

  // The last search. A node belongs to it when seen_[node] == search_.
  uint32_t search_ = 0;
  std::vector<uint32_t> seen_;
  std::vector<int32_t> level_;     // hops to the sink; kNone: found to be a dead end
  std::vector<int32_t> next_arc_;  // where Advance goes on
  std::vector<int32_t> queue_;
  std::vector<int32_t> path_;  // arcs towards the sink, the last one leaving the frontier
};

extern template class MaxFlow<int64_t>;
extern template class MaxFlow<int128>;

}  // namespace mycel
