#include "scheduler/forest/spanning_forest.h"

#include "core/base/check.h"
#include "scheduler/forest/pack_capacities.h"
#include "scheduler/forest/tree_count.h"
#include "scheduler/graph/scaled_graph.h"
#include "scheduler/graph/throughput_bound.h"

namespace mycel {

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
  MYCEL_ASSIGN_OR_RETURN(TreeCount count, trees_per_weight > 0
                                              ? FixedTreeCount(graph, weights, inverse, trees_per_weight)
                                              : ExactTreeCount(graph, weights, inverse));
  forest.trees_per_weight = count.trees_per_weight;
  forest.inv_x = count.trees_per_unit / Rational(count.trees_per_weight) / unit;

  const std::vector<int64_t> root_trees = RootTrees(graph, weights, count.trees_per_weight);
  MYCEL_ASSIGN_OR_RETURN(forest.trees, PackCapacities(topology, count.capacities, root_trees, reversed));
  return forest;
}

}  // namespace mycel
