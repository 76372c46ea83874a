#include "scheduler/forest/tree_count.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

#include "core/base/check.h"
#include "core/base/int128.h"
#include "scheduler/graph/balance_switches.h"
#include "scheduler/graph/edge_splitting.h"
#include "scheduler/graph/rooted_cut.h"

namespace mycel {
namespace {

/// Trees per root beyond this are not searched one by one: the exact formula's number is taken.
constexpr int64_t kSearchedMax = 64;
/// Scales at which a forest that only lacks balance is tried, before the paths' own rounding is taken.
constexpr int64_t kScalesTried = 256;

Status TooFine() {
  return InvalidArgument(
      "the bandwidths' fractions are too fine, or too far apart, for so many trees in 62 bits; round them in the "
      "topology file");
}

/// floor(scale * amount); nothing beyond 62 bits.
std::optional<int64_t> Whole(const Rational& scale, int64_t amount) {
  const int128 product = int128{amount} * scale.numerator() / scale.denominator();
  if (product > kScaledSumMax) return std::nullopt;
  return static_cast<int64_t>(product);
}

/// Sorted, each once, without zeros.
std::vector<int64_t> Distinct(std::vector<int64_t> amounts) {
  std::sort(amounts.begin(), amounts.end());
  amounts.erase(std::unique(amounts.begin(), amounts.end()), amounts.end());
  if (!amounts.empty() && amounts.front() == 0) amounts.erase(amounts.begin());
  return amounts;
}

/// The scales at which some floor(scale * amount) changes.
class Steps {
 public:
  /// `amounts`: as Distinct gives them, not empty.
  explicit Steps(std::vector<int64_t> amounts) : amounts_(std::move(amounts)) {}

  /// The first one after `scale`; nothing beyond 62 bits.
  std::optional<Rational> After(const Rational& scale) const {
    std::optional<Rational> first;
    for (const int64_t amount : amounts_) {
      const std::optional<int64_t> whole = Whole(scale, amount);
      if (!whole || *whole == kScaledSumMax) continue;
      const Rational next(*whole + 1, amount);
      if (!first || next < *first) first = next;
    }
    return first;
  }

  /// The least scale from `least` on that satisfies `fits`, which is monotone and true from least + 1 / (least amount)
  /// on at the latest. Nothing when that leaves 62 bits.
  std::optional<Rational> LeastFit(const Rational& least, const std::function<bool(const Rational&)>& fits) const {
    if (fits(least)) return least;
    const StatusOr<Rational> most = Rational::TryAdd(least, Rational(1, amounts_.front()));
    // Without a common denominator in 64 bits any dyadic number above will do.
    Rational high = most.ok() ? *most : Dyadic(least.ToDouble() + 1 / static_cast<double>(amounts_.front()));
    if (high.ToDouble() > kScaleMax) return std::nullopt;
    Rational low = least;
    while (Between(low, high) > kStepsWalked) {
      const Rational middle = Dyadic((low.ToDouble() + high.ToDouble()) / 2);
      if (middle <= low || middle >= high) break;  // doubles see no difference
      (fits(middle) ? high : low) = middle;
    }
    for (int64_t i = 0; i <= kStepsWalked; ++i) {
      const std::optional<Rational> next = After(low);
      if (!next || *next >= high) break;
      if (fits(*next)) return next;
      low = *next;
    }
    return high;
  }

 private:
  static constexpr int64_t kStepsWalked = 32;
  static constexpr double kScaleMax = 1e18;

  static Rational Dyadic(double value) {
    int exponent = 0;
    std::frexp(value, &exponent);
    const int shift = std::clamp(52 - exponent, 0, 61);
    return Rational(std::llround(std::ldexp(value, shift)), int64_t{1} << shift);
  }

  /// How many steps there are in (low, high], about.
  int64_t Between(const Rational& low, const Rational& high) const {
    int64_t count = 0;
    for (const int64_t amount : amounts_) {
      const std::optional<int64_t> from = Whole(low, amount);
      const std::optional<int64_t> to = Whole(high, amount);
      if (!from || !to || *to - *from > kStepsWalked) return kStepsWalked + 1;
      count += *to - *from;
    }
    return count;
  }

  std::vector<int64_t> amounts_;
};

/// A path that rates take from rank to rank.
struct PathRate {
  std::vector<int32_t> path;
  int64_t amount;
};

class Counter {
 public:
  Counter(const ScaledGraph& graph, const std::vector<int64_t>& weights, const TreeRates& rates)
      : graph_(graph), weights_(weights), rates_(rates), common_(rates.root) {
    MYCEL_CHECK_EQ(rates.links.size(), graph.edges.size());
    for (const int64_t link : rates.links) common_ = std::gcd(common_, link);
    for (size_t link = 0; link < graph.edges.size(); ++link) {
      capacities_.push_back(graph.edges[link].capacity);
      all_used_ &= rates.links[link] == int128{rates.denominator} * graph.edges[link].capacity;
    }
  }

  /// Trees per weight that make every rate whole.
  int64_t WholeCount() const { return rates_.root / common_; }

  /// k trees per weight at the speed of the rates.
  std::optional<TreeCount> Exact(int64_t k) const {
    const StatusOr<Rational> scale = Rational::TryMake(int128{rates_.denominator} * k, rates_.root);
    if (!scale.ok()) return std::nullopt;
    return AtScale(k, *scale);
  }

  StatusOr<TreeCount> Fixed(int64_t k) const {
    const StatusOr<Rational> least = Rational::TryMake(int128{rates_.denominator} * k, rates_.root);
    if (!least.ok()) return TooFine();
    const Steps steps(Distinct(capacities_));
    std::optional<Rational> scale = steps.LeastFit(*least, [&](const Rational& tried) {
      const std::optional<CapacityGraph> floored = Floored(capacities_, tried);
      return !floored || RootedCut(*floored, RootTrees(graph_, weights_, k), graph_.ranks).Feasible();
    });
    if (!scale || !Floored(capacities_, *scale)) return TooFine();
    if (std::optional<TreeCount> count = AtScale(k, *scale)) return *std::move(count);
    // The cuts hold, but balance is lost. Paths round down without losing it: that scale is the last to be tried.
    MYCEL_ASSIGN_OR_RETURN(TreeCount by_paths, ByPaths(k));
    for (int64_t tried = 0; tried < kScalesTried; ++tried) {
      scale = steps.After(*scale);
      if (!scale || *scale >= by_paths.trees_per_unit) break;
      std::optional<TreeCount> count = AtScale(k, *scale);
      if (count && count->trees_per_unit < by_paths.trees_per_unit) return *std::move(count);
    }
    return by_paths;
  }

 private:
  /// floor(scale * amount) on every link; nothing beyond 62 bits.
  std::optional<CapacityGraph> Floored(const std::vector<int64_t>& amounts, const Rational& scale) const {
    CapacityGraph floored(graph_.node_count);
    int128 sum = 0;
    for (size_t link = 0; link < amounts.size(); ++link) {
      const std::optional<int64_t> whole = Whole(scale, amounts[link]);
      if (!whole) return std::nullopt;
      sum += *whole;
      if (sum > kScaledSumMax) return std::nullopt;
      if (*whole > 0) floored.Add(graph_.edges[link].source, graph_.edges[link].target, *whole);
    }
    return floored;
  }

  /// k trees per weight on what links carry at `scale` trees for each unit of capacity.
  std::optional<TreeCount> AtScale(int64_t k, const Rational& scale) const {
    const std::vector<int64_t> root_trees = RootTrees(graph_, weights_, k);
    std::optional<CapacityGraph> capacities = Floored(capacities_, scale);
    // Where the cuts break already, less capacity will not do.
    if (!capacities || !RootedCut(*capacities, root_trees, graph_.ranks).Feasible()) return std::nullopt;
    if (BalanceSwitches(graph_, root_trees, &*capacities)) return Measured(k, *std::move(capacities));
    if (all_used_) return std::nullopt;
    const StatusOr<Rational> of_rates = Rational::TryMultiply(scale, Rational(1, rates_.denominator));
    if (!of_rates.ok()) return std::nullopt;
    capacities = Floored(rates_.links, *of_rates);
    if (!capacities || !BalanceSwitches(graph_, root_trees, &*capacities)) return std::nullopt;
    return Measured(k, *std::move(capacities));
  }

  /// With the scale that the capacities ask for.
  TreeCount Measured(int64_t k, CapacityGraph capacities) const {
    TreeCount count{k, Rational(0), std::move(capacities)};
    for (const auto& [source, target, capacity] : graph_.edges) {
      count.trees_per_unit =
          std::max(count.trees_per_unit, Rational(count.capacities.Capacity(source, target), capacity));
    }
    return count;
  }

  /// The rates as paths from rank to rank, in multiples of common_.
  StatusOr<std::vector<PathRate>> Paths() const {
    CapacityGraph whole(graph_.node_count);
    std::vector<bool> is_rank(static_cast<size_t>(graph_.node_count), false);
    for (const int32_t node : graph_.ranks) is_rank[static_cast<size_t>(node)] = true;
    std::vector<int32_t> switches;
    for (int32_t node = 0; node < graph_.node_count; ++node) {
      if (!is_rank[static_cast<size_t>(node)]) switches.push_back(node);
    }
    for (size_t link = 0; link < rates_.links.size(); ++link) {
      if (rates_.links[link] == 0) continue;
      whole.Add(graph_.edges[link].source, graph_.edges[link].target, rates_.links[link] / common_);
    }
    RouteTable routes;
    const std::vector<int32_t> no_groups(static_cast<size_t>(graph_.node_count), -1);
    MYCEL_RETURN_IF_ERROR(SplitOffSwitches(switches, RootTrees(graph_, weights_, WholeCount()), graph_.ranks, no_groups,
                                           &whole, &routes));
    std::vector<PathRate> paths;
    for (const int32_t source : graph_.ranks) {
      for (const auto& [target, amount] : whole.Out(source)) {
        for (RouteTable::Piece& piece : routes.Take(source, target, amount)) {
          paths.push_back({std::move(piece.path), piece.amount});
        }
      }
    }
    return paths;
  }

  /// Every path's rate rounded down, at the least scale that carries k trees per weight.
  StatusOr<TreeCount> ByPaths(int64_t k) const {
    MYCEL_ASSIGN_OR_RETURN(const std::vector<PathRate> paths, Paths());
    std::vector<int64_t> amounts;
    for (const PathRate& path : paths) amounts.push_back(path.amount);
    const auto capacities_at = [&](const Rational& scale) -> std::optional<CapacityGraph> {
      CapacityGraph capacities(graph_.node_count);
      for (const PathRate& path : paths) {
        const std::optional<int64_t> whole = Whole(scale, path.amount);
        if (!whole) return std::nullopt;
        for (size_t hop = 1; hop < path.path.size(); ++hop) capacities.Add(path.path[hop - 1], path.path[hop], *whole);
      }
      return capacities;
    };
    const std::optional<Rational> scale =
        Steps(Distinct(std::move(amounts))).LeastFit(Rational(k, WholeCount()), [&](const Rational& tried) {
          const std::optional<CapacityGraph> capacities = capacities_at(tried);
          return !capacities || RootedCut(*capacities, RootTrees(graph_, weights_, k), graph_.ranks).Feasible();
        });
    std::optional<CapacityGraph> capacities = scale ? capacities_at(*scale) : std::nullopt;
    if (!capacities) return TooFine();
    return Measured(k, *std::move(capacities));
  }

  const ScaledGraph& graph_;
  const std::vector<int64_t>& weights_;
  const TreeRates& rates_;
  std::vector<int64_t> capacities_;
  int64_t common_;        // divides every rate
  bool all_used_ = true;  // the rates are the capacities
};

/// Whether k trees per weight can be counted.
bool RootsFit(const std::vector<int64_t>& weights, int64_t k) {
  return int128{k} * std::accumulate(weights.begin(), weights.end(), int64_t{0}) <= kScaledSumMax;
}

}  // namespace

std::vector<int64_t> RootTrees(const ScaledGraph& graph, const std::vector<int64_t>& weights,
                               int64_t trees_per_weight) {
  std::vector<int64_t> trees(static_cast<size_t>(graph.node_count), 0);
  for (size_t rank = 0; rank < weights.size(); ++rank) {
    trees[static_cast<size_t>(graph.ranks[rank])] = weights[rank] * trees_per_weight;
  }
  return trees;
}

StatusOr<TreeRates> FullRates(const ScaledGraph& graph, const Rational& inverse) {
  if (int128{inverse.numerator()} * graph.capacity_sum > kScaledSumMax) return TooFine();
  TreeRates rates;
  // 1 / inverse for a unit of weight; everything times the numerator to make it whole.
  rates.denominator = inverse.numerator();
  rates.root = inverse.denominator();
  for (const ScaledGraph::Edge& edge : graph.edges) rates.links.push_back(edge.capacity * inverse.numerator());
  rates.optimal = true;
  return rates;
}

StatusOr<TreeCount> ExactTreeCount(const ScaledGraph& graph, const std::vector<int64_t>& weights,
                                   const TreeRates& rates) {
  const Counter counter(graph, weights, rates);
  const int64_t whole = counter.WholeCount();
  for (int64_t k = 1; k <= std::min(whole, kSearchedMax) && RootsFit(weights, k); ++k) {
    if (std::optional<TreeCount> count = counter.Exact(k)) return *std::move(count);
  }
  if (!RootsFit(weights, whole)) return TooFine();
  if (std::optional<TreeCount> count = counter.Exact(whole)) return *std::move(count);
  return TooFine();
}

StatusOr<TreeCount> FixedTreeCount(const ScaledGraph& graph, const std::vector<int64_t>& weights,
                                   const TreeRates& rates, int64_t trees_per_weight) {
  if (!RootsFit(weights, trees_per_weight)) return TooFine();
  return Counter(graph, weights, rates).Fixed(trees_per_weight);
}

}  // namespace mycel
