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

void AddDevice(const Device& device, const std::vector<NodeId>& users, int64_t mbps, NodeId network,
               TopologyBuilder* builder) {
  const LinkKind kind = device.second.find(':') == std::string::npos ? LinkKind::kTcp : LinkKind::kRdma;
  const Rational bandwidth(mbps, 8000);
  if (users.size() == 1) {
    builder->AddDuplex(users.front(), network, bandwidth, kNetworkLatencyUs, kind);
    return;
  }
  const std::string server = "s" + std::to_string(device.first);
  const NodeId shared = builder->AddSwitch(server + "." + PlainName(device.second), server);
  for (const NodeId node : users) builder->AddDuplex(node, shared, Rational(kMemoryGBps), kMemoryLatencyUs, kind);
  builder->AddDuplex(shared, network, bandwidth, kNetworkLatencyUs, kind);
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
  TopologyBuilder builder(name, note);
  NodeId network;
  if (servers > 1) network = builder.AddSwitch("network");
  std::vector<NodeId> memories;
  for (int32_t server = 0; server < servers; ++server) {
    const std::string of_server = "s" + std::to_string(server);
    memories.push_back(builder.AddSwitch(of_server + ".memory", of_server));
  }
  std::map<Device, std::vector<NodeId>> users;
  std::map<Device, int64_t> mbps;
  for (size_t rank = 0; rank < server_of.size(); ++rank) {
    const int32_t server = server_of[rank];
    const NodeId node =
        builder.AddRank("rank" + std::to_string(rank), Rank(static_cast<int64_t>(rank)), "s" + std::to_string(server));
    builder.AddDuplex(node, memories[static_cast<size_t>(server)], Rational(kMemoryGBps), kMemoryLatencyUs,
                      LinkKind::kShm);
    if (servers == 1) continue;
    for (const NetworkRail& rail : rails_of[rank]) {
      users[{server, rail.device}].push_back(node);
      mbps[{server, rail.device}] = rail.mbps;
    }
  }
  for (const auto& [device, nodes] : users) AddDevice(device, nodes, mbps[device], network, &builder);
  return std::move(builder).Build();
}

}  // namespace mycel
