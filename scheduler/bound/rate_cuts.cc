#include "scheduler/bound/rate_cuts.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace mycel::bound {

RateCuts::RateCuts(const ScaledGraph& graph, bool reversed, std::vector<int32_t> terminals)
    : ranks_(graph.ranks), terminals_(std::move(terminals)), flow_(graph.node_count + 1) {
  for (const ScaledGraph::Edge& edge : graph.edges) {
    ends_.push_back(reversed ? Ends{edge.target, edge.source} : Ends{edge.source, edge.target});
    flow_.AddEdge(ends_.back().source, ends_.back().target, 0);
  }
  for (const int32_t node : ranks_) flow_.AddEdge(graph.node_count, node, 0);
  flow_.MarkSource(graph.node_count);
}

std::vector<std::vector<int32_t>> RateCuts::Broken(const std::vector<int64_t>& roots, const std::vector<int64_t>& links,
                                                   int64_t error, int64_t creep) {
  int64_t edge = 0;
  for (const int64_t link : links) flow_.SetCapacity(FlowEdge(edge++), link + creep);
  for (const int64_t root : roots) flow_.SetCapacity(FlowEdge(edge++), root);
  const int64_t wanted = std::accumulate(roots.begin(), roots.end(), int64_t{0});

  std::vector<std::vector<int32_t>> broken;
  for (const int32_t terminal : terminals_) {
    if (flow_.Run(terminal, wanted) < wanted) {
      std::vector<int32_t> inside = flow_.SinkSide();
      std::sort(inside.begin(), inside.end());
      int64_t missing = wanted;
      for (size_t rank = 0; rank < ranks_.size(); ++rank) {
        if (flow_.OnSinkSide(ranks_[rank])) missing -= roots[rank];
      }
      for (size_t link = 0; link < ends_.size(); ++link) {
        if (!flow_.OnSinkSide(ends_[link].source) && flow_.OnSinkSide(ends_[link].target)) missing -= links[link];
      }
      if (missing > error) broken.push_back(std::move(inside));
    }
    flow_.ResetFlow();
    // Satisfied or not, it joins the source: the cuts of later terminals then are other cuts, and their flows short. A
    // cut is only missed when another one that is broken has been found.
    flow_.MarkSource(terminal);
  }
  for (const int32_t terminal : terminals_) flow_.UnmarkSource(terminal);
  return broken;
}

}  // namespace mycel::bound
