#include "scheduler/bfb/rank_graph.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "core/base/check.h"
#include "scheduler/graph/scaled_graph.h"

namespace mycel::bfb {
namespace {

/// Shares of links are rounded to this fraction of the widest.
constexpr int64_t kShareSteps = 64;
constexpr uint16_t kFar = std::numeric_limits<uint16_t>::max();
static_assert(kRankCountMax < kFar);

bool HasSwitches(const Topology& topology) { return topology.node_count() > topology.rank_count(); }

StatusOr<RankGraph> DirectGraph(const Topology& topology) {
  MYCEL_ASSIGN_OR_RETURN(const ScaledGraph scaled, ScaleCapacities(topology));
  if (scaled.capacity_sum > kCapacitySumMax) {
    return InvalidArgument("the bandwidths of topology '" + topology.name() +
                           "' add up to more than 2^40 of their common unit; round them in the topology file");
  }
  std::vector<RankGraph::Edge> edges;
  for (const ScaledGraph::Edge& edge : scaled.edges) {
    const Rank source = topology.node(NodeId(edge.source)).rank, target = topology.node(NodeId(edge.target)).rank;
    edges.push_back({source.value(), target.value(), edge.capacity});
  }
  RankGraph graph = MakeRankGraph(topology.rank_count(), std::move(edges));
  MYCEL_ASSIGN_OR_RETURN(graph.unit, scaled.Bandwidth(1));
  return graph;
}

/// A route is the one that RouteBook gives: the direct link where there is one.
void ForEachLinkOf(const Topology& topology, const std::vector<NodeId>& route, const auto& visit) {
  for (size_t i = 0; i + 1 < route.size(); ++i) visit(topology.FindLink(route[i], route[i + 1]));
}

RankGraph RoutedGraph(const Topology& topology) {
  const int32_t n = topology.rank_count();
  std::vector<std::vector<std::vector<NodeId>>> routes;  // by target, then source
  std::vector<int64_t> crossings(topology.links().size());
  for (const Rank target : Ids<Rank>(n)) {
    routes.push_back(ShortestRoutesTo(topology, target));
    for (const Rank source : Ids<Rank>(n)) {
      if (source == target) continue;
      ForEachLinkOf(topology, routes.back()[source.index()], [&](LinkId link) { ++crossings[link.index()]; });
    }
  }
  double widest = 0;
  const auto share_of = [&](const std::vector<NodeId>& route) {
    double share = std::numeric_limits<double>::infinity();
    ForEachLinkOf(topology, route, [&](LinkId link) {
      share = std::min(share, topology.link(link).bandwidth.ToDouble() / static_cast<double>(crossings[link.index()]));
    });
    return share;
  };
  for (const bool measure : {true, false}) {
    std::vector<RankGraph::Edge> edges;
    for (const Rank target : Ids<Rank>(n)) {
      for (const Rank source : Ids<Rank>(n)) {
        const std::vector<NodeId>& route = routes[target.index()][source.index()];
        if (source == target || route.empty()) continue;
        const double share = share_of(route);
        widest = std::max(widest, share);
        if (measure) continue;
        const auto steps = static_cast<int64_t>(share / widest * static_cast<double>(kShareSteps));
        edges.push_back({source.value(), target.value(), std::max<int64_t>(1, steps)});
      }
    }
    if (measure) continue;
    RankGraph graph = MakeRankGraph(n, std::move(edges));
    graph.exact = false;
    return graph;
  }
  CheckFailed(__FILE__, __LINE__, "two rounds", "");
}

}  // namespace

RankGraph MakeRankGraph(int32_t rank_count, std::vector<RankGraph::Edge> edges) {
  std::erase_if(edges, [](const RankGraph::Edge& edge) { return edge.source == edge.target; });
  std::sort(edges.begin(), edges.end(), [](const RankGraph::Edge& a, const RankGraph::Edge& b) {
    return a.target != b.target ? a.target < b.target : a.source < b.source;
  });
  RankGraph graph;
  graph.rank_count = rank_count;
  graph.first_in.assign(static_cast<size_t>(rank_count) + 1, 0);
  for (const RankGraph::Edge& edge : edges) {
    MYCEL_CHECK(edge.capacity > 0 && edge.source >= 0 && edge.source < rank_count && edge.target < rank_count);
    if (!graph.edges.empty() && graph.edges.back().source == edge.source && graph.edges.back().target == edge.target) {
      graph.edges.back().capacity += edge.capacity;
      continue;
    }
    graph.edges.push_back(edge);
    ++graph.first_in[static_cast<size_t>(edge.target) + 1];
  }
  for (size_t r = 0; r < static_cast<size_t>(rank_count); ++r) graph.first_in[r + 1] += graph.first_in[r];
  return graph;
}

RankGraph Transposed(const RankGraph& graph) {
  std::vector<RankGraph::Edge> edges = graph.edges;
  for (RankGraph::Edge& edge : edges) std::swap(edge.source, edge.target);
  RankGraph transposed = MakeRankGraph(graph.rank_count, std::move(edges));
  transposed.unit = graph.unit;
  transposed.exact = graph.exact;
  return transposed;
}

StatusOr<RankGraph> RankGraphOf(const Topology& topology) {
  if (topology.rank_count() > kRankCountMax) {
    return Impossible("breadth-first schedules are made for at most " + std::to_string(kRankCountMax) + " ranks; '" +
                      topology.name() + "' has " + std::to_string(topology.rank_count()));
  }
  if (!HasSwitches(topology)) return DirectGraph(topology);
  return RoutedGraph(topology);
}

StatusOr<std::vector<uint16_t>> DistancesOf(const RankGraph& graph) {
  const auto n = static_cast<size_t>(graph.rank_count);
  std::vector<uint16_t> distances(n * n, kFar);
  std::vector<int32_t> queue(n);
  for (size_t target = 0; target < n; ++target) {
    uint16_t* row = &distances[target * n];
    size_t filled = 0;
    queue[filled++] = static_cast<int32_t>(target);
    row[target] = 0;
    for (size_t at = 0; at < filled; ++at) {
      const auto here = static_cast<size_t>(queue[at]);
      for (int32_t e = graph.first_in[here]; e < graph.first_in[here + 1]; ++e) {
        const auto source = static_cast<size_t>(graph.edges[static_cast<size_t>(e)].source);
        if (row[source] != kFar) continue;
        row[source] = static_cast<uint16_t>(row[here] + 1);
        queue[filled++] = static_cast<int32_t>(source);
      }
    }
    if (filled == n) continue;
    const auto cut_off = std::find(row, row + n, kFar) - row;
    return Impossible("rank " + std::to_string(cut_off) + " does not reach rank " + std::to_string(target) +
                      "; add the links that are missing");
  }
  return distances;
}

}  // namespace mycel::bfb
