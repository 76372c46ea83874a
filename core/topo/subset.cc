#include "core/topo/subset.h"

#include <string>
#include <vector>

#include "core/base/check.h"

namespace mycel {

StatusOr<Topology> SubsetOf(const Topology& topology, std::span<const Rank> kept) {
  std::vector<Rank> number_of(static_cast<size_t>(topology.rank_count()));
  std::string name = topology.name() + " without ";
  for (size_t i = 0; i < kept.size(); ++i) {
    MYCEL_CHECK(kept[i].valid() && kept[i].value() < topology.rank_count());
    number_of[kept[i].index()] = Rank(static_cast<int64_t>(i));
  }
  name += std::to_string(topology.rank_count() - static_cast<int32_t>(kept.size())) + " ranks";
  TopologyBuilder builder(name, topology.note());
  std::vector<NodeId> node_of(topology.nodes().size());
  for (size_t i = 0; i < topology.nodes().size(); ++i) {
    const Node& node = topology.nodes()[i];
    if (node.type == NodeType::kSwitch) {
      node_of[i] = builder.AddSwitch(node.id, node.server, node.multicast, node.aggregate);
    } else if (number_of[node.rank.index()].valid()) {
      node_of[i] = builder.AddRank(node.id, number_of[node.rank.index()], node.server);
    }
  }
  for (const Link& link : topology.links()) {
    const NodeId source = node_of[link.source.index()];
    const NodeId target = node_of[link.target.index()];
    if (source.valid() && target.valid()) {
      builder.AddLink(source, target, link.bandwidth, link.latency_us, link.kind);
    }
  }
  return std::move(builder).Build();
}

}  // namespace mycel
