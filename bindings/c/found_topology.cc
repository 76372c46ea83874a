#include "bindings/c/found_topology.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "core/base/log.h"

namespace mycel {
namespace {

constexpr int64_t kMemoryGBps = 8;  // of one rank, as host-N has it
constexpr double kMemoryLatencyUs = 0.5;
constexpr double kNetworkLatencyUs = 20;

}  // namespace

StatusOr<Topology> FoundTopology(const Connection& connection) {
  const auto rank_count = static_cast<int64_t>(connection.server_of.size());
  const int32_t servers = 1 + *std::max_element(connection.server_of.begin(), connection.server_of.end());
  TopologyBuilder builder("found-" + std::to_string(servers) + "-servers-" + std::to_string(rank_count) + "-ranks",
                          "as the ranks found it when they connected");
  const NodeId network = builder.AddSwitch("network");
  std::vector<NodeId> memories;
  for (int32_t server = 0; server < servers; ++server) {
    const std::string name = "s" + std::to_string(server);
    memories.push_back(builder.AddSwitch(name + ".memory", name));
  }
  // Ranks by server and device.
  std::map<std::pair<int32_t, std::string>, std::vector<NodeId>> users;
  std::map<std::pair<int32_t, std::string>, int64_t> mbps;
  for (const Rank rank : Ids<Rank>(rank_count)) {
    const int32_t server = connection.server_of[rank.index()];
    const NodeId node = builder.AddRank("rank" + std::to_string(rank.value()), rank, "s" + std::to_string(server));
    builder.AddDuplex(node, memories[static_cast<size_t>(server)], Rational(kMemoryGBps), kMemoryLatencyUs,
                      LinkKind::kShm);
    for (const NetworkRail& rail : connection.rails_of[rank.index()]) {
      users[{server, rail.device}].push_back(node);
      mbps[{server, rail.device}] = rail.mbps;
    }
  }
  for (const auto& [device, nodes] : users) {
    const LinkKind kind = device.second.find(':') == std::string::npos ? LinkKind::kTcp : LinkKind::kRdma;
    const Rational bandwidth(mbps[device], 8000);
    if (nodes.size() == 1) {
      builder.AddDuplex(nodes.front(), network, bandwidth, kNetworkLatencyUs, kind);
      continue;
    }
    const std::string server = "s" + std::to_string(device.first);
    const NodeId shared = builder.AddSwitch(server + "." + device.second, server);
    for (const NodeId node : nodes) builder.AddDuplex(node, shared, Rational(kMemoryGBps), kMemoryLatencyUs, kind);
    builder.AddDuplex(shared, network, bandwidth, kNetworkLatencyUs, kind);
  }
  return std::move(builder).Build();
}

void WarnOfOtherServers(const Topology& topology, const Connection& connection) {
  for (const Rank rank : Ids<Rank>(topology.rank_count())) {
    const std::string& server = topology.node(topology.NodeOf(rank)).server;
    if (server.empty()) continue;
    for (const Rank other : Ids<Rank>(rank.value())) {
      if (connection.server_of[other.index()] == connection.server_of[rank.index()]) continue;
      if (topology.node(topology.NodeOf(other)).server != server) continue;
      MYCEL_LOG(kWarn) << "topology " << topology.name() << " has ranks " << other.value() << " and " << rank.value()
                       << " on one server (" << server
                       << "), but they share no memory here: plans are made for another machine; start the ranks in "
                          "the topology's order or name another one in MYCEL_TOPO";
      return;
    }
  }
}

}  // namespace mycel
