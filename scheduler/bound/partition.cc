#include "scheduler/bound/partition.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <numeric>
#include <set>

namespace mycel::bound {
namespace {

/// Bandwidths tried as thresholds when there are more.
constexpr size_t kThresholdsMax = 16;

/// Sets of nodes that only grow together.
class Clusters {
 public:
  explicit Clusters(size_t count) : parent_(count) { std::iota(parent_.begin(), parent_.end(), 0); }

  void Join(NodeId a, NodeId b) { parent_[Find(a.index())] = static_cast<int32_t>(Find(b.index())); }

  /// The clusters that hold a rank, numbered by their first node.
  Partition ToPartition(const Topology& topology) {
    std::vector<bool> has_rank(parent_.size());
    for (const Rank rank : Ids<Rank>(topology.rank_count())) has_rank[Find(topology.NodeOf(rank).index())] = true;
    Partition partition;
    std::vector<int32_t> number(parent_.size(), -1);
    for (size_t node = 0; node < parent_.size(); ++node) {
      const size_t top = Find(node);
      if (has_rank[top] && number[top] < 0) number[top] = partition.groups++;
      partition.group_of.push_back(number[top]);
    }
    return partition;
  }

 private:
  size_t Find(size_t node) {
    while (static_cast<size_t>(parent_[node]) != node) {
      parent_[node] = parent_[static_cast<size_t>(parent_[node])];
      node = static_cast<size_t>(parent_[node]);
    }
    return node;
  }

  std::vector<int32_t> parent_;
};

Partition ByThreshold(const Topology& topology, const Rational& least) {
  Clusters clusters(topology.nodes().size());
  for (const Link& link : topology.links()) {
    if (link.bandwidth >= least) clusters.Join(link.source, link.target);
  }
  return clusters.ToPartition(topology);
}

Partition ByServer(const Topology& topology) {
  Clusters clusters(topology.nodes().size());
  std::map<std::string, NodeId> first;
  for (const NodeId id : Ids<NodeId>(topology.node_count())) {
    const std::string& server = topology.node(id).server;
    if (!server.empty()) clusters.Join(id, first.emplace(server, id).first->second);
  }
  return clusters.ToPartition(topology);
}

Partition ByWidestNeighbour(const Topology& topology) {
  Clusters clusters(topology.nodes().size());
  for (const Rank rank : Ids<Rank>(topology.rank_count())) {
    const std::vector<LinkId>& links = topology.OutLinks(topology.NodeOf(rank));
    Rational widest;
    NodeId neighbour;  // invalid when several are equally near
    for (const LinkId id : links) {
      const Link& link = topology.link(id);
      if (link.bandwidth < widest) continue;
      neighbour = link.bandwidth > widest ? link.target : NodeId();
      widest = link.bandwidth;
    }
    if (neighbour.valid()) clusters.Join(topology.NodeOf(rank), neighbour);
  }
  return clusters.ToPartition(topology);
}

}  // namespace

std::vector<Partition> PartitionsOf(const Topology& topology) {
  std::vector<Partition> partitions;
  const auto add = [&partitions](Partition partition) {
    const bool known = std::find(partitions.begin(), partitions.end(), partition) != partitions.end();
    if (partition.groups >= 2 && !known) partitions.push_back(std::move(partition));
  };
  add(Clusters(topology.nodes().size()).ToPartition(topology));
  add(ByWidestNeighbour(topology));
  add(ByServer(topology));
  std::set<Rational, std::greater<>> distinct;
  for (const Link& link : topology.links()) distinct.insert(link.bandwidth);
  const std::vector<Rational> bandwidths(distinct.begin(), distinct.end());
  const size_t tried = std::min(kThresholdsMax, bandwidths.size());
  for (size_t i = 0; i < tried; ++i) add(ByThreshold(topology, bandwidths[i * bandwidths.size() / tried]));
  return partitions;
}

Borders BordersOf(const Partition& partition, const ScaledGraph& graph) {
  Borders borders;
  borders.in.resize(static_cast<size_t>(partition.groups));
  borders.out.resize(static_cast<size_t>(partition.groups));
  for (const ScaledGraph::Edge& edge : graph.edges) {
    const int32_t source = partition.group_of[static_cast<size_t>(edge.source)];
    const int32_t target = partition.group_of[static_cast<size_t>(edge.target)];
    if (source == target) continue;
    if (source >= 0) borders.out[static_cast<size_t>(source)] += edge.capacity;
    if (target >= 0) borders.in[static_cast<size_t>(target)] += edge.capacity;
  }
  borders.in_sum = std::accumulate(borders.in.begin(), borders.in.end(), int64_t{0});
  borders.out_sum = std::accumulate(borders.out.begin(), borders.out.end(), int64_t{0});
  return borders;
}

GroupHops::GroupHops(const Partition& partition, const Topology& topology)
    : partition_(partition), topology_(topology), nodes_of_(static_cast<size_t>(partition.groups)) {
  for (size_t node = 0; node < partition.group_of.size(); ++node) {
    const int32_t group = partition.group_of[node];
    if (group >= 0) nodes_of_[static_cast<size_t>(group)].push_back(static_cast<int32_t>(node));
  }
}

std::vector<int32_t> GroupHops::From(int32_t group) const {
  // Entering a group costs one, everything else nothing. A group's nodes need not hang together by themselves, but
  // taking them as one only lowers the answer, which keeps it a bound.
  std::vector<int32_t> entries(static_cast<size_t>(partition_.groups), kUnreached);
  std::vector<bool> seen_switch(partition_.group_of.size());
  int32_t missing = partition_.groups - 1;
  std::deque<std::pair<int32_t, int32_t>> queue;  // (node, entries so far), fewest first
  const auto enter = [&](int32_t into, int32_t count) {
    entries[static_cast<size_t>(into)] = count;
    for (const int32_t node : nodes_of_[static_cast<size_t>(into)]) queue.emplace_back(node, count);
  };
  enter(group, 0);
  while (!queue.empty() && missing > 0) {
    const auto [node, count] = queue.front();
    queue.pop_front();
    for (const LinkId id : topology_.OutLinks(NodeId(node))) {
      const int32_t target = topology_.link(id).target.value();
      const int32_t into = partition_.group_of[static_cast<size_t>(target)];
      if (into >= 0 && entries[static_cast<size_t>(into)] == kUnreached) {
        enter(into, count + 1);
        --missing;
      } else if (into < 0 && !seen_switch[static_cast<size_t>(target)]) {
        seen_switch[static_cast<size_t>(target)] = true;
        queue.emplace_front(target, count);
      }
    }
  }
  return entries;
}

}  // namespace mycel::bound
