#include "core/topo/topology.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <unordered_set>
#include <utility>

#include "core/base/check.h"

namespace mycel {
namespace {

struct KindName {
  LinkKind kind;
  std::string_view name;
};
constexpr KindName kKindNames[] = {
    {LinkKind::kNvlink, "nvlink"}, {LinkKind::kXgmi, "xgmi"}, {LinkKind::kPcie, "pcie"},   {LinkKind::kRdma, "rdma"},
    {LinkKind::kTcp, "tcp"},       {LinkKind::kShm, "shm"},   {LinkKind::kOther, "other"},
};

// Order-dependent mixing of 64-bit words (the finaliser of SplitMix64 between them).
class Fingerprint {
 public:
  void Add(uint64_t word) {
    state_ = (state_ ^ word) * 0x9e3779b97f4a7c15U;
    state_ = (state_ ^ (state_ >> 30)) * 0xbf58476d1ce4e5b9U;
    state_ = (state_ ^ (state_ >> 27)) * 0x94d049bb133111ebU;
    state_ ^= state_ >> 31;
  }
  void Add(int64_t word) { Add(static_cast<uint64_t>(word)); }
  uint64_t value() const { return state_; }

 private:
  uint64_t state_ = 0x6d7963656c696e6bU;
};

uint64_t HashOf(const std::vector<Node>& nodes, const std::vector<Link>& links) {
  Fingerprint print;
  print.Add(std::ssize(nodes));
  std::map<std::string_view, int64_t> servers{{"", -1}};
  for (const Node& node : nodes) {
    print.Add(int64_t{node.rank.value()});
    print.Add(servers.emplace(node.server, std::ssize(servers)).first->second);
    print.Add((node.type == NodeType::kSwitch ? 1 : 0) + (node.multicast ? 2 : 0) + (node.aggregate ? int64_t{4} : 0));
  }
  for (const Link& link : links) {
    print.Add(int64_t{link.source.value()});
    print.Add(int64_t{link.target.value()});
    print.Add(link.bandwidth.numerator());
    print.Add(link.bandwidth.denominator());
    print.Add(std::bit_cast<uint64_t>(link.latency_us));
    print.Add(static_cast<int64_t>(link.kind));
  }
  return print.value();
}

// Nodes that `start` reaches (or, backwards, that reach it).
std::vector<bool> Reachable(const Topology& topology, NodeId start, bool backwards) {
  std::vector<bool> seen(topology.nodes().size());
  std::vector<NodeId> stack{start};
  seen[start.index()] = true;
  while (!stack.empty()) {
    const NodeId node = stack.back();
    stack.pop_back();
    for (const LinkId id : backwards ? topology.InLinks(node) : topology.OutLinks(node)) {
      const NodeId next = backwards ? topology.link(id).source : topology.link(id).target;
      if (seen[next.index()]) continue;
      seen[next.index()] = true;
      stack.push_back(next);
    }
  }
  return seen;
}

// "rank 3 (gpu3), rank 4 (gpu4) and 6 more": the ranks not marked in `seen`; empty when all are.
std::string UnseenRanks(const Topology& topology, const std::vector<bool>& seen) {
  constexpr int kNamed = 8;
  std::string names;
  int count = 0;
  for (const Rank rank : Ids<Rank>(topology.rank_count())) {
    const NodeId node = topology.NodeOf(rank);
    if (seen[node.index()]) continue;
    if (++count > kNamed) continue;
    names += (count == 1 ? "rank " : ", rank ") + std::to_string(rank.value()) + " (" + topology.node(node).id + ")";
  }
  if (count > kNamed) names += " and " + std::to_string(count - kNamed) + " more";
  return names;
}

}  // namespace

std::string_view NameOf(LinkKind kind) {
  for (const KindName& entry : kKindNames) {
    if (entry.kind == kind) return entry.name;
  }
  CheckFailed(__FILE__, __LINE__, "link kind", std::to_string(static_cast<int>(kind)));
}

StatusOr<LinkKind> ParseLinkKind(std::string_view name) {
  std::string known;
  for (const KindName& entry : kKindNames) {
    if (entry.name == name) return entry.kind;
    known += (known.empty() ? "" : " ") + std::string(entry.name);
  }
  return InvalidArgument("unknown link kind '" + std::string(name.substr(0, 40)) + "'; use one of " + known);
}

Status CheckNodeId(std::string_view id) {
  if (id.empty()) return InvalidArgument("a name must not be empty");
  if (id.size() > kNodeIdBytesMax) {
    return InvalidArgument("a name has at most " + std::to_string(kNodeIdBytesMax) + " bytes");
  }
  for (const char c : id) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) return InvalidArgument("a name has no control characters");
  }
  return OkStatus();
}

LinkId Topology::FindLink(NodeId source, NodeId target) const {
  const std::vector<LinkId>& out = OutLinks(source);
  const auto found = std::lower_bound(out.begin(), out.end(), target,
                                      [this](LinkId id, NodeId wanted) { return link(id).target < wanted; });
  return found != out.end() && link(*found).target == target ? *found : LinkId();
}

TopologyBuilder::TopologyBuilder(std::string name, std::string note) {
  topology_.name_ = std::move(name);
  topology_.note_ = std::move(note);
}

NodeId TopologyBuilder::AddRank(std::string id, Rank rank, std::string server) {
  topology_.nodes_.push_back({std::move(id), NodeType::kRank, rank, std::move(server), false, false});
  return NodeId(topology_.node_count() - 1);
}

NodeId TopologyBuilder::AddSwitch(std::string id, std::string server, bool multicast, bool aggregate) {
  topology_.nodes_.push_back({std::move(id), NodeType::kSwitch, Rank(), std::move(server), multicast, aggregate});
  return NodeId(topology_.node_count() - 1);
}

void TopologyBuilder::AddLink(NodeId source, NodeId target, Rational bandwidth, double latency_us, LinkKind kind) {
  MYCEL_CHECK(source.valid() && source.value() < topology_.node_count());
  MYCEL_CHECK(target.valid() && target.value() < topology_.node_count());
  raw_links_.push_back({source, target, bandwidth, latency_us, kind});
}

void TopologyBuilder::AddDuplex(NodeId a, NodeId b, Rational bandwidth, double latency_us, LinkKind kind) {
  AddLink(a, b, bandwidth, latency_us, kind);
  AddLink(b, a, bandwidth, latency_us, kind);
}

std::string TopologyBuilder::Describe(const Link& link) const {
  return "link " + topology_.node(link.source).id + " -> " + topology_.node(link.target).id;
}

Status TopologyBuilder::CheckNodes() {
  const std::vector<Node>& nodes = topology_.nodes_;
  if (std::ssize(nodes) > kNodeCountMax) {
    return InvalidArgument("a topology of " + std::to_string(nodes.size()) + " nodes; at most " +
                           std::to_string(kNodeCountMax) + " are allowed");
  }
  std::unordered_set<std::string_view> ids;
  const auto rank_count =
      std::count_if(nodes.begin(), nodes.end(), [](const Node& node) { return node.type == NodeType::kRank; });
  if (rank_count == 0) return InvalidArgument("a topology without ranks; add at least one");
  topology_.rank_nodes_.assign(static_cast<size_t>(rank_count), NodeId());
  for (size_t i = 0; i < nodes.size(); ++i) {
    const Node& node = nodes[i];
    for (const std::string* name : {&node.id, &node.server}) {
      const Status named = name == &node.server && name->empty() ? OkStatus() : CheckNodeId(*name);
      if (!named.ok()) return InvalidArgument("node " + std::to_string(i) + ": " + StatusMessage(named));
    }
    if (!ids.insert(node.id).second) return InvalidArgument("two nodes have the id '" + node.id + "'; rename one");
    if (node.type != NodeType::kRank) continue;
    if (!node.rank.valid() || node.rank.value() >= rank_count) {
      return InvalidArgument("node " + node.id + " has rank " + std::to_string(node.rank.value()) + ", but " +
                             std::to_string(rank_count) + " ranks are numbered 0.." + std::to_string(rank_count - 1));
    }
    NodeId& place = topology_.rank_nodes_[node.rank.index()];
    if (place.valid()) {
      return InvalidArgument("nodes " + nodes[place.index()].id + " and " + node.id + " both have rank " +
                             std::to_string(node.rank.value()) + "; number the ranks 0.." +
                             std::to_string(rank_count - 1) + ", each once");
    }
    place = NodeId(static_cast<int64_t>(i));
  }
  return OkStatus();  // as many ranks as places and none twice: none is missing
}

Status TopologyBuilder::MergeLinks() {
  // Stable, so that equal inputs merge in the same order everywhere.
  std::stable_sort(raw_links_.begin(), raw_links_.end(), [](const Link& a, const Link& b) {
    return std::pair(a.source, a.target) < std::pair(b.source, b.target);
  });
  std::vector<Link>& links = topology_.links_;
  for (const Link& link : raw_links_) {
    if (link.source == link.target) return InvalidArgument(Describe(link) + " leads to itself; remove it");
    if (link.bandwidth <= Rational(0)) {
      return InvalidArgument(Describe(link) + " has bandwidth " + link.bandwidth.ToString() +
                             "; give a positive number of GB/s");
    }
    if (!std::isfinite(link.latency_us) || link.latency_us < 0) {
      return InvalidArgument(Describe(link) + " has a latency of " + std::to_string(link.latency_us) +
                             " us; give a finite number, 0 or more");
    }
    if (links.empty() || links.back().source != link.source || links.back().target != link.target) {
      links.push_back(link);
      continue;
    }
    Link& merged = links.back();
    const auto sum = Rational::TryAdd(merged.bandwidth, link.bandwidth);
    if (!sum.ok()) {
      return InvalidArgument("the bandwidths of parallel links do not add up in 64 bits: " + Describe(link) +
                             "; use rounder numbers");
    }
    merged.bandwidth = *sum;
    merged.latency_us = std::min(merged.latency_us, link.latency_us);
    if (merged.kind != link.kind) merged.kind = LinkKind::kOther;
  }
  raw_links_.clear();
  if (std::ssize(links) > kLinkCountMax) {
    return InvalidArgument("a topology of " + std::to_string(links.size()) + " directed links; at most " +
                           std::to_string(kLinkCountMax) + " are allowed");
  }
  for (Link& link : links) link.latency_us += 0.0;  // -0 becomes 0, so that equal topologies have equal hashes
  return OkStatus();
}

void TopologyBuilder::IndexLinks() {
  topology_.out_.assign(topology_.nodes_.size(), {});
  topology_.in_.assign(topology_.nodes_.size(), {});
  for (size_t i = 0; i < topology_.links_.size(); ++i) {
    const Link& link = topology_.links_[i];
    topology_.out_[link.source.index()].push_back(LinkId(static_cast<int64_t>(i)));
    topology_.in_[link.target.index()].push_back(LinkId(static_cast<int64_t>(i)));
  }
}

StatusOr<Topology> TopologyBuilder::Build() && {
  MYCEL_RETURN_IF_ERROR(CheckNodes());
  MYCEL_RETURN_IF_ERROR(MergeLinks());
  IndexLinks();
  topology_.hash_ = HashOf(topology_.nodes_, topology_.links_);
  return std::move(topology_);
}

Status CheckConnected(const Topology& topology) {
  const NodeId start = topology.NodeOf(Rank(0));
  const std::string unreached = UnseenRanks(topology, Reachable(topology, start, false));
  if (!unreached.empty()) {
    return Impossible("topology " + topology.name() + " is not connected: nothing leads from rank 0 (" +
                      topology.node(start).id + ") to " + unreached + "; add a link into them");
  }
  const std::string unreaching = UnseenRanks(topology, Reachable(topology, start, true));
  if (!unreaching.empty()) {
    return Impossible("topology " + topology.name() + " is not connected: nothing leads from " + unreaching +
                      " to rank 0 (" + topology.node(start).id + "); add a link out of them");
  }
  return OkStatus();
}

Topology Reversed(const Topology& topology) {
  TopologyBuilder builder(topology.name(), topology.note());
  for (const Node& node : topology.nodes()) {
    if (node.type == NodeType::kRank) {
      builder.AddRank(node.id, node.rank, node.server);
    } else {
      builder.AddSwitch(node.id, node.server, node.aggregate, node.multicast);
    }
  }
  for (const Link& link : topology.links()) {
    builder.AddLink(link.target, link.source, link.bandwidth, link.latency_us, link.kind);
  }
  auto reversed = std::move(builder).Build();
  MYCEL_CHECK(reversed.ok());  // the invariants of a topology do not depend on the direction of its links
  return *std::move(reversed);
}

}  // namespace mycel
