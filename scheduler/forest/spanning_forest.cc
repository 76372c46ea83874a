#include "scheduler/forest/spanning_forest.h"

#include <algorithm>

#include "core/base/check.h"
#include "core/base/int128.h"
#include "scheduler/bound/tree_rates.h"
#include "scheduler/forest/pack_capacities.h"
#include "scheduler/forest/tree_count.h"
#include "scheduler/graph/scaled_graph.h"
#include "scheduler/graph/throughput_bound.h"
#include "scheduler/lp/lp_solver.h"

namespace mycel {
namespace {

/// `why` no rates are known that leave every switch as much in as out; only Impossible needs more words.
Status WithoutRates(const Topology& topology, const Rational& cut_bound, const Status& why) {
  if (why.code() != StatusCode::kUnimplemented) return why;
  return Impossible("trees cannot reach the cut bound of " + cut_bound.ToString() + " ns a byte on topology " +
                    topology.name() + " without copies or sums inside " + UnbalancedText(topology) +
                    ", and the best they can reach is not known: " + StatusMessage(why) +
                    "; make what enters the switch equal to what leaves it" +
                    (LpSolver::Available() ? "" : ", or build with that package"));
}

/// ns per byte of one unit of weight, by what the busiest link carries.
StatusOr<Rational> InvX(const Topology& topology, const SpanningForest& forest) {
  std::vector<int64_t> trees_on(topology.links().size(), 0);
  for (const ForestTree& tree : forest.trees) {
    for (const ForestEdge& edge : tree.edges) {
      for (size_t hop = 1; hop < edge.path.size(); ++hop) {
        trees_on[topology.FindLink(edge.path[hop - 1], edge.path[hop]).index()] += tree.multiplicity;
      }
    }
  }
  Rational busiest;
  for (size_t link = 0; link < trees_on.size(); ++link) {
    const Rational& bandwidth = topology.links()[link].bandwidth;
    MYCEL_ASSIGN_OR_RETURN(const Rational load,
                           Rational::TryMake(int128{trees_on[link]} * bandwidth.denominator(), bandwidth.numerator()));
    busiest = std::max(busiest, load);
  }
  return Rational::TryMultiply(busiest, Rational(1, forest.trees_per_weight));
}

}  // namespace

StatusOr<SpanningForest> PackSpanningForest(const Topology& original, const std::vector<int64_t>& weights,
                                            int64_t trees_per_weight, bool reversed) {
  MYCEL_CHECK_EQ(weights.size(), static_cast<size_t>(original.rank_count()));
  const Topology topology = reversed ? Reversed(original) : original;
  MYCEL_ASSIGN_OR_RETURN(const Optimum optimum, WeightedAllGatherOptimum(topology, weights));
  SpanningForest forest;
  forest.optimum = optimum.inv_x;
  if (topology.rank_count() == 1) {
    forest.trees_per_weight = 1;
    forest.trees.push_back({Rank(0), weights[0], {}});
    return forest;
  }
  if (optimum.inv_x == Rational(0)) return InvalidArgument("every rank's share is empty: nothing to plan");

  MYCEL_ASSIGN_OR_RETURN(const ScaledGraph graph, ScaleCapacities(topology));
  MYCEL_ASSIGN_OR_RETURN(const Rational unit, Rational::TryMake(graph.unit_numerator, graph.unit_denominator));
  MYCEL_ASSIGN_OR_RETURN(const Rational inverse, Rational::TryMultiply(optimum.inv_x, unit));
  StatusOr<TreeRates> rates =
      graph.SwitchesBalanced() ? FullRates(graph, inverse) : FindTreeRates(topology, weights, optimum.inv_x);
  if (!rates.ok()) return WithoutRates(original, optimum.inv_x, rates.status());
  if (!graph.SwitchesBalanced()) forest.optimum = rates->inv_x;
  MYCEL_ASSIGN_OR_RETURN(TreeCount count, trees_per_weight > 0
                                              ? FixedTreeCount(graph, weights, *rates, trees_per_weight)
                                              : ExactTreeCount(graph, weights, *rates));
  forest.trees_per_weight = count.trees_per_weight;

  const std::vector<int64_t> root_trees = RootTrees(graph, weights, count.trees_per_weight);
  MYCEL_ASSIGN_OR_RETURN(forest.trees, PackCapacities(topology, count.capacities, root_trees, reversed));
  MYCEL_ASSIGN_OR_RETURN(forest.inv_x, InvX(original, forest));
  return forest;
}

}  // namespace mycel
