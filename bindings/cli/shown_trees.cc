#include "bindings/cli/shown_trees.h"

#include <algorithm>
#include <map>
#include <utility>

namespace mycel::cli {
namespace {

/// A tree of the schedule, or several that are alike: who sends to whom, in order of data flow levels.
struct Hop {
  Rank source;
  Rank target;
  int32_t route = -1;
  int32_t level = 1;
  friend auto operator<=>(const Hop&, const Hop&) = default;
};

struct Collected {
  std::vector<Hop> hops;  // sorted
  int64_t units = 0;
};

/// Hops with levels counted from the first to move.
std::vector<Hop> HopsOf(const std::vector<TreeEdge>& edges, bool up, Rank root, int32_t rank_count) {
  std::vector<int32_t> depth(static_cast<size_t>(rank_count), 0);
  std::vector<Hop> hops;
  int32_t deepest = 0;
  const auto add = [&](const TreeEdge& edge) {
    const Rank parent = up ? edge.target : edge.source;
    const Rank child = up ? edge.source : edge.target;
    const int32_t level = (parent == root ? 0 : depth[parent.index()]) + 1;
    depth[child.index()] = level;
    deepest = std::max(deepest, level);
    hops.push_back({edge.source, edge.target, edge.route, level});
  };
  // A parent's edge comes before its child's in `down`, after it in `up`.
  if (up) {
    std::for_each(edges.rbegin(), edges.rend(), add);
    for (Hop& hop : hops) hop.level = deepest + 1 - hop.level;
  } else {
    std::for_each(edges.begin(), edges.end(), add);
  }
  std::sort(hops.begin(), hops.end());
  return hops;
}

/// Adds the links that `hop` crosses to `strands` (by link).
Status AddStrands(const Schedule& schedule, const Topology& topology, const Hop& hop, double share,
                  std::map<LinkId, Strand>* strands) {
  Route direct = {topology.NodeOf(hop.source), topology.NodeOf(hop.target)};
  const Route& route = hop.route >= 0 ? schedule.routes[static_cast<size_t>(hop.route)] : direct;
  for (size_t i = 0; i + 1 < route.size(); ++i) {
    const LinkId link = topology.FindLink(route[i], route[i + 1]);
    if (!link.valid()) {
      return InvalidArgument("cannot draw the tree edge from rank " + std::to_string(hop.source.value()) + " to rank " +
                             std::to_string(hop.target.value()) + ": " + topology.node(route[i]).id +
                             " has no link to " + topology.node(route[i + 1]).id);
    }
    Strand& strand = (*strands)[link];
    strand.level = strand.link.valid() ? std::min(strand.level, hop.level) : hop.level;
    strand.link = link;
    strand.load += share;
  }
  return OkStatus();
}

StatusOr<ShownTree> MakeShown(const Schedule& schedule, const Topology& topology, const Collected* begin,
                              const Collected* end, double total) {
  ShownTree shown;
  shown.merged = static_cast<int32_t>(end - begin);
  std::map<LinkId, Strand> strands;
  for (const Collected* tree = begin; tree != end; ++tree) {
    const double share = total > 0 ? static_cast<double>(tree->units) / total : 0;
    shown.share += share;
    for (const Hop& hop : tree->hops) {
      shown.hops = std::max(shown.hops, hop.level);
      MYCEL_RETURN_IF_ERROR(AddStrands(schedule, topology, hop, share, &strands));
    }
  }
  for (const auto& [link, strand] : strands) shown.strands.push_back(strand);
  return shown;
}

/// Trees that are only paths with an end each: what moves is told by stages, not by trees.
bool IsExchange(Collective collective) {
  return collective == Collective::kAllToAll || collective == Collective::kAllToAllV ||
         collective == Collective::kGather || collective == Collective::kScatter;
}

/// All hops of each stage as one tree. A path's share counts for its own hops only, so each becomes a strand by itself.
StatusOr<TreeSheet> ExchangeSheet(const Schedule& schedule, const Topology& topology, Rank root) {
  TreeSheet sheet;
  sheet.root = root;
  sheet.flow = schedule.collective == Collective::kGather ? Flow::kReceive : Flow::kSend;
  std::map<int32_t, std::vector<Collected>> stages;
  double total = 0;
  for (const Tree& tree : schedule.trees) {
    const bool mine = sheet.flow == Flow::kReceive || tree.root == root;
    if (!mine || tree.down.empty() || tree.chunk.units() == 0) continue;
    stages[tree.stage].push_back({HopsOf(tree.down, false, tree.root, schedule.rank_count), tree.chunk.units()});
    total += static_cast<double>(tree.chunk.units());
  }
  std::vector<Collected> rest;
  for (auto& [stage, paths] : stages) {
    if (sheet.trees.size() == kTreeColours) {
      rest.insert(rest.end(), paths.begin(), paths.end());
      continue;
    }
    MYCEL_ASSIGN_OR_RETURN(sheet.trees.emplace_back(),
                           MakeShown(schedule, topology, paths.data(), paths.data() + paths.size(), total));
    sheet.trees.back().merged = 1;
  }
  sheet.tree_count = static_cast<int32_t>(stages.size());
  if (!rest.empty()) {
    MYCEL_ASSIGN_OR_RETURN(sheet.trees.emplace_back(),
                           MakeShown(schedule, topology, rest.data(), rest.data() + rest.size(), total));
    sheet.trees.back().merged = static_cast<int32_t>(stages.size() - kTreeColours);
    sheet.rest_merged = true;
  }
  return sheet;
}

StatusOr<TreeSheet> TreesSheet(const Schedule& schedule, const Topology& topology, Rank root, bool up) {
  TreeSheet sheet;
  sheet.root = root;
  sheet.flow = up ? Flow::kReduce : Flow::kBroadcast;
  std::map<std::vector<Hop>, int64_t> distinct;
  double total = 0;
  for (const Tree& tree : schedule.trees) {
    const std::vector<TreeEdge>& edges = up ? tree.up : tree.down;
    if (tree.root != root || edges.empty()) continue;
    distinct[HopsOf(edges, up, root, schedule.rank_count)] += tree.chunk.units();
    total += static_cast<double>(tree.chunk.units());
  }
  std::vector<Collected> trees;
  for (const auto& [hops, units] : distinct) trees.push_back({hops, units});
  std::stable_sort(trees.begin(), trees.end(),
                   [](const Collected& a, const Collected& b) { return a.units > b.units; });
  sheet.tree_count = static_cast<int32_t>(trees.size());
  const size_t coloured = trees.size() <= kTreeColours ? trees.size() : kTreeColours - 1;
  for (size_t i = 0; i < coloured; ++i) {
    MYCEL_ASSIGN_OR_RETURN(sheet.trees.emplace_back(), MakeShown(schedule, topology, &trees[i], &trees[i] + 1, total));
  }
  if (coloured < trees.size()) {
    MYCEL_ASSIGN_OR_RETURN(sheet.trees.emplace_back(),
                           MakeShown(schedule, topology, trees.data() + coloured, trees.data() + trees.size(), total));
    sheet.rest_merged = true;
  }
  return sheet;
}

}  // namespace

StatusOr<std::vector<TreeSheet>> ShownTrees(const Schedule& schedule, const Topology& topology) {
  const Rank root = schedule.root.valid() ? schedule.root : Rank(0);
  std::vector<TreeSheet> sheets;
  if (IsExchange(schedule.collective)) {
    MYCEL_ASSIGN_OR_RETURN(sheets.emplace_back(), ExchangeSheet(schedule, topology, root));
  } else {
    for (const bool up : {true, false}) {
      MYCEL_ASSIGN_OR_RETURN(sheets.emplace_back(), TreesSheet(schedule, topology, root, up));
    }
  }
  std::erase_if(sheets, [](const TreeSheet& sheet) { return sheet.trees.empty(); });
  for (TreeSheet& sheet : sheets) {
    const size_t coloured = sheet.trees.size() - (sheet.rest_merged ? 1 : 0);
    if (sheet.rest_merged && sheet.trees.back().strands.size() > kRestStrandsMax) sheet.trees.back().strands.clear();
    for (size_t i = 0; i < coloured; ++i) {
      for (const Strand& strand : sheet.trees[i].strands) sheet.load_max = std::max(sheet.load_max, strand.load);
    }
  }
  return sheets;
}

}  // namespace mycel::cli
