#include "scheduler/forest/forest.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <string>
#include <utility>

#include "core/base/check.h"
#include "core/base/int128.h"
#include "core/plan/structure.h"
#include "scheduler/bound/bound.h"
#include "scheduler/forest/allreduce_trees.h"
#include "scheduler/forest/spanning_forest.h"
#include "scheduler/graph/on_topology.h"

namespace mycel {
namespace {

/// Schedule::routes, each path once.
class RouteList {
 public:
  explicit RouteList(std::vector<Route>* routes) : routes_(*routes) {}
  int32_t IndexOf(const std::vector<NodeId>& path) {
    if (path.size() == 2) return -1;
    const auto [at, fresh] = known_.try_emplace(path, static_cast<int32_t>(routes_.size()));
    if (fresh) routes_.push_back(path);
    return at->second;
  }

 private:
  std::vector<Route>& routes_;
  std::map<std::vector<NodeId>, int32_t> known_;
};

std::vector<TreeEdge> Edges(const ForestTree& tree, RouteList* routes) {
  std::vector<TreeEdge> edges;
  edges.reserve(tree.edges.size());
  for (const ForestEdge& edge : tree.edges) edges.push_back({edge.source, edge.target, routes->IndexOf(edge.path)});
  return edges;
}

/// A forest says parents first; an in-tree of a schedule says children first.
std::vector<TreeEdge> UpEdges(const ForestTree& tree, RouteList* routes) {
  std::vector<TreeEdge> edges = Edges(tree, routes);
  std::reverse(edges.begin(), edges.end());
  return edges;
}

/// The trees of one root in a row, with the units they cover.
struct Cover {
  const ForestTree* tree;
  int64_t begin;
  int64_t end;
};

std::vector<std::vector<Cover>> CoverByRoot(const std::vector<ForestTree>& trees, int32_t rank_count,
                                            int64_t units_per_tree) {
  std::vector<std::vector<Cover>> covers(static_cast<size_t>(rank_count));
  for (const ForestTree& tree : trees) {
    std::vector<Cover>& cover = covers[tree.root.index()];
    const int64_t begin = cover.empty() ? 0 : cover.back().end;
    cover.push_back({&tree, begin, begin + tree.multiplicity * units_per_tree});
  }
  return covers;
}

/// One direction only: every tree is a chunk of its root's block.
void AddOneWay(const SpanningForest& forest, bool up, bool one_block, Schedule* schedule) {
  RouteList routes(&schedule->routes);
  for (const std::vector<Cover>& covers : CoverByRoot(forest.trees, schedule->rank_count, 1)) {
    for (const Cover& cover : covers) {
      Tree tree;
      tree.root = cover.tree->root;
      tree.chunk = {one_block ? 0 : tree.root.value(), cover.begin, cover.end};
      (up ? tree.up : tree.down) = up ? UpEdges(*cover.tree, &routes) : Edges(*cover.tree, &routes);
      schedule->trees.push_back(std::move(tree));
    }
  }
}

/// Reduce trees joined to broadcast trees at the root, unit range by unit range. Each root's two covers are equally
/// long; a root without trees has no share of the vector.
void AddJoined(const std::vector<std::vector<Cover>>& up, const std::vector<std::vector<Cover>>& down,
               Schedule* schedule) {
  RouteList routes(&schedule->routes);
  int64_t base = 0;
  for (size_t root = 0; root < up.size(); ++root) {
    const int64_t share = up[root].empty() ? 0 : up[root].back().end;
    MYCEL_CHECK_EQ(share, down[root].empty() ? 0 : down[root].back().end);
    size_t u = 0;
    size_t d = 0;
    for (int64_t at = 0; at < share;) {
      const Cover& in = up[root][u];
      const Cover& out = down[root][d];
      Tree tree;
      tree.root = in.tree->root;
      const int64_t end = std::min(in.end, out.end);
      tree.chunk = {0, base + at, base + end};
      tree.up = UpEdges(*in.tree, &routes);
      tree.down = Edges(*out.tree, &routes);
      schedule->trees.push_back(std::move(tree));
      at = end;
      u += in.end == end ? 1 : 0;
      d += out.end == end ? 1 : 0;
    }
    base += share;
  }
  schedule->units_per_block = base;
}

/// More units than a plan may have: each link's load would be right, and nobody could count that finely.
Status TooManyUnits() {
  return InvalidArgument(
      "the bandwidths' fractions are too fine, or too far apart, for a block of at most 2^50 units; round them in the "
      "topology file, or use --trees-per-root K");
}
static_assert(kBlockUnitsMax == int64_t{1} << 50);

/// Reduce-scatter joined to allgather: equal roots, `trees_per_root` trees each (0: as many as the optimum needs).
Status AddInTurn(const Topology& topology, int64_t trees_per_root, Schedule* schedule) {
  const std::vector<int64_t> weights(static_cast<size_t>(topology.rank_count()), 1);
  MYCEL_ASSIGN_OR_RETURN(const SpanningForest up, PackSpanningForest(topology, weights, trees_per_root, true));
  MYCEL_ASSIGN_OR_RETURN(const SpanningForest down, PackSpanningForest(topology, weights, trees_per_root, false));
  const int64_t divisor = std::gcd(up.trees_per_weight, down.trees_per_weight);
  const int128 least_share = int128{up.trees_per_weight / divisor} * down.trees_per_weight;
  if (least_share > kBlockUnitsMax / topology.rank_count()) return TooManyUnits();
  const auto share = static_cast<int64_t>(least_share);
  AddJoined(CoverByRoot(up.trees, schedule->rank_count, share / up.trees_per_weight),
            CoverByRoot(down.trees, schedule->rank_count, share / down.trees_per_weight), schedule);
  return OkStatus();
}

/// Unequal roots where they are faster, else equal ones.
Status AddAllReduce(const Topology& topology, int64_t trees_per_root, Schedule* schedule) {
  if (trees_per_root > 0) return AddInTurn(topology, trees_per_root, schedule);
  MYCEL_ASSIGN_OR_RETURN(const AllReduceBound known, AllReduceBoundOf(topology));
  if (known.rates) {
    const StatusOr<AllReduceTrees> trees = PackAllReduceTrees(topology, *known.rates);
    // Rates that doubles found may be too far from the truth to carry any trees.
    if (!trees.ok() && known.rates->exact) return trees.status();
    // Rates that had to be rounded may have lost what they were better by.
    if (trees.ok() && (trees->inv_x < known.in_turn || !known.balanced)) {
      AddJoined(CoverByRoot(trees->up, schedule->rank_count, 1), CoverByRoot(trees->down, schedule->rank_count, 1),
                schedule);
      return OkStatus();
    }
  }
  return AddInTurn(topology, trees_per_root, schedule);
}

class ForestPlannerImpl final : public Planner {
 public:
  std::string_view name() const override { return "forest"; }
  std::string_view summary() const override {
    return "throughput-optimal spanning trees packed from the topology's cuts (ForestColl)";
  }

  Status Serves(const Topology& topology, const PlanRequest& request) const override {
    MYCEL_RETURN_IF_ERROR(CheckRoot(topology, request));
    switch (request.collective) {
      case Collective::kAllGather:
      case Collective::kReduceScatter:
      case Collective::kAllReduce:
      case Collective::kBroadcast:
      case Collective::kReduce:
        break;
      default:
        return Impossible("spanning trees serve allgather, reduce_scatter, allreduce, broadcast and reduce, not " +
                          std::string(NameOf(request.collective)));
    }
    if (!request.variant.empty()) return Impossible("forest has no variant '" + request.variant + "'");
    return CheckConnected(topology);
  }

  StatusOr<Schedule> MakeSchedule(const Topology& topology, const PlanRequest& request) const override {
    MYCEL_RETURN_IF_ERROR(Serves(topology, request));
    StatusOr<Schedule> schedule = MakeTrees(topology, request);
    if (!schedule.ok()) return OnTopology(schedule.status(), topology, request.collective);
    return schedule;
  }

 private:
  static StatusOr<Schedule> MakeTrees(const Topology& topology, const PlanRequest& request) {
    const int32_t n = topology.rank_count();
    Schedule schedule;
    schedule.collective = request.collective;
    schedule.rank_count = n;
    schedule.root = request.root;
    schedule.planner = "forest";
    std::vector<int64_t> weights(static_cast<size_t>(n), 1);
    if (InfoOf(request.collective).rooted) {
      std::fill(weights.begin(), weights.end(), 0);
      weights[request.root.index()] = 1;
    }
    const bool reduces = InfoOf(request.collective).reduces;
    if (request.collective == Collective::kAllReduce) {
      MYCEL_RETURN_IF_ERROR(AddAllReduce(topology, request.trees_per_root, &schedule));
      return schedule;
    }
    MYCEL_ASSIGN_OR_RETURN(const SpanningForest forest,
                           PackSpanningForest(topology, weights, request.trees_per_root, reduces));
    if (forest.trees_per_weight > kBlockUnitsMax) return TooManyUnits();
    schedule.units_per_block = forest.trees_per_weight;
    AddOneWay(forest, reduces, InfoOf(request.collective).rooted, &schedule);
    return schedule;
  }
};

}  // namespace

const Planner& ForestPlanner() {
  static const ForestPlannerImpl planner;
  return planner;
}

}  // namespace mycel
