#include "scheduler/graph/rooted_cut.h"

#include <algorithm>

#include "core/base/check.h"

namespace mycel {

RootedCut::RootedCut(const CapacityGraph& graph, const std::vector<int64_t>& root_trees, std::vector<int32_t> sinks)
    : sinks_(std::move(sinks)),
      is_sink_(static_cast<size_t>(graph.node_count()), false),
      flow_(graph.node_count() + 1) {
  const int32_t source = graph.node_count();
  for (int32_t sink : sinks_) is_sink_[static_cast<size_t>(sink)] = true;
  for (int32_t node = 0; node < graph.node_count(); ++node) {
    for (const auto& [target, capacity] : graph.Out(node)) Set(node, target, capacity);
    root_edges_.push_back(flow_.AddEdge(source, node, root_trees[static_cast<size_t>(node)]));
    total_ += root_trees[static_cast<size_t>(node)];
  }
  flow_.MarkSource(source);
}

void RootedCut::Set(int32_t source, int32_t target, int64_t capacity) {
  const auto [at, fresh] = edges_.try_emplace({source, target});
  if (fresh) {
    at->second = flow_.AddEdge(source, target, capacity);
  } else {
    flow_.SetCapacity(at->second, capacity);
  }
}

void RootedCut::SetRoot(int32_t node, int64_t trees) {
  const FlowEdge edge = root_edges_[static_cast<size_t>(node)];
  total_ += trees - flow_.CapacityOf(edge);
  flow_.SetCapacity(edge, trees);
}

int64_t RootedCut::MinFlow(int64_t floor, int32_t first, int32_t second) {
  int64_t least = total_;
  std::vector<int32_t> joined;
  // After a sink is satisfied it joins the source: cuts that separate several sinks are seen at the first of them.
  const auto ask = [&](int32_t sink) {
    if (flow_.IsSource(sink) || least <= floor) return;
    least = std::min(least, flow_.Run(sink, least));
    flow_.ResetFlow();
    flow_.MarkSource(sink);
    joined.push_back(sink);
  };
  for (int32_t sink : {first, second}) {
    if (sink >= 0 && is_sink_[static_cast<size_t>(sink)]) ask(sink);
  }
  for (int32_t sink : sinks_) ask(sink);
  for (int32_t sink : joined) flow_.UnmarkSource(sink);
  return least;
}

}  // namespace mycel
