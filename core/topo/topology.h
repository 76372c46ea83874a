// Topology: an immutable digraph of ranks and switches whose links have exact rational capacities (GB/s) and latencies.
// Parallel links between the same two nodes are added up by the builder; a duplex link of a file becomes two links.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/ids.h"
#include "core/base/rational.h"
#include "core/base/status.h"

namespace mycel {

enum class NodeType : uint8_t { kRank, kSwitch };
enum class LinkKind : uint8_t { kNvlink, kXgmi, kPcie, kRdma, kTcp, kShm, kOther };

std::string_view NameOf(LinkKind kind);
StatusOr<LinkKind> ParseLinkKind(std::string_view name);

struct Node {
  std::string id;
  NodeType type = NodeType::kRank;
  Rank rank;             // ranks only
  std::string server;    // may be empty
  bool multicast = false;  // switches that can copy
  bool aggregate = false;  // switches that can reduce
};

/// One direction.
struct Link {
  NodeId source;
  NodeId target;
  Rational bandwidth;      // GB/s = bytes per ns, > 0
  double latency_us = 1;   // one way
  LinkKind kind = LinkKind::kOther;
};

using LinkId = Id<struct LinkTag>;

class Topology {
 public:
  const std::string& name() const { return name_; }
  const std::string& note() const { return note_; }
  int32_t rank_count() const { return static_cast<int32_t>(rank_nodes_.size()); }
  int32_t node_count() const { return static_cast<int32_t>(nodes_.size()); }
  const std::vector<Node>& nodes() const { return nodes_; }
  const std::vector<Link>& links() const { return links_; }
  const Node& node(NodeId id) const { return nodes_[id.index()]; }
  const Link& link(LinkId id) const { return links_[id.index()]; }
  NodeId NodeOf(Rank rank) const { return rank_nodes_[rank.index()]; }
  /// Invalid id when there is no such link.
  LinkId FindLink(NodeId source, NodeId target) const;
  const std::vector<LinkId>& OutLinks(NodeId node) const { return out_[node.index()]; }
  const std::vector<LinkId>& InLinks(NodeId node) const { return in_[node.index()]; }
  /// Fingerprint of nodes, links, capacities, latencies and kinds; names and notes do not count.
  uint64_t hash() const { return hash_; }

 private:
  friend class TopologyBuilder;
  std::string name_;
  std::string note_;
  std::vector<Node> nodes_;
  std::vector<Link> links_;  // sorted by (source, target), at most one per ordered pair
  std::vector<NodeId> rank_nodes_;
  std::vector<std::vector<LinkId>> out_;
  std::vector<std::vector<LinkId>> in_;
  uint64_t hash_ = 0;
};

/// Collects nodes and links, checks them, and makes the immutable topology.
class TopologyBuilder {
 public:
  explicit TopologyBuilder(std::string name, std::string note = "");
  NodeId AddRank(std::string id, Rank rank, std::string server = "");
  NodeId AddSwitch(std::string id, std::string server = "", bool multicast = false, bool aggregate = false);
  /// One direction; parallel links add up (latency: the smaller).
  void AddLink(NodeId source, NodeId target, Rational bandwidth, double latency_us = 1,
               LinkKind kind = LinkKind::kOther);
  /// Both directions.
  void AddDuplex(NodeId a, NodeId b, Rational bandwidth, double latency_us = 1, LinkKind kind = LinkKind::kOther);
  /// InvalidArgument: duplicate id, rank missing or twice, self link, non-positive bandwidth. Connectivity is checked by
  /// CheckConnected, since some collectives do not need it.
  StatusOr<Topology> Build() &&;

 private:
  Topology topology_;
  std::vector<Link> raw_links_;
};

/// OK when every rank can reach every other; else Impossible, naming the ranks that are cut off.
Status CheckConnected(const Topology& topology);

/// Shortest routes (fewest hops, then widest, then lowest node ids) between ranks through switches only:
/// the default route of a logical edge. Empty when there is none.
std::vector<NodeId> ShortestRoute(const Topology& topology, Rank source, Rank target);

}  // namespace mycel
