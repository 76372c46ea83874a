#include "scheduler/forest/allreduce_trees.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "core/base/check.h"
#include "core/base/int128.h"
#include "scheduler/forest/pack_capacities.h"
#include "scheduler/graph/balance_switches.h"
#include "scheduler/graph/scaled_graph.h"

namespace mycel {
namespace {

/// Multiples of the roots' ratio that are tried one by one before the exact one is taken.
constexpr int64_t kMultiplesTried = 32;
constexpr int64_t kRoundedTreesMax = int64_t{1} << 16;

/// How many trees each root has and each link may carry; both graphs in the direction data flow.
struct Counts {
  std::vector<int64_t> root_trees;  // by node
  CapacityGraph spread{0};
  CapacityGraph reduce{0};
};

CapacityGraph Turned(const CapacityGraph& graph) {
  CapacityGraph turned(graph.node_count());
  for (int32_t node = 0; node < graph.node_count(); ++node) {
    for (const auto& [target, capacity] : graph.Out(node)) turned.Set(target, node, capacity);
  }
  return turned;
}

class Counter {
 public:
  Counter(const ScaledGraph& graph, const AllReduceRates& rates) : graph_(graph), rates_(rates) {
    for (const int64_t root : rates.roots) {
      sum_ += root;
      roots_divisor_ = std::gcd(roots_divisor_, root);
    }
    divisor_ = roots_divisor_;
    for (const int64_t rate : rates.spread) divisor_ = std::gcd(divisor_, rate);
    for (const int64_t rate : rates.reduce) divisor_ = std::gcd(divisor_, rate);
  }

  /// Root v has roots[v] / roots_divisor_ trees, times the smallest factor that works.
  std::optional<Counts> Exact(int64_t trees_max) const {
    const int128 least = sum_ / roots_divisor_;
    const int64_t exact_factor = roots_divisor_ / divisor_;  // makes every rate whole
    for (int64_t factor = 1; factor <= exact_factor; ++factor) {
      if (factor > kMultiplesTried) factor = exact_factor;
      if (least * factor > trees_max) return std::nullopt;
      Counts counts;
      counts.root_trees.assign(static_cast<size_t>(graph_.node_count), 0);
      for (size_t rank = 0; rank < rates_.roots.size(); ++rank) {
        counts.root_trees[NodeOf(rank)] = rates_.roots[rank] / roots_divisor_ * factor;
      }
      if (Fill(factor, roots_divisor_, &counts)) return counts;
    }
    return std::nullopt;
  }

  /// `trees` trees, roots rounded to the nearest, rates stretched until they carry them.
  std::optional<Counts> Rounded(int64_t trees) const {
    Counts counts;
    counts.root_trees.assign(static_cast<size_t>(graph_.node_count), 0);
    std::vector<std::pair<int128, size_t>> rests;
    int64_t left = trees;
    for (size_t rank = 0; rank < rates_.roots.size(); ++rank) {
      const int128 product = int128{rates_.roots[rank]} * trees;
      const auto whole = static_cast<int64_t>(product / sum_);
      counts.root_trees[NodeOf(rank)] = whole;
      left -= whole;
      rests.emplace_back(product % sum_, rank);
    }
    std::stable_sort(rests.begin(), rests.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
    for (size_t i = 0; left > 0; ++i, --left) ++counts.root_trees[NodeOf(rests[i].second)];
    constexpr int kFinest = 24;
    constexpr int kCoarsest = 30;
    for (int halvings = kFinest; halvings >= -kCoarsest; --halvings) {  // stretched by 1 + 1 / 2^halvings
      const int64_t one = int64_t{1} << std::max(0, halvings);
      const int64_t more = int64_t{1} << std::max(0, -halvings);
      if (Fill(int128{trees} * (one + more), sum_ * one, &counts)) return counts;
    }
    return std::nullopt;
  }

  /// What links carry at most, in ns per byte of one of n shards.
  StatusOr<Rational> InvX(const Counts& counts) const {
    const int64_t trees = std::accumulate(counts.root_trees.begin(), counts.root_trees.end(), int64_t{0});
    Rational busiest(0);
    for (const ScaledGraph::Edge& edge : graph_.edges) {
      const int64_t carried =
          counts.spread.Capacity(edge.source, edge.target) + counts.reduce.Capacity(edge.source, edge.target);
      if (carried == 0) continue;
      MYCEL_ASSIGN_OR_RETURN(const Rational load, graph_.NsPerByte(carried, edge.capacity));
      busiest = std::max(busiest, load);
    }
    MYCEL_ASSIGN_OR_RETURN(const Rational shards, Rational::TryMake(int128{std::ssize(graph_.ranks)}, trees));
    return Rational::TryMultiply(busiest, shards);
  }

 private:
  size_t NodeOf(size_t rank) const { return static_cast<size_t>(graph_.ranks[rank]); }

  /// Rates times numerator / denominator, rounded down, if the trees fit.
  bool Fill(int128 numerator, int128 denominator, Counts* counts) const {
    counts->spread = CapacityGraph(graph_.node_count);
    CapacityGraph turned(graph_.node_count);
    for (size_t link = 0; link < graph_.edges.size(); ++link) {
      const auto [source, target, capacity] = graph_.edges[link];
      const int128 spread = rates_.spread[link] * numerator / denominator;
      const int128 reduce = rates_.reduce[link] * numerator / denominator;
      if (spread > kScaledSumMax || reduce > kScaledSumMax) return false;
      counts->spread.Set(source, target, static_cast<int64_t>(spread));
      turned.Set(target, source, static_cast<int64_t>(reduce));
    }
    if (!BalanceSwitches(graph_, counts->root_trees, &counts->spread)) return false;
    if (!BalanceSwitches(graph_, counts->root_trees, &turned)) return false;
    counts->reduce = Turned(turned);
    return true;
  }

  const ScaledGraph& graph_;
  const AllReduceRates& rates_;
  int128 sum_ = 0;
  int64_t roots_divisor_ = 0;
  int64_t divisor_ = 0;
};

}  // namespace

StatusOr<AllReduceTrees> PackAllReduceTrees(const Topology& topology, const AllReduceRates& rates, int64_t trees_max) {
  MYCEL_ASSIGN_OR_RETURN(const ScaledGraph graph, ScaleCapacities(topology));
  MYCEL_CHECK_EQ(rates.roots.size(), graph.ranks.size());
  MYCEL_CHECK_EQ(rates.spread.size(), graph.edges.size());
  const Counter counter(graph, rates);
  std::optional<Counts> counts;
  if (rates.exact) counts = counter.Exact(trees_max);
  if (!counts) counts = counter.Rounded(std::min(trees_max, kRoundedTreesMax));
  if (!counts) return InternalError("no number of trees carries the rates of allreduce on " + topology.name());

  AllReduceTrees trees;
  trees.count = std::accumulate(counts->root_trees.begin(), counts->root_trees.end(), int64_t{0});
  MYCEL_ASSIGN_OR_RETURN(trees.inv_x, counter.InvX(*counts));
  MYCEL_ASSIGN_OR_RETURN(trees.up, PackCapacities(topology, Turned(counts->reduce), counts->root_trees, true));
  MYCEL_ASSIGN_OR_RETURN(trees.down, PackCapacities(topology, counts->spread, counts->root_trees, false));
  return trees;
}

}  // namespace mycel
