// The fastest spanning trees that pass switches without being copied (or summed) inside them, as rates: how much of
// each link's bandwidth they use. Where every switch has as much bandwidth in as out, all of it, and the cut bound of
// graph/throughput_bound.h is the optimum. Elsewhere the surplus of a switch is of use only to copies, which a cut does
// not see, and the optimum is that of a linear program:
//
//   max x                              x: what one unit of weight spreads
//   rate_e <= bandwidth_e              on every link
//   rate in == rate out                at every switch
//   rate into T >= x * (weight outside T)   for every node set T with a rank
//
// Trees rooted as the weights say fit into `rate` if and only if all the cuts hold (Edmonds, Frank; Bang-Jensen, Frank
// and Jackson through balanced switches); and any schedule without copies or sums in switches leaves such rates behind,
// so none is faster.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/rational.h"
#include "core/base/status.h"
#include "core/topo/topology.h"

namespace mycel {

/// Rates in 1 / denominator of the unit of ScaleCapacities(topology). They hold every cut exactly.
struct TreeRates {
  int64_t denominator = 1;
  int64_t root = 0;            // of one unit of weight
  std::vector<int64_t> links;  // by link; as much into every switch as out of it
  Rational inv_x;              // ns per byte of one unit of weight
  /// Whether no rates are better: they meet the cut bound, or the prices of links and cuts prove it.
  bool optimal = false;
  /// The smaller side of the cut with the highest price; empty when the cut bound is met or nothing is proved.
  std::vector<NodeId> cut;
  int64_t cuts = 0;  // rows that the linear program had; 0: it was not asked
};

struct TreeRateOptions {
  /// When 1 + links are more, only rates that are alike for links that look alike (symmetry.h) are sought, and they may
  /// not be the best.
  int64_t variables_max = 2500;
};

/// Out-trees with weights[rank] shares at each root; in-trees are those of the reversed topology. `cut_bound`: inv_x of
/// WeightedAllGatherOptimum for them, not 0. Surplus that can be left unused without loss is, without a linear program.
/// Impossible: the program is too large, or no solver is built in (the message says only which). InvalidArgument:
/// bandwidths or weights too fine for exact fractions. DeadlineExceeded: too many rounds or iterations.
StatusOr<TreeRates> FindTreeRates(const Topology& topology, const std::vector<int64_t>& weights,
                                  const Rational& cut_bound, const TreeRateOptions& options = {});

/// "switch w (2 GB/s in, 4 GB/s out)"; of several the first, with how many more there are. Empty when all are balanced.
std::string UnbalancedText(const Topology& topology);

}  // namespace mycel
