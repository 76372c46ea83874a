#include "scheduler/bound/in_network.h"

#include <algorithm>
#include <utility>

#include "core/base/int128.h"
#include "scheduler/bound/bound.h"
#include "scheduler/graph/bottleneck.h"
#include "scheduler/graph/scaled_graph.h"
#include "scheduler/graph/throughput_bound.h"

namespace mycel {
namespace {

/// Switches of allgather that copy and can take in everything at the rate of the optimum, found one by one.
StatusOr<std::optional<InNetwork>> AllGatherInNetwork(const Topology& topology) {
  MYCEL_ASSIGN_OR_RETURN(const Optimum optimum, AllGatherOptimum(topology));
  MYCEL_ASSIGN_OR_RETURN(const ScaledGraph graph, ScaleCapacities(topology));
  std::vector<int64_t> weights(static_cast<size_t>(graph.node_count), 0);
  for (const int32_t node : graph.ranks) weights[static_cast<size_t>(node)] = 1;
  std::vector<int32_t> terminals = graph.ranks;
  const Bottleneck plain = FindBottleneck(graph, weights, terminals);
  InNetwork answer;
  answer.inv_x = optimum.inv_x;
  for (const NodeId node : Ids<NodeId>(topology.node_count())) {
    if (topology.node(node).type != NodeType::kSwitch || !topology.node(node).multicast) continue;
    terminals.push_back(node.value());
    const Bottleneck promoted = FindBottleneck(graph, weights, terminals);
    if (int128{promoted.weight} * plain.capacity == int128{plain.weight} * promoted.capacity) {
      answer.copying.push_back(node);
    } else {
      terminals.pop_back();
    }
  }
  // Through a plain switch whose two directions differ trees may not reach the optimum.
  std::vector<int64_t> surplus(static_cast<size_t>(graph.node_count), 0);
  for (const ScaledGraph::Edge& edge : graph.edges) {
    surplus[static_cast<size_t>(edge.target)] += edge.capacity;
    surplus[static_cast<size_t>(edge.source)] -= edge.capacity;
  }
  for (const int32_t terminal : terminals) surplus[static_cast<size_t>(terminal)] = 0;
  const bool reached = std::all_of(surplus.begin(), surplus.end(), [](int64_t one) { return one == 0; });
  if (answer.copying.empty() || !reached) return std::optional<InNetwork>();
  return std::optional<InNetwork>(std::move(answer));
}

/// GB/s of the links into (or out of) a node.
StatusOr<Rational> BandwidthAt(const Topology& topology, const std::vector<LinkId>& links) {
  Rational sum;
  for (const LinkId link : links) {
    MYCEL_ASSIGN_OR_RETURN(sum, Rational::TryAdd(sum, topology.link(link).bandwidth));
  }
  return sum;
}

/// Whether a promoted switch leaves room for more than is possible without it: all bytes enter one that copies and
/// leave one that reduces.
struct Room {
  bool copies = false;
  bool reduces = false;
};
StatusOr<std::vector<Room>> RoomAtSwitches(const Topology& topology, const Rational& algbw) {
  std::vector<Room> rooms(static_cast<size_t>(topology.node_count()));
  for (const NodeId id : Ids<NodeId>(topology.node_count())) {
    const Node& node = topology.node(id);
    if (node.type != NodeType::kSwitch) continue;
    MYCEL_ASSIGN_OR_RETURN(const Rational in, BandwidthAt(topology, topology.InLinks(id)));
    MYCEL_ASSIGN_OR_RETURN(const Rational out, BandwidthAt(topology, topology.OutLinks(id)));
    rooms[id.index()] = {node.multicast && in > algbw, node.aggregate && out > algbw};
  }
  return rooms;
}

StatusOr<std::optional<InNetwork>> AllReduceInNetwork(const Topology& topology) {
  MYCEL_ASSIGN_OR_RETURN(const AllReduceBound plain, AllReduceBoundOf(topology));
  // Without switches' help: the optimum, or what reduce-scatter and allgather reach.
  Rational best = plain.optimum.kind == BoundKind::kOptimum ? plain.optimum.inv_x : plain.in_turn;
  MYCEL_ASSIGN_OR_RETURN(const Rational algbw,
                         Rational::TryMake(int128{topology.rank_count()} * best.denominator(), best.numerator()));
  MYCEL_ASSIGN_OR_RETURN(const std::vector<Room> rooms, RoomAtSwitches(topology, algbw));
  std::optional<InNetwork> answer;
  enum Which { kAll, kOfServers, kBetweenServers };
  std::vector<std::pair<std::vector<bool>, std::vector<bool>>> tried;
  Status refused;
  bool solved = false;
  for (const Which which : {kOfServers, kBetweenServers, kAll}) {
    RateOptions options;
    InNetwork candidate;
    for (const NodeId id : Ids<NodeId>(topology.node_count())) {
      const bool meant = which == kAll || (which == kOfServers) != topology.node(id).server.empty();
      options.copies.push_back(meant && rooms[id.index()].copies);
      options.reduces.push_back(meant && rooms[id.index()].reduces);
      if (options.copies.back()) candidate.copying.push_back(id);
      if (options.reduces.back()) candidate.reducing.push_back(id);
    }
    if (candidate.copying.empty() && candidate.reducing.empty()) continue;
    if (std::find(tried.begin(), tried.end(), std::make_pair(options.copies, options.reduces)) != tried.end()) continue;
    tried.emplace_back(options.copies, options.reduces);
    const StatusOr<AllReduceRates> rates = FindAllReduceRates(topology, options);
    if (!rates.ok()) {
      refused = rates.status();
      continue;
    }
    solved = true;
    if (!rates->exact || rates->inv_x >= best) continue;
    best = candidate.inv_x = rates->inv_x;
    answer = std::move(candidate);
  }
  if (!solved && !refused.ok()) return refused;
  return answer;
}

}  // namespace

StatusOr<std::optional<InNetwork>> InNetworkOptimum(const Topology& topology, Collective collective) {
  const bool helps = std::any_of(topology.nodes().begin(), topology.nodes().end(),
                                 [](const Node& node) { return node.multicast || node.aggregate; });
  if (!helps || topology.rank_count() < 2) return std::optional<InNetwork>();
  switch (collective) {
    case Collective::kAllGather:
      return AllGatherInNetwork(topology);
    case Collective::kReduceScatter: {
      // Links and flags turned around, a sum is a copy.
      MYCEL_ASSIGN_OR_RETURN(std::optional<InNetwork> mirrored, AllGatherInNetwork(Reversed(topology)));
      if (mirrored) std::swap(mirrored->copying, mirrored->reducing);
      return mirrored;
    }
    case Collective::kAllReduce:
      return AllReduceInNetwork(topology);
    default:
      return std::optional<InNetwork>();
  }
}

}  // namespace mycel
