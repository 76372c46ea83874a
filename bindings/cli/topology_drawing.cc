#include "bindings/cli/topology_drawing.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <tuple>
#include <vector>

#include "bindings/cli/terminal.h"

namespace mycel::cli {
namespace {

std::string BandwidthText(const Rational& bandwidth) {
  // Fractions with a finite decimal expansion read better as decimals.
  int64_t rest = bandwidth.denominator();
  for (const int64_t prime : {2, 5}) {
    while (rest % prime == 0) rest /= prime;
  }
  return rest == 1 ? Decimal(bandwidth.ToDouble(), 12) : bandwidth.ToString();
}

/// Whether the same link exists in the other direction.
bool IsDuplex(const Topology& topology, const Link& link) {
  const LinkId back = topology.FindLink(link.target, link.source);
  return back.valid() && topology.link(back).bandwidth == link.bandwidth;
}

/// "300 nvsw0   25 ib0": the links out of `node`, neighbours of equal bandwidth together, the widest first; "->" before
/// neighbours that do not answer with the same bandwidth.
std::string NeighboursText(const Topology& topology, NodeId node) {
  std::map<std::pair<Rational, bool>, std::vector<std::string>> groups;
  for (const LinkId id : topology.OutLinks(node)) {
    const Link& link = topology.link(id);
    groups[{link.bandwidth, IsDuplex(topology, link)}].push_back(topology.node(link.target).id);
  }
  std::string text;
  for (auto group = groups.rbegin(); group != groups.rend(); ++group) {
    const auto& [bandwidth, duplex] = group->first;
    text += (text.empty() ? "" : "   ") + BandwidthText(bandwidth) + (duplex ? " " : " -> ") + JoinNames(group->second);
  }
  return text.empty() ? "no links out" : text;
}

std::string RoleText(const Node& node) {
  if (node.type == NodeType::kRank) return "rank " + std::to_string(node.rank.value());
  return std::string("switch") + (node.multicast ? ", copies" : "") + (node.aggregate ? ", reduces" : "");
}

struct Server {
  std::string name;  // empty: the nodes without a server
  std::vector<NodeId> nodes;
};

/// In order of first appearance; the nodes without a server come last.
std::vector<Server> ServersOf(const Topology& topology) {
  std::vector<Server> servers;
  std::map<std::string, size_t> known;
  Server loose;
  for (const NodeId id : Ids<NodeId>(topology.node_count())) {
    const std::string& name = topology.node(id).server;
    if (name.empty()) {
      loose.nodes.push_back(id);
      continue;
    }
    const auto [at, added] = known.emplace(name, servers.size());
    if (added) servers.push_back({name, {}});
    servers[at->second].nodes.push_back(id);
  }
  if (!loose.nodes.empty()) servers.push_back(std::move(loose));
  return servers;
}

std::string DrawServer(const Topology& topology, const Server& server, bool only_one) {
  Table table({"", "", ""}, "  ");
  int64_t ranks = 0;
  for (const NodeId id : server.nodes) {
    const Node& node = topology.node(id);
    ranks += node.type == NodeType::kRank ? 1 : 0;
    table.Add({Cell(node.id, Tone::kStrong), Cell(RoleText(node), Tone::kFaint), NeighboursText(topology, id)});
  }
  const int64_t switches = static_cast<int64_t>(server.nodes.size()) - ranks;
  std::string counts = ranks > 0 ? Counted(ranks, "rank") : "";
  if (switches > 0) counts += (counts.empty() ? "" : ", ") + Counted(switches, "switch");
  const std::string loose = only_one ? "nodes" : "outside servers";
  const std::string title = server.name.empty() ? loose : "server " + Printable(server.name);
  return "\n" + Painted(Tone::kStrong, title) + "  " + counts + "\n" + table.ToText();
}

std::string DrawLinkKinds(const Topology& topology) {
  struct Share {
    int64_t links = 0;
    double total = 0;
  };
  std::map<std::tuple<std::string, Rational, double>, Share> kinds;
  for (const Link& link : topology.links()) {
    Share& share = kinds[{std::string(NameOf(link.kind)), link.bandwidth, link.latency_us}];
    share.links += 1;
    share.total += link.bandwidth.ToDouble();
  }
  Table table({"kind", ">GB/s each way", ">latency us", ">directed links", ">GB/s in all"});
  for (const auto& [kind, share] : kinds) {
    const auto& [name, bandwidth, latency] = kind;
    table.Add({name, BandwidthText(bandwidth), Decimal(latency), std::to_string(share.links), Decimal(share.total)});
  }
  return table.ToText();
}

}  // namespace

std::string SummaryOf(const Topology& topology) {
  const std::vector<Server> servers = ServersOf(topology);
  const auto named = std::count_if(servers.begin(), servers.end(), [](const Server& s) { return !s.name.empty(); });
  const int32_t switches = topology.node_count() - topology.rank_count();
  std::string text = Counted(topology.rank_count(), "rank");
  if (named > 0) text += ", " + Counted(named, "server");
  if (switches > 0) text += ", " + Counted(switches, "switch");
  return text + ", " + Counted(static_cast<int64_t>(topology.links().size()), "directed link");
}

std::string DrawTopology(const Topology& topology) {
  char hash[20];
  std::snprintf(hash, sizeof hash, "%016llx", static_cast<unsigned long long>(topology.hash()));
  std::string text = Painted(Tone::kStrong, Printable(topology.name())) + "  " + SummaryOf(topology) + "  " +
                     Painted(Tone::kFaint, std::string("hash ") + hash) + "\n";
  if (!topology.note().empty()) text += Printable(topology.note()) + "\n";
  const std::vector<Server> servers = ServersOf(topology);
  for (const Server& server : servers) text += DrawServer(topology, server, servers.size() == 1);
  text += "\n" + Painted(Tone::kStrong, "links") +
          "  bandwidths in GB/s; \"->\" marks one that is not the same both ways\n";
  return text + DrawLinkKinds(topology);
}

}  // namespace mycel::cli
