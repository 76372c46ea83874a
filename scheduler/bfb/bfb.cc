#include "scheduler/bfb/bfb.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "core/base/int128.h"
#include "core/plan/structure.h"
#include "scheduler/bfb/rank_graph.h"
#include "scheduler/bfb/share_trees.h"
#include "scheduler/route/route_book.h"

namespace mycel {
namespace bfb {
namespace {

/// Beyond, a contest would wait longer for the trees than they are likely to save.
constexpr int32_t kContestRanksMax = 256;
/// The variant whose shards are never cut: the fewest messages, for short ones.
constexpr std::string_view kWhole = "whole";

/// Whether a connected topology is a ring of equal links, in one direction or both.
bool IsRing(const Topology& topology) {
  if (topology.links().empty()) return false;
  const Rational& bandwidth = topology.links().front().bandwidth;
  const bool equal = std::all_of(topology.links().begin(), topology.links().end(),
                                 [&](const Link& link) { return link.bandwidth == bandwidth; });
  const size_t ways = topology.OutLinks(NodeId(0)).size();
  for (const NodeId node : Ids<NodeId>(topology.node_count())) {
    if (!equal || ways > 2 || topology.OutLinks(node).size() != ways || topology.InLinks(node).size() != ways)
      return false;
    for (const LinkId out : topology.OutLinks(node)) {
      if (ways == 2 && !topology.FindLink(topology.link(out).target, node).valid()) return false;
    }
  }
  return true;
}

/// Turns hops into edges; in a topology each hop has its route.
class EdgePainter {
 public:
  EdgePainter(const Topology& topology, Schedule* schedule) : book_(topology, &schedule->routes) {}

  Status Down(const ShareTree& tree, std::vector<TreeEdge>* edges) {
    edges->reserve(tree.hops.size());
    for (const ShareTree::Hop& hop : tree.hops) {
      MYCEL_ASSIGN_OR_RETURN(const TreeEdge edge, book_.Edge(Rank(hop.source), Rank(hop.target)));
      edges->push_back(edge);
    }
    return OkStatus();
  }

  /// A tree of the reversed topology, backwards: children first.
  Status Up(const ShareTree& tree, std::vector<TreeEdge>* edges) {
    edges->reserve(tree.hops.size());
    for (auto hop = tree.hops.rbegin(); hop != tree.hops.rend(); ++hop) {
      MYCEL_ASSIGN_OR_RETURN(const TreeEdge edge, book_.Edge(Rank(hop->target), Rank(hop->source)));
      edges->push_back(edge);
    }
    return OkStatus();
  }

 private:
  RouteBook book_;
};

StatusOr<ShareTrees> TreesOf(const RankGraph& graph, Cutting cutting, int64_t units_max) {
  MYCEL_ASSIGN_OR_RETURN(const std::vector<uint16_t> distances, DistancesOf(graph));
  return MakeShareTrees(graph, distances, cutting, units_max);
}

/// One direction only: a tree is a range of its root's block.
Status PaintOneWay(const ShareTrees& shares, bool up, EdgePainter* painter, Schedule* schedule) {
  schedule->units_per_block = shares.units;
  for (const ShareTree& share : shares.trees) {
    Tree tree;
    tree.root = Rank(share.root);
    tree.chunk = {share.root, share.begin, share.end};
    MYCEL_RETURN_IF_ERROR(up ? painter->Up(share, &tree.up) : painter->Down(share, &tree.down));
    schedule->trees.push_back(std::move(tree));
  }
  return OkStatus();
}

/// Every rank reduces its share of the vector and spreads it: up and down trees joined at the root, range by range.
Status PaintJoined(const ShareTrees& up, const ShareTrees& down, EdgePainter* painter, Schedule* schedule) {
  const int128 share = int128{up.units / std::gcd(up.units, down.units)} * down.units;
  if (share > kBlockUnitsMax / schedule->rank_count) {
    return InvalidArgument(
        "the bandwidths' fractions are too fine for a vector of at most 2^50 units; round them in the topology file");
  }
  const auto units = static_cast<int64_t>(share);
  schedule->units_per_block = units * schedule->rank_count;
  auto in = up.trees.begin();
  auto out = down.trees.begin();
  while (in != up.trees.end() && out != down.trees.end()) {
    const int64_t base = units * in->root;
    const int64_t begin = std::max(in->begin * (units / up.units), out->begin * (units / down.units));
    const int64_t in_end = in->end * (units / up.units), out_end = out->end * (units / down.units);
    const int64_t end = std::min(in_end, out_end);
    Tree tree;
    tree.root = Rank(in->root);
    tree.chunk = {0, base + begin, base + end};
    MYCEL_RETURN_IF_ERROR(painter->Up(*in, &tree.up));
    MYCEL_RETURN_IF_ERROR(painter->Down(*out, &tree.down));
    schedule->trees.push_back(std::move(tree));
    if (in_end == end) ++in;
    if (out_end == end) ++out;
  }
  return OkStatus();
}

class Bfb final : public Planner {
 public:
  std::string_view name() const override { return "bfb"; }
  std::string_view summary() const override {
    return "every shard floods along its shortest ways: fewest steps, each as short as it can be";
  }

  Status Serves(const Topology& topology, const PlanRequest& request) const override {
    switch (request.collective) {
      case Collective::kAllGather:
      case Collective::kReduceScatter:
      case Collective::kAllReduce:
        break;
      default:
        return Impossible("breadth-first schedules serve allgather, reduce_scatter and allreduce, not " +
                          std::string(NameOf(request.collective)));
    }
    if (!request.variant.empty() && request.variant != kWhole) {
      return InvalidArgument("planner bfb has no variant '" + request.variant + "'; leave it out, or use whole");
    }
    MYCEL_RETURN_IF_ERROR(CheckHops(topology.rank_count(), topology.rank_count()));
    return CheckConnected(topology);
  }

  Status Contends(const Topology& topology, const PlanRequest&) const override {
    const int64_t n = topology.rank_count();
    if (topology.node_count() > n) {
      return Impossible(
          "ranks meet through switches, which breadth-first trees share blindly; --planner bfb asks for it");
    }
    if (std::ssize(topology.links()) == n * (n - 1)) {
      return Impossible("all ranks are neighbours: its trees are planner direct's");
    }
    if (IsRing(topology)) return Impossible("the topology is a ring: its trees are planner ring's");
    if (n > kContestRanksMax) {
      return Impossible("a contest on more than " + std::to_string(kContestRanksMax) +
                        " ranks would wait too long for its trees; --planner bfb asks for it");
    }
    return OkStatus();
  }

  std::vector<std::string> VariantsFor(const Topology& topology, const PlanRequest&) const override {
    if (topology.rank_count() > kContestRanksMax) return {std::string()};
    return {std::string(), std::string(kWhole)};
  }

  StatusOr<Schedule> MakeSchedule(const Topology& topology, const PlanRequest& request) const override {
    MYCEL_RETURN_IF_ERROR(Serves(topology, request));
    Schedule schedule;
    schedule.collective = request.collective;
    schedule.rank_count = topology.rank_count();
    const bool whole = request.variant == kWhole || request.trees_per_root == 1;
    const Cutting cutting = whole ? Cutting::kWhole : Cutting::kExact;
    schedule.planner = whole ? "bfb/whole" : "bfb";
    MYCEL_ASSIGN_OR_RETURN(const RankGraph graph, RankGraphOf(topology));
    EdgePainter painter(topology, &schedule);
    const int64_t units_max = kBlockUnitsMax / schedule.rank_count;
    if (request.collective == Collective::kAllGather) {
      MYCEL_ASSIGN_OR_RETURN(const ShareTrees down, TreesOf(graph, cutting, units_max));
      MYCEL_RETURN_IF_ERROR(PaintOneWay(down, false, &painter, &schedule));
      return schedule;
    }
    MYCEL_ASSIGN_OR_RETURN(const ShareTrees up, TreesOf(Transposed(graph), cutting, units_max));
    if (request.collective == Collective::kReduceScatter) {
      MYCEL_RETURN_IF_ERROR(PaintOneWay(up, true, &painter, &schedule));
      return schedule;
    }
    MYCEL_ASSIGN_OR_RETURN(const ShareTrees down, TreesOf(graph, cutting, units_max));
    MYCEL_RETURN_IF_ERROR(PaintJoined(up, down, &painter, &schedule));
    return schedule;
  }
};

}  // namespace
}  // namespace bfb

const Planner& BfbPlanner() {
  static const bfb::Bfb planner;
  return planner;
}

}  // namespace mycel
