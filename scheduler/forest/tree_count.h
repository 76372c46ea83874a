// How many trees per root, and how many of them each link carries: the step from the optimum 1/x* = p/q to integers.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/rational.h"
#include "core/base/status.h"
#include "scheduler/graph/capacity_graph.h"
#include "scheduler/graph/scaled_graph.h"

namespace mycel {

/// `trees_per_weight` trees for each unit of root weight, and in `capacities` how many trees each link may carry. A
/// tree carries 1 / trees_per_weight of a byte of weight; a link of capacity b (in the graph's unit) carries at most
/// `trees_per_unit` * b trees, so the schedule takes trees_per_unit / trees_per_weight ns per byte in the graph's unit.
struct TreeCount {
  int64_t trees_per_weight = 0;
  Rational trees_per_unit;
  CapacityGraph capacities{0};
};

/// Trees rooted at each NODE of the graph, from weights by RANK.
std::vector<int64_t> RootTrees(const ScaledGraph& graph, const std::vector<int64_t>& weights, int64_t trees_per_weight);

/// Rounding down can leave a switch with more on one side; takes the surplus away unit by unit where the trees do not
/// need it. False when some switch stays unbalanced or the trees do not fit. `root_trees` by node.
bool BalanceSwitches(const ScaledGraph& graph, const std::vector<int64_t>& root_trees, CapacityGraph* capacities);

/// The smallest exact count: the first k for which capacities rounded down still carry k trees per weight (ForestColl's
/// rule gives an upper bound, gcd of the optimum's denominator and the capacities). `inverse`: the optimum weight /
/// capacity in the graph's unit. Impossible when the links' two directions differ so that a switch stays unbalanced.
StatusOr<TreeCount> ExactTreeCount(const ScaledGraph& graph, const std::vector<int64_t>& weights,
                                   const Rational& inverse);

/// The fastest schedule with exactly `trees_per_weight` trees: the least trees_per_unit that carries them. At most
/// x* / (k * least capacity) slower than the optimum (ForestColl, section 5.5). Impossible as above.
StatusOr<TreeCount> FixedTreeCount(const ScaledGraph& graph, const std::vector<int64_t>& weights,
                                   const Rational& inverse, int64_t trees_per_weight);

}  // namespace mycel
