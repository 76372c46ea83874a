// Topology: an immutable digraph of ranks and switches whose links have exact rational capacities (GB/s) and latencies.
// Parallel links between the same two nodes are added up by the builder; a duplex link of a file becomes two links.
//
// Once built a topology never changes and may be shared by threads. Invariants:
//   1. Node ids are unique and not empty; ranks are 0..rank_count-1, each once; there is at least one.
//   2. Links are sorted by (source, target), at most one per ordered pair, none from a node to itself.
//   3. Bandwidths are positive, latencies finite and not negative.
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
  Rank rank;               // ranks only
  std::string server;      // may be empty
  bool multicast = false;  // switches that can copy
  bool aggregate = false;  // switches that can reduce

  friend bool operator==(const Node&, const Node&) = default;
};

/// One direction.
struct Link {
  NodeId source;
  NodeId target;
  Rational bandwidth;     // GB/s = bytes per ns, > 0
  double latency_us = 1;  // one way
  LinkKind kind = LinkKind::kOther;

  friend bool operator==(const Link&, const Link&) = default;
};

/// What an id must be: 1..128 bytes without control characters, so that it can stand in messages and files.
inline constexpr size_t kNodeIdBytesMax = 128;
Status CheckNodeId(std::string_view id);

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
  /// By ascending target.
  const std::vector<LinkId>& OutLinks(NodeId node) const { return out_[node.index()]; }
  /// By ascending source.
  const std::vector<LinkId>& InLinks(NodeId node) const { return in_[node.index()]; }
  /// Fingerprint of nodes, links, capacities, latencies and kinds; names and notes do not count (of the servers it
  /// counts which nodes share one). The same on every machine.
  uint64_t hash() const { return hash_; }

  friend bool operator==(const Topology&, const Topology&) = default;

 private:
  friend class TopologyBuilder;
  std::string name_;
  std::string note_;
  std::vector<Node> nodes_;
  std::vector<Link> links_;
  std::vector<NodeId> rank_nodes_;
  std::vector<std::vector<LinkId>> out_;
  std::vector<std::vector<LinkId>> in_;
  uint64_t hash_ = 0;
};

/// Collects nodes and links, checks them, and makes the immutable topology.
class TopologyBuilder {
 public:
  /// Beyond these a description is taken for a mistake; they bound memory.
  static constexpr int32_t kNodeCountMax = 1 << 16;
  static constexpr int32_t kLinkCountMax = 1 << 21;  // directed

  explicit TopologyBuilder(std::string name, std::string note = "");
  NodeId AddRank(std::string id, Rank rank, std::string server = "");
  NodeId AddSwitch(std::string id, std::string server = "", bool multicast = false, bool aggregate = false);
  /// One direction. Parallel links add up; their latency is the smallest, their kind kOther unless all are alike.
  void AddLink(NodeId source, NodeId target, Rational bandwidth, double latency_us = 1,
               LinkKind kind = LinkKind::kOther);
  /// Both directions.
  void AddDuplex(NodeId a, NodeId b, Rational bandwidth, double latency_us = 1, LinkKind kind = LinkKind::kOther);
  /// InvalidArgument: duplicate id, rank missing or twice, self link, non-positive bandwidth, bad latency, too large.
  /// Connectivity is checked by CheckConnected, since some collectives do not need it.
  StatusOr<Topology> Build() &&;

 private:
  Status CheckNodes();
  Status MergeLinks();
  void IndexLinks();
  std::string Describe(const Link& link) const;

  Topology topology_;
  std::vector<Link> raw_links_;
};

/// OK when every rank can reach every other; else Impossible, naming the ranks that are cut off.
Status CheckConnected(const Topology& topology);

/// Every link turned around (and switches that copy become switches that reduce, and the reverse): what is allgather
/// there is reduce_scatter here. Nodes keep their ids and order.
Topology Reversed(const Topology& topology);

/// Shortest route (fewest hops, then widest, then lowest node ids) from rank to rank through switches only: the default
/// route of a logical edge, both ends included. Empty when there is none.
std::vector<NodeId> ShortestRoute(const Topology& topology, Rank source, Rank target);

/// ShortestRoute from every rank (index) to `target` at the price of one search.
std::vector<std::vector<NodeId>> ShortestRoutesTo(const Topology& topology, Rank target);

}  // namespace mycel
