// How many trees per root, and how many of them each link carries: the step from the optimum 1/x* = p/q to integers.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/rational.h"
#include "core/base/status.h"
#include "scheduler/bound/tree_rates.h"
#include "scheduler/graph/capacity_graph.h"
#include "scheduler/graph/scaled_graph.h"

namespace mycel {

/// `trees_per_weight` trees for each unit of root weight, and in `capacities` how many trees each link may carry, as
/// many into every switch as out of it. A tree carries 1 / trees_per_weight of a byte of weight; a link of capacity b
/// (in the graph's unit) carries at most `trees_per_unit` * b trees, so the schedule takes trees_per_unit /
/// trees_per_weight ns per byte in the graph's unit.
struct TreeCount {
  int64_t trees_per_weight = 0;
  Rational trees_per_unit;
  CapacityGraph capacities{0};
};

/// Trees rooted at each NODE of the graph, from weights by RANK.
std::vector<int64_t> RootTrees(const ScaledGraph& graph, const std::vector<int64_t>& weights, int64_t trees_per_weight);

/// The links' full capacities as rates: what FindTreeRates would say where every switch is balanced. `inverse`: the
/// optimum weight / capacity in the graph's unit; inv_x is not filled in. InvalidArgument: numbers leave 62 bits.
StatusOr<TreeRates> FullRates(const ScaledGraph& graph, const Rational& inverse);

/// The first k for which capacities rounded down, or `rates` rounded down, still carry k trees per weight as fast as
/// `rates` say; at the latest the one that makes every rate whole. Where switches are balanced in both directions of
/// every link that is the smallest exact k. Otherwise rounding may have to be repaired (BalanceSwitches), which is
/// greedy: the smallest k is then as hard to find as a Hamiltonian path. InvalidArgument: numbers leave 62 bits.
StatusOr<TreeCount> ExactTreeCount(const ScaledGraph& graph, const std::vector<int64_t>& weights,
                                   const TreeRates& rates);

/// The fastest schedule found with exactly `trees_per_weight` trees: the least trees_per_unit whose capacities, rounded
/// down and balanced, carry them. Never worse than rounding down the paths that `rates` take through the switches,
/// which costs at most 1 / (least path), and at most 1 / (least capacity) where nothing has to be balanced (ForestColl,
/// section 5.5). InvalidArgument: numbers leave 62 bits.
StatusOr<TreeCount> FixedTreeCount(const ScaledGraph& graph, const std::vector<int64_t>& weights,
                                   const TreeRates& rates, int64_t trees_per_weight);

}  // namespace mycel
