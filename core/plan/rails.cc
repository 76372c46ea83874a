#include "core/plan/rails.h"

#include <algorithm>
#include <limits>

namespace mycel {
namespace {

/// 1 for the first of `ways`; 0 when `node` is none of them.
uint8_t NumberOf(NodeId node, const std::vector<NodeId>& ways) {
  const auto at = std::find(ways.begin(), ways.end(), node);
  const auto number = at == ways.end() ? 0 : at - ways.begin() + 1;
  return number > std::numeric_limits<uint8_t>::max() ? uint8_t{0} : static_cast<uint8_t>(number);
}

/// The last node from `first` on that is of the same server as it.
template <typename Iterator>
NodeId LastOfServer(const Topology& topology, Iterator first, Iterator end) {
  const std::string& server = topology.node(*first).server;
  NodeId last = *first;
  for (; first != end && topology.node(*first).server == server; ++first) last = *first;
  return last;
}

}  // namespace

std::vector<NodeId> WaysOut(const Topology& topology, Rank rank) {
  const NodeId start = topology.NodeOf(rank);
  const std::string& server = topology.node(start).server;
  std::vector<NodeId> seen = {start};
  std::vector<NodeId> ways;
  for (size_t begin = 0; begin < seen.size();) {  // a round for each distance
    const size_t end = seen.size();
    for (; begin < end; ++begin) {
      const NodeId node = seen[begin];
      bool leaves = false;
      for (const LinkId id : topology.OutLinks(node)) {
        const NodeId next = topology.link(id).target;
        const Node& there = topology.node(next);
        if (there.server != server) leaves = true;
        if (there.server != server || there.rank.valid()) continue;
        if (std::find(seen.begin(), seen.end(), next) == seen.end()) seen.push_back(next);
      }
      if (leaves && node != start) ways.push_back(node);
    }
    std::sort(seen.begin() + static_cast<ptrdiff_t>(end), seen.end());
  }
  return ways;
}

void NameRails(const Topology& topology, Plan* plan) {
  if (plan->topology_hash != topology.hash()) return;
  // A file may claim the topology's hash and be for another all the same.
  const auto is_there = [&](NodeId node) { return node.value() < topology.node_count(); };
  for (const Route& route : plan->routes) {
    const bool there = std::all_of(route.begin(), route.end(), is_there);
    if (!there || !topology.node(route.front()).rank.valid() || !topology.node(route.back()).rank.valid()) return;
  }
  std::vector<std::vector<NodeId>> ways(static_cast<size_t>(topology.rank_count()));
  const auto ways_of = [&](NodeId node) -> const std::vector<NodeId>& {
    const Rank rank = topology.node(node).rank;
    std::vector<NodeId>& known = ways[rank.index()];
    if (known.empty()) known = WaysOut(topology, rank);
    return known;
  };
  plan->rails.assign(plan->routes.size(), Rails());
  for (size_t i = 0; i < plan->routes.size(); ++i) {
    const Route& route = plan->routes[i];
    if (topology.node(route.front()).server == topology.node(route.back()).server) continue;
    plan->rails[i].out = NumberOf(LastOfServer(topology, route.begin(), route.end()), ways_of(route.front()));
    plan->rails[i].in = NumberOf(LastOfServer(topology, route.rbegin(), route.rend()), ways_of(route.back()));
  }
}

}  // namespace mycel
