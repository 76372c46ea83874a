#include "scheduler/forest/tree_count.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <string>

#include "core/base/check.h"
#include "core/base/int128.h"
#include "scheduler/graph/rooted_cut.h"

namespace mycel {
namespace {

/// Trees per root beyond this are not searched one by one: the exact formula's number is taken.
constexpr int64_t kSearchedMax = 64;

/// floor(scale * capacity) on every edge.
CapacityGraph Floored(const ScaledGraph& graph, const Rational& scale) {
  CapacityGraph floored(graph.node_count);
  for (const ScaledGraph::Edge& edge : graph.edges) {
    const int128 product = static_cast<int128>(edge.capacity) * scale.numerator() / scale.denominator();
    MYCEL_CHECK(product <= kScaledSumMax);
    if (product > 0) floored.Add(edge.source, edge.target, static_cast<int64_t>(product));
  }
  return floored;
}

std::vector<bool> IsRank(const ScaledGraph& graph) {
  std::vector<bool> is_rank(static_cast<size_t>(graph.node_count), false);
  for (int32_t node : graph.ranks) is_rank[static_cast<size_t>(node)] = true;
  return is_rank;
}

bool Fits(const ScaledGraph& graph, const std::vector<int64_t>& weights, int64_t k, const Rational& scale,
          TreeCount* count) {
  CapacityGraph capacities = Floored(graph, scale);
  if (!BalanceSwitches(graph, RootTrees(graph, weights, k), &capacities)) return false;
  *count = TreeCount{k, scale, std::move(capacities)};
  return true;
}

Status Unbalanced() {
  return Impossible(
      "trees cannot pass a switch with more capacity out than in: the bound needs copies inside the switch; make the "
      "two directions of its links equal");
}

}  // namespace

bool BalanceSwitches(const ScaledGraph& graph, const std::vector<int64_t>& root_trees, CapacityGraph* capacities) {
  RootedCut cut(*capacities, root_trees, graph.ranks);
  if (!cut.Feasible()) return false;
  const std::vector<bool> is_rank = IsRank(graph);
  for (bool changed = true; changed;) {
    changed = false;
    for (int32_t node = 0; node < graph.node_count; ++node) {
      if (is_rank[static_cast<size_t>(node)]) continue;
      int64_t surplus = capacities->OutSum(node) - capacities->InSum(node);
      const bool out_heavy = surplus > 0;
      surplus = std::abs(surplus);
      const std::map<int32_t, int64_t> edges = out_heavy ? capacities->Out(node) : capacities->In(node);
      for (const auto& [other, capacity] : edges) {
        const int64_t dropped = std::min(surplus, capacity);
        if (dropped == 0) continue;
        const int32_t source = out_heavy ? node : other;
        const int32_t target = out_heavy ? other : node;
        // Dropping lowers a cut by at most `dropped`, so one look says how much may go.
        cut.Set(source, target, capacity - dropped);
        const int64_t kept = dropped - (cut.total() - cut.MinFlow(cut.total() - dropped, target));
        const int64_t gone = std::max<int64_t>(0, kept);
        capacities->Set(source, target, capacity - gone);
        cut.Set(source, target, capacity - gone);
        surplus -= gone;
        changed |= gone > 0;
      }
    }
  }
  for (int32_t node = 0; node < graph.node_count; ++node) {
    if (!is_rank[static_cast<size_t>(node)] && capacities->OutSum(node) != capacities->InSum(node)) return false;
  }
  return true;
}

std::vector<int64_t> RootTrees(const ScaledGraph& graph, const std::vector<int64_t>& weights,
                               int64_t trees_per_weight) {
  std::vector<int64_t> trees(static_cast<size_t>(graph.node_count), 0);
  for (size_t rank = 0; rank < weights.size(); ++rank) {
    trees[static_cast<size_t>(graph.ranks[rank])] = weights[rank] * trees_per_weight;
  }
  return trees;
}

StatusOr<TreeCount> ExactTreeCount(const ScaledGraph& graph, const std::vector<int64_t>& weights,
                                   const Rational& inverse) {
  // With g = gcd(q, all capacities), k = q / g and U = p / g make every U * capacity an integer.
  int64_t common = inverse.denominator();
  for (const ScaledGraph::Edge& edge : graph.edges) common = std::gcd(common, edge.capacity);
  const int64_t k_exact = inverse.denominator() / common;
  const int64_t weight_sum = std::accumulate(weights.begin(), weights.end(), int64_t{0});
  if (static_cast<int128>(k_exact) * weight_sum > kScaledSumMax ||
      static_cast<int128>(inverse.numerator()) * graph.capacity_sum / common > kScaledSumMax) {
    return InvalidArgument("the bandwidths' fractions are too fine for exact trees; round them in the topology file");
  }
  TreeCount count;
  for (int64_t k = 1; k <= std::min(k_exact, kSearchedMax); ++k) {
    if (Fits(graph, weights, k, inverse * Rational(k), &count)) return count;
  }
  if (k_exact > kSearchedMax && Fits(graph, weights, k_exact, inverse * Rational(k_exact), &count)) return count;
  return Unbalanced();
}

StatusOr<TreeCount> FixedTreeCount(const ScaledGraph& graph, const std::vector<int64_t>& weights,
                                   const Rational& inverse, int64_t trees_per_weight) {
  // Rounded capacities change only where scale * capacity is an integer: those scales are the candidates.
  const Rational least = inverse * Rational(trees_per_weight);
  int64_t capacity_min = kScaledSumMax;
  std::set<int64_t> distinct;
  for (const ScaledGraph::Edge& edge : graph.edges) {
    capacity_min = std::min(capacity_min, edge.capacity);
    distinct.insert(edge.capacity);
  }
  const Rational most = least + Rational(1, capacity_min);
  std::vector<Rational> scales;
  for (int64_t capacity : distinct) {
    const auto first = static_cast<int64_t>(
        (static_cast<int128>(least.numerator()) * capacity + least.denominator() - 1) / least.denominator());
    for (int64_t units = std::max<int64_t>(1, first); Rational(units, capacity) <= most; ++units) {
      scales.push_back(Rational(units, capacity));
    }
  }
  std::sort(scales.begin(), scales.end());
  scales.erase(std::unique(scales.begin(), scales.end()), scales.end());
  // What fits is monotone but for balance; search for the first that fits, then go up to one that balances.
  size_t low = 0;
  size_t high = scales.size();
  while (low < high) {
    const size_t middle = (low + high) / 2;
    RootedCut cut(Floored(graph, scales[middle]), RootTrees(graph, weights, trees_per_weight), graph.ranks);
    if (cut.Feasible()) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  TreeCount count;
  for (; low < scales.size(); ++low) {
    if (Fits(graph, weights, trees_per_weight, scales[low], &count)) return count;
  }
  return Unbalanced();
}

}  // namespace mycel
