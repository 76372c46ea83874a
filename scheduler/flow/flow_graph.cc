#include "scheduler/flow/flow_graph.h"

#include <algorithm>
#include <string>

#include "core/base/check.h"
#include "scheduler/graph/scaled_graph.h"

namespace mycel::flow {
namespace {

std::string PairText(int32_t source, int32_t target) {
  return "from rank " + std::to_string(source) + " to rank " + std::to_string(target);
}

}  // namespace

int32_t FlowGraph::Find(int32_t source, int32_t target) const {
  const auto begin = edges.begin() + first_out[static_cast<size_t>(source)];
  const auto end = edges.begin() + first_out[static_cast<size_t>(source) + 1];
  const auto at =
      std::lower_bound(begin, end, target, [](const Edge& edge, int32_t node) { return edge.target < node; });
  return at == end || at->target != target ? -1 : static_cast<int32_t>(at - edges.begin());
}

StatusOr<FlowGraph> FlowGraphOf(const Topology& topology) {
  if (topology.node_count() > kNodeCountMax) {
    return Impossible("concurrent flow is planned on at most " + std::to_string(kNodeCountMax) + " nodes; topology '" +
                      topology.name() + "' has " + std::to_string(topology.node_count()));
  }
  MYCEL_ASSIGN_OR_RETURN(const ScaledGraph scaled, ScaleCapacities(topology));
  if (scaled.capacity_sum > kCapacitySumMax) {
    return InvalidArgument("the bandwidths of topology '" + topology.name() +
                           "' add up to more than 2^40 of their common unit; round them in the topology file");
  }
  FlowGraph graph;
  graph.rank_count = topology.rank_count();
  for (const Rank rank : Ids<Rank>(topology.rank_count())) graph.nodes.push_back(topology.NodeOf(rank));
  for (const NodeId node : Ids<NodeId>(topology.node_count())) {
    if (topology.node(node).type != NodeType::kRank) graph.nodes.push_back(node);
  }
  std::vector<int32_t> number(graph.nodes.size());
  for (size_t i = 0; i < graph.nodes.size(); ++i) number[graph.nodes[i].index()] = static_cast<int32_t>(i);
  for (const ScaledGraph::Edge& edge : scaled.edges) {
    graph.edges.push_back(
        {number[static_cast<size_t>(edge.source)], number[static_cast<size_t>(edge.target)], edge.capacity});
  }
  std::sort(graph.edges.begin(), graph.edges.end(), [](const FlowGraph::Edge& a, const FlowGraph::Edge& b) {
    return a.source != b.source ? a.source < b.source : a.target < b.target;
  });
  graph.first_out.assign(graph.nodes.size() + 1, 0);
  for (const FlowGraph::Edge& edge : graph.edges) ++graph.first_out[static_cast<size_t>(edge.source) + 1];
  for (size_t v = 0; v < graph.nodes.size(); ++v) graph.first_out[v + 1] += graph.first_out[v];
  MYCEL_ASSIGN_OR_RETURN(graph.unit, scaled.Bandwidth(1));
  return graph;
}

StatusOr<Demand> DemandOf(const Topology& topology, const PlanRequest& request) {
  Demand demand;
  demand.rank_count = topology.rank_count();
  if (request.collective == Collective::kAllToAll) {
    demand.total = int64_t{demand.rank_count} * (demand.rank_count - 1);
    return demand;
  }
  MYCEL_CHECK(request.collective == Collective::kAllToAllV);
  const auto n = static_cast<size_t>(topology.rank_count());
  if (request.demand.size() != n * n) {
    return InvalidArgument("alltoallv on " + std::to_string(n) + " ranks needs " + std::to_string(n * n) +
                           " demands, got " + std::to_string(request.demand.size()));
  }
  for (size_t i = 0; i < n * n; ++i) {
    const std::string pair = PairText(static_cast<int32_t>(i / n), static_cast<int32_t>(i % n));
    if (request.demand[i] < 0) return InvalidArgument("alltoallv: the demand " + pair + " is negative");
    if (request.demand[i] > kDemandSumMax - demand.total) {
      return InvalidArgument("alltoallv: the demands up to the one " + pair +
                             " come to more than 2^48 bytes, which no machine holds");
    }
    demand.total += request.demand[i];
  }
  demand.amounts = request.demand;
  return demand;
}

StatusOr<int64_t> HopsOf(const FlowGraph& graph, const Demand& demand, const Topology& topology) {
  int64_t sum = 0;
  std::vector<int32_t> hops(graph.nodes.size());
  for (int32_t source = 0; source < graph.rank_count; ++source) {
    std::fill(hops.begin(), hops.end(), -1);
    std::vector<int32_t> here = {source}, next;
    hops[static_cast<size_t>(source)] = 0;
    for (int32_t depth = 0; !here.empty(); ++depth) {
      // What switches lead to is as near as they are.
      for (size_t at = 0; at < here.size(); ++at) {
        for (int32_t e = graph.first_out[static_cast<size_t>(here[at])];
             e < graph.first_out[static_cast<size_t>(here[at]) + 1]; ++e) {
          const int32_t target = graph.edges[static_cast<size_t>(e)].target;
          if (hops[static_cast<size_t>(target)] >= 0) continue;
          const bool rank = target < graph.rank_count;
          hops[static_cast<size_t>(target)] = rank ? depth + 1 : depth;
          (rank ? next : here).push_back(target);
        }
      }
      here.swap(next);
      next.clear();
    }
    for (int32_t target = 0; target < graph.rank_count; ++target) {
      const int64_t amount = demand.Of(source, target);
      if (amount == 0) continue;
      if (hops[static_cast<size_t>(target)] < 0) {
        return Impossible("in topology '" + topology.name() + "' no way leads " + PairText(source, target) +
                          "; add the links that are missing, or let them exchange nothing");
      }
      sum += hops[static_cast<size_t>(target)];
    }
  }
  return sum;
}

}  // namespace mycel::flow
