#include "scheduler/graph/alltoall_bound.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/base/check.h"
#include "core/base/int128.h"
#include "scheduler/graph/max_flow.h"
#include "scheduler/graph/scaled_graph.h"

namespace mycel {
namespace {

using RankSet = std::vector<bool>;  // by rank

// The sets to try, without complements and repetitions.
std::set<RankSet> Candidates(const Topology& topology, const std::vector<std::vector<NodeId>>& cuts) {
  const size_t rank_count = static_cast<size_t>(topology.rank_count());
  std::set<RankSet> sets;
  std::map<std::string_view, RankSet> servers;
  for (size_t r = 0; r < rank_count; ++r) {
    RankSet single(rank_count);
    single[r] = true;
    sets.insert(std::move(single));
    const std::string& server = topology.node(topology.NodeOf(Rank(static_cast<int64_t>(r)))).server;
    if (!server.empty()) servers.try_emplace(server, rank_count).first->second[r] = true;
  }
  for (const auto& [name, server] : servers) sets.insert(server);
  constexpr size_t kPrefixMax = 64;  // a flow through the whole machine each
  const size_t step = (rank_count + kPrefixMax - 1) / kPrefixMax;
  RankSet prefix(rank_count);
  for (size_t r = 0; r < rank_count; ++r) {
    prefix[r] = true;
    if ((r + 1) % step == 0) sets.insert(prefix);
  }
  for (const std::vector<NodeId>& cut : cuts) {
    RankSet set(rank_count);
    for (const NodeId node : cut) {
      const Rank rank = topology.node(node).rank;
      if (rank.valid()) set[rank.index()] = true;
    }
    sets.insert(std::move(set));
  }
  return sets;
}

struct RankCut {
  int64_t demand = 0;
  int64_t capacity = 0;
  std::vector<int32_t> nodes;
};

// Narrowest cuts between sets of ranks. All ranks of one side are marked as sources, those of the other drain into one
// extra sink.
class RankCuts {
 public:
  explicit RankCuts(const ScaledGraph& graph)
      : graph_(graph), flow_(graph.node_count + 1), unlimited_(graph.capacity_sum + 1) {
    for (const ScaledGraph::Edge& edge : graph.edges) flow_.AddEdge(edge.source, edge.target, edge.capacity);
    for (const int32_t rank : graph.ranks) drains_.push_back(flow_.AddEdge(rank, graph.node_count, 0));
  }

  RankCut Narrowest(const RankSet& inside) {
    RankCut cut;
    int64_t inside_count = 0;
    for (size_t r = 0; r < inside.size(); ++r) {
      flow_.SetCapacity(drains_[r], inside[r] ? 0 : unlimited_);
      if (!inside[r]) continue;
      flow_.MarkSource(graph_.ranks[r]);
      ++inside_count;
    }
    cut.demand = inside_count * (std::ssize(inside) - inside_count);
    if (cut.demand > 0) {
      cut.capacity = flow_.Run(graph_.node_count, unlimited_);
      for (int32_t node = 0; node < graph_.node_count; ++node) {
        if (!flow_.OnSinkSide(node)) cut.nodes.push_back(node);
      }
      flow_.ResetFlow();
    }
    for (size_t r = 0; r < inside.size(); ++r) {
      if (inside[r]) flow_.UnmarkSource(graph_.ranks[r]);
    }
    return cut;
  }

 private:
  const ScaledGraph& graph_;
  MaxFlow<int64_t> flow_;
  const int64_t unlimited_;
  std::vector<FlowEdge> drains_;
};

}  // namespace

StatusOr<Optimum> AllToAllBound(const Topology& topology) {
  // Both also tell when a rank cannot be reached, or cannot reach the others.
  MYCEL_ASSIGN_OR_RETURN(const Optimum gather, AllGatherOptimum(topology));
  MYCEL_ASSIGN_OR_RETURN(const Optimum scatter, ReduceScatterOptimum(topology));
  if (gather.cut.empty()) return gather;  // one rank
  MYCEL_ASSIGN_OR_RETURN(const ScaledGraph graph, ScaleCapacities(topology));

  RankCuts cuts(graph);
  RankCut best;
  for (RankSet set : Candidates(topology, {gather.cut, scatter.cut})) {
    for (int side = 0; side < 2; ++side, set.flip()) {
      RankCut cut = cuts.Narrowest(set);
      if (cut.demand == 0) continue;
      MYCEL_CHECK_GT(cut.capacity, 0);
      if (best.demand == 0 || int128{cut.demand} * best.capacity > int128{best.demand} * cut.capacity) {
        best = std::move(cut);
      }
    }
  }
  Optimum bound;
  bound.kind = BoundKind::kLowerBound;
  for (const int32_t node : best.nodes) bound.cut.emplace_back(node);
  bound.cut_demand = best.demand;
  MYCEL_ASSIGN_OR_RETURN(bound.cut_bandwidth, graph.Bandwidth(best.capacity));
  MYCEL_ASSIGN_OR_RETURN(bound.inv_x, graph.NsPerByte(best.demand, best.capacity));
  bound.lower_bound = bound.inv_x;
  bound.proof = std::to_string(bound.cut_demand) + " blocks must leave " + NodeSetText(topology, bound.cut) + " over " +
                bound.cut_bandwidth.ToString() + " GB/s: a lower bound from the cuts that were tried, not an optimum";
  return bound;
}

}  // namespace mycel
