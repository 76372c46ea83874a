#include "scheduler/forest/pack_capacities.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "scheduler/graph/arborescence_packing.h"
#include "scheduler/graph/edge_splitting.h"

namespace mycel {
namespace {

/// Node -> rank, invalid for switches.
std::vector<Rank> RankOfNode(const Topology& topology) {
  std::vector<Rank> ranks(static_cast<size_t>(topology.node_count()));
  for (Rank rank : Ids<Rank>(topology.rank_count())) ranks[topology.NodeOf(rank).index()] = rank;
  return ranks;
}

/// Hops from the nearest rank, by node.
std::vector<int32_t> HopsFromRanks(const Topology& topology) {
  std::vector<int32_t> hops(static_cast<size_t>(topology.node_count()), topology.node_count());
  std::vector<NodeId> queue;
  for (Rank rank : Ids<Rank>(topology.rank_count())) {
    queue.push_back(topology.NodeOf(rank));
    hops[queue.back().index()] = 0;
  }
  for (size_t next = 0; next < queue.size(); ++next) {
    for (const LinkId id : topology.InLinks(queue[next])) {
      const NodeId node = topology.link(id).source;
      if (hops[node.index()] < topology.node_count()) continue;
      hops[node.index()] = hops[queue[next].index()] + 1;
      queue.push_back(node);
    }
  }
  return hops;
}

/// How far out a switch is: hops from the ranks, whether it belongs to a server, links.
using SwitchKey = std::tuple<int32_t, bool, size_t>;

/// Switches from the ranks outwards, those with few links first: boxes become cliques before a wide fabric is split.
std::vector<std::pair<SwitchKey, int32_t>> SwitchesOutwards(const Topology& topology) {
  const std::vector<int32_t> hops = HopsFromRanks(topology);
  std::vector<std::pair<SwitchKey, int32_t>> switches;
  for (NodeId node : Ids<NodeId>(topology.node_count())) {
    if (topology.node(node).type != NodeType::kSwitch) continue;
    switches.push_back(
        {{hops[node.index()], topology.node(node).server.empty(), topology.OutLinks(node).size()}, node.value()});
  }
  std::sort(switches.begin(), switches.end());
  return switches;
}

/// Ranks that hold together without the outermost switches: what a server is where the topology names none.
std::vector<int32_t> GroupsByLinks(const Topology& topology,
                                   const std::vector<std::pair<SwitchKey, int32_t>>& switches) {
  std::vector<int32_t> group_of(static_cast<size_t>(topology.node_count()), -1);
  std::vector<bool> passable(group_of.size(), true);
  for (const auto& [key, node] : switches) passable[static_cast<size_t>(node)] = key != switches.back().first;
  int32_t count = 0;
  for (Rank rank : Ids<Rank>(topology.rank_count())) {
    std::vector<NodeId> stack = {topology.NodeOf(rank)};
    if (group_of[stack.back().index()] >= 0) continue;
    group_of[stack.back().index()] = count;
    while (!stack.empty()) {
      const NodeId node = stack.back();
      stack.pop_back();
      for (const LinkId id : topology.OutLinks(node)) {
        const NodeId next = topology.link(id).target;
        if (!passable[next.index()] || group_of[next.index()] >= 0) continue;
        group_of[next.index()] = count;
        stack.push_back(next);
      }
    }
    ++count;
  }
  for (const auto& [key, node] : switches) group_of[static_cast<size_t>(node)] = -1;
  return group_of;
}

/// Ranks of one server are a group; switches and ranks without a server are in none.
std::vector<int32_t> GroupsOf(const Topology& topology, const std::vector<std::pair<SwitchKey, int32_t>>& switches) {
  std::vector<int32_t> group_of(static_cast<size_t>(topology.node_count()), -1);
  std::map<std::string, int32_t> known;
  for (Rank rank : Ids<Rank>(topology.rank_count())) {
    const NodeId node = topology.NodeOf(rank);
    const std::string& server = topology.node(node).server;
    if (!server.empty()) group_of[node.index()] = known.try_emplace(server, known.size()).first->second;
  }
  return known.empty() && !switches.empty() ? GroupsByLinks(topology, switches) : group_of;
}

/// A batch's logical edges as physical paths: cut where some edge changes its path, so that each piece has one.
void Expand(const ArborescenceBatch& batch, const std::vector<Rank>& rank_of, RouteTable* routes,
            std::vector<ForestTree>* trees) {
  std::vector<std::vector<RouteTable::Piece>> pieces;
  for (const auto& [source, target] : batch.edges) pieces.push_back(routes->Take(source, target, batch.multiplicity));
  std::vector<size_t> at(pieces.size(), 0);
  std::vector<int64_t> left(pieces.size());
  for (size_t edge = 0; edge < pieces.size(); ++edge) {
    // The widest pieces first: they meet each other, and fewer trees come out.
    std::stable_sort(pieces[edge].begin(), pieces[edge].end(),
                     [](const auto& a, const auto& b) { return a.amount > b.amount; });
    left[edge] = pieces[edge][0].amount;
  }
  for (int64_t done = 0; done < batch.multiplicity;) {
    ForestTree tree;
    tree.root = rank_of[static_cast<size_t>(batch.root)];
    tree.multiplicity = batch.multiplicity - done;
    for (int64_t amount : left) tree.multiplicity = std::min(tree.multiplicity, amount);
    for (size_t edge = 0; edge < pieces.size(); ++edge) {
      ForestEdge out{rank_of[static_cast<size_t>(batch.edges[edge].first)],
                     rank_of[static_cast<size_t>(batch.edges[edge].second)],
                     {}};
      for (int32_t node : pieces[edge][at[edge]].path) out.path.push_back(NodeId(node));
      tree.edges.push_back(std::move(out));
      left[edge] -= tree.multiplicity;
      if (left[edge] == 0 && ++at[edge] < pieces[edge].size()) left[edge] = pieces[edge][at[edge]].amount;
    }
    done += tree.multiplicity;
    trees->push_back(std::move(tree));
  }
}

/// Out-trees of the reversed topology as in-trees of the real one.
void TurnAround(std::vector<ForestTree>* trees) {
  for (ForestTree& tree : *trees) {
    for (ForestEdge& edge : tree.edges) {
      std::swap(edge.source, edge.target);
      std::reverse(edge.path.begin(), edge.path.end());
    }
  }
}

}  // namespace

StatusOr<std::vector<ForestTree>> PackCapacities(const Topology& topology, const CapacityGraph& capacities,
                                                 const std::vector<int64_t>& root_trees, bool reversed) {
  std::vector<int32_t> ranks;
  for (const Rank rank : Ids<Rank>(topology.rank_count())) ranks.push_back(topology.NodeOf(rank).value());
  const std::vector<std::pair<SwitchKey, int32_t>> outwards = SwitchesOutwards(topology);
  const std::vector<int32_t> groups = GroupsOf(topology, outwards);
  std::vector<int32_t> switches;
  for (const auto& [key, node] : outwards) switches.push_back(node);
  CapacityGraph graph = capacities;
  RouteTable routes;
  MYCEL_RETURN_IF_ERROR(SplitOffSwitches(switches, root_trees, ranks, groups, &graph, &routes));
  MYCEL_ASSIGN_OR_RETURN(const std::vector<ArborescenceBatch> batches,
                         PackArborescences(graph, ranks, root_trees, groups));
  const std::vector<Rank> rank_of = RankOfNode(topology);
  std::vector<ForestTree> trees;
  for (const ArborescenceBatch& batch : batches) Expand(batch, rank_of, &routes, &trees);
  std::stable_sort(trees.begin(), trees.end(),
                   [](const ForestTree& a, const ForestTree& b) { return a.root < b.root; });
  if (reversed) TurnAround(&trees);
  return trees;
}

}  // namespace mycel
