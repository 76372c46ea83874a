#include "bindings/c/found_topology.h"

#include <algorithm>
#include <iomanip>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <utility>

#include "core/base/log.h"
#include "core/topo/servers.h"

namespace mycel {
namespace {

std::string Text(double value) {
  std::ostringstream out;
  out << std::setprecision(4) << value;
  return out.str();
}

std::string Listed(const std::set<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

/// The network devices of a server that its ranks use.
struct ServerDevices {
  std::map<std::string, int64_t> mbps;
  bool all_told = true;  // no speed was assumed or made up
  bool rdma = false;
};

std::map<int32_t, ServerDevices> DevicesOf(const Connection& connection) {
  std::map<int32_t, ServerDevices> devices;
  for (size_t rank = 0; rank < connection.rails_of.size(); ++rank) {
    ServerDevices& of_server = devices[connection.server_of[rank]];
    for (const NetworkRail& rail : connection.rails_of[rank]) {
      of_server.mbps[rail.device] = rail.mbps;
      of_server.all_told = of_server.all_told && rail.source == SpeedSource::kTold;
      of_server.rdma = of_server.rdma || rail.device.find(':') != std::string::npos;
    }
  }
  return devices;
}

/// As RanksByServer(topology), of the job as it is.
std::vector<std::vector<Rank>> RanksByServer(const Connection& connection) {
  std::map<int32_t, std::vector<Rank>> by_number;
  for (size_t rank = 0; rank < connection.server_of.size(); ++rank)
    by_number[connection.server_of[rank]].push_back(Rank(static_cast<int64_t>(rank)));
  std::vector<std::vector<Rank>> ranks;
  for (auto& [number, of_server] : by_number) ranks.push_back(std::move(of_server));
  return ranks;
}

/// "2 with 4, 1 with 3 ranks".
std::string SizesText(const std::vector<std::vector<Rank>>& servers) {
  std::map<size_t, int32_t, std::greater<>> by_size;
  for (const std::vector<Rank>& ranks : servers) ++by_size[ranks.size()];
  std::string text;
  for (const auto& [size, count] : by_size)
    text += (text.empty() ? "" : ", ") + std::to_string(count) + " with " + std::to_string(size);
  return text + (by_size.rbegin()->first == 1 ? " rank" : " ranks");
}

std::vector<size_t> Sizes(const std::vector<std::vector<Rank>>& servers) {
  std::vector<size_t> sizes;
  for (const std::vector<Rank>& ranks : servers) sizes.push_back(ranks.size());
  std::sort(sizes.begin(), sizes.end());
  return sizes;
}

/// Two ranks that are together in the one and apart in the other.
std::optional<std::string> SplitPair(const Topology& topology, const Connection& connection) {
  for (const Rank rank : Ids<Rank>(topology.rank_count())) {
    const std::string& server = topology.node(topology.NodeOf(rank)).server;
    if (server.empty()) continue;
    for (const Rank other : Ids<Rank>(rank.value())) {
      const std::string& other_server = topology.node(topology.NodeOf(other)).server;
      if (other_server.empty()) continue;
      const bool together = connection.server_of[other.index()] == connection.server_of[rank.index()];
      if (together == (other_server == server)) continue;
      const std::string pair = "ranks " + std::to_string(other.value()) + " and " + std::to_string(rank.value());
      if (together) return pair + " on two servers (" + other_server + ", " + server + "), but they share memory here";
      return pair + " on one server (" + server + "), but they share no memory here";
    }
  }
  return std::nullopt;
}

/// What leaves the nodes of a server in the topology.
struct WayOut {
  Rational gbps = Rational(0);
  int32_t links = 0;
  bool rdma = false;
};

WayOut WayOutOf(const Topology& topology, const std::string& server) {
  WayOut way;
  for (const Link& link : topology.links()) {
    if (topology.node(link.source).server != server || topology.node(link.target).server == server) continue;
    way.gbps += link.bandwidth;
    ++way.links;
    way.rdma = way.rdma || link.kind == LinkKind::kRdma;
  }
  return way;
}

void CompareNetworks(const Topology& topology, const Connection& connection, std::vector<std::string>* found) {
  const std::map<int32_t, ServerDevices> devices_of = DevicesOf(connection);
  bool told_rate = false;
  bool told_kind = false;
  for (const std::vector<Rank>& ranks : RanksByServer(connection)) {
    const std::string& server = topology.node(topology.NodeOf(ranks.front())).server;
    const auto devices = devices_of.find(connection.server_of[ranks.front().index()]);
    if (server.empty() || devices == devices_of.end() || devices->second.mbps.empty()) continue;
    const WayOut way = WayOutOf(topology, server);
    if (way.links == 0) continue;
    std::set<std::string> names;
    int64_t mbps = 0;
    for (const auto& [name, of_device] : devices->second.mbps) names.insert(name), mbps += of_device;
    const double here = static_cast<double>(mbps) / 8000;
    const double there = way.gbps.ToDouble();
    if (!told_rate && devices->second.all_told && (there > here * 1.01 || there < here / 2)) {
      told_rate = true;
      found->push_back("joins server " + server + " to the others at " + Text(there) + " GB/s (" +
                       std::to_string(way.links) + (way.links == 1 ? " link" : " links") + "), but here it has " +
                       Text(here) + " GB/s (" + std::to_string(names.size()) +
                       (names.size() == 1 ? " network device: " : " network devices: ") + Listed(names) + ")");
    }
    if (!told_kind && way.rdma && !devices->second.rdma) {
      told_kind = true;
      found->push_back("joins server " + server + " to the others by RDMA, but here it uses TCP (" + Listed(names) +
                       ")");
    }
  }
}

}  // namespace

StatusOr<Topology> FoundTopology(const Connection& connection) {
  const int32_t servers = 1 + *std::max_element(connection.server_of.begin(), connection.server_of.end());
  std::set<std::string> unsure;
  for (const RankRails& rails : connection.rails_of) {
    for (const NetworkRail& rail : rails) {
      if (rail.source != SpeedSource::kTold) unsure.insert(rail.device);
    }
  }
  std::string note = "as the ranks found it when they connected";
  if (!unsure.empty()) {
    note += "; no true speed is told of " + Listed(unsure);
    if (LogRank() <= 0) {
      MYCEL_LOG(kInfo) << "no true speed is told of " << Listed(unsure)
                       << "; plans are made for the numbers there are (MYCEL_TOPO with a file of mycel topo calibrate "
                          "has better ones)";
    }
  }
  return HostTopology(
      "found-" + std::to_string(servers) + "-servers-" + std::to_string(connection.server_of.size()) + "-ranks", note,
      connection.server_of, connection.rails_of);
}

std::vector<std::string> Disagreements(const Topology& topology, const Connection& connection) {
  std::vector<std::string> found;
  const bool names_servers = std::any_of(topology.nodes().begin(), topology.nodes().end(), [](const Node& node) {
    return node.type == NodeType::kRank && !node.server.empty();
  });
  if (!names_servers) return found;
  const std::vector<std::vector<Rank>> there = RanksByServer(topology);
  const std::vector<std::vector<Rank>> here = RanksByServer(connection);
  if (there.size() != here.size()) {
    found.push_back("has " + std::to_string(there.size()) + (there.size() == 1 ? " server" : " servers") + " (" +
                    SizesText(there) + "), but the job runs on " + std::to_string(here.size()) + " (" +
                    SizesText(here) + ")");
  } else if (Sizes(there) != Sizes(here)) {
    found.push_back("has servers of other sizes (" + SizesText(there) + ") than the job runs on (" + SizesText(here) +
                    ")");
  }
  if (const auto pair = SplitPair(topology, connection)) found.push_back("has " + *pair);
  if (found.empty() && here.size() > 1) CompareNetworks(topology, connection, &found);
  return found;
}

void TellDisagreements(const Topology& topology, const Connection& connection) {
  const bool on_one_server = RanksByServer(connection).size() == 1;
  for (const std::string& disagreement : Disagreements(topology, connection)) {
    const std::string text = "topology " + topology.name() + " " + disagreement;
    if (on_one_server) {
      MYCEL_LOG(kInfo) << text << ": plans are made for another machine";
    } else {
      MYCEL_LOG(kWarn) << text
                       << ": plans are made for another machine; start the ranks in the topology's order, or name "
                          "another one in MYCEL_TOPO (mycel topo discover --servers writes this one)";
    }
  }
}

}  // namespace mycel
