#include "transport/discover/host_topology.h"

#include <algorithm>
#include <map>
#include <utility>

namespace mycel {
namespace {

constexpr int64_t kMemoryGBps = 8;  // of one rank, as host-N has it
constexpr double kMemoryLatencyUs = 0.5;
constexpr double kNetworkLatencyUs = 20;

using Device = std::pair<int32_t, std::string>;  // server, name

struct Users {
  std::vector<NodeId> nodes;
  bool only_rail = true;  // of each of them
  NetworkRail rail;
};

void AddDevice(const Device& device, const Users& users, NodeId network, TopologyBuilder* builder) {
  const LinkKind kind = device.second.find(':') == std::string::npos ? LinkKind::kTcp : LinkKind::kRdma;
  const Rational bandwidth(users.rail.mbps, 8000);
  if (users.nodes.size() == 1 && users.only_rail) {
    builder->AddDuplex(users.nodes.front(), network, bandwidth, kNetworkLatencyUs, kind);
    return;
  }
  const std::string server = "s" + std::to_string(device.first);
  const NodeId own = builder->AddSwitch(server + "." + PlainName(device.second), server);
  for (const NodeId node : users.nodes) builder->AddDuplex(node, own, Rational(kMemoryGBps), kMemoryLatencyUs, kind);
  builder->AddDuplex(own, network, bandwidth, kNetworkLatencyUs, kind);
}

/// `apart`: each network is a switch of its own.
StatusOr<Topology> Build(TopologyBuilder builder, const std::vector<int32_t>& server_of,
                         const std::vector<RankRails>& rails_of, int32_t servers, bool apart) {
  std::map<std::string, NodeId> networks;
  const auto network_of = [&](const NetworkRail& rail) {
    const auto [at, is_new] = networks.try_emplace(apart ? rail.network : "");
    if (is_new) {
      at->second = builder.AddSwitch(networks.size() == 1 ? "network" : "network" + std::to_string(networks.size()));
    }
    return at->second;
  };
  if (servers > 1) {
    for (const RankRails& rails : rails_of)
      for (const NetworkRail& rail : rails) network_of(rail);
  }
  std::vector<NodeId> memories;
  for (int32_t server = 0; server < servers; ++server) {
    const std::string of_server = "s" + std::to_string(server);
    memories.push_back(builder.AddSwitch(of_server + ".memory", of_server));
  }
  std::map<Device, Users> users;
  for (size_t rank = 0; rank < server_of.size(); ++rank) {
    const int32_t server = server_of[rank];
    const NodeId node =
        builder.AddRank("rank" + std::to_string(rank), Rank(static_cast<int64_t>(rank)), "s" + std::to_string(server));
    builder.AddDuplex(node, memories[static_cast<size_t>(server)], Rational(kMemoryGBps), kMemoryLatencyUs,
                      LinkKind::kShm);
    if (servers == 1) continue;
    for (const NetworkRail& rail : rails_of[rank]) {
      Users& of_device = users[{server, rail.device}];
      of_device.nodes.push_back(node);
      of_device.only_rail = of_device.only_rail && rails_of[rank].size() == 1;
      of_device.rail = rail;
    }
  }
  for (const auto& [device, of_device] : users) AddDevice(device, of_device, network_of(of_device.rail), &builder);
  return std::move(builder).Build();
}

}  // namespace

StatusOr<Topology> HostTopology(const std::string& name, const std::string& note, const std::vector<int32_t>& server_of,
                                const std::vector<RankRails>& rails_of) {
  if (server_of.empty()) return InvalidArgument("a topology needs a rank");
  const int32_t servers = 1 + *std::max_element(server_of.begin(), server_of.end());
  if (servers > 1 && rails_of.size() != server_of.size()) {
    return InvalidArgument(std::to_string(server_of.size()) + " ranks on " + std::to_string(servers) +
                           " servers, but network devices of " + std::to_string(rails_of.size()));
  }
  const TopologyBuilder named(name, note);
  MYCEL_ASSIGN_OR_RETURN(Topology apart, Build(named, server_of, rails_of, servers, true));
  if (CheckConnected(apart).ok()) return apart;
  return Build(named, server_of, rails_of, servers, false);
}

}  // namespace mycel
