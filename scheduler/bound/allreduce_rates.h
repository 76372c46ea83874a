// The fastest allreduce that reduces every byte at some rank and spreads it from there, as rates: how much each rank is
// root of, and how much of each link's bandwidth reduces and how much spreads (ForestColl, appendix G; formulation in
// the cut form below). Reduce-scatter followed by allgather makes all ranks equal roots and uses the links for one
// thing at a time; where ranks or links differ, unequal roots that do both at once can be faster.
//
//   max sum of x_v                          x_v: rank v's share as a root
//   spread_e + reduce_e <= bandwidth_e      on every link
//   spread in == out, reduce in == out      at every switch
//   spread into T  >= sum of x outside T    for every node set T with a rank
//   reduce out of T >= sum of x outside T   for every node set T with a rank
//
// Trees rooted as x says fit into `spread`, and into `reduce` turned around, if and only if all the cuts hold (Edmonds,
// Frank; Bang-Jensen, Frank and Jackson through balanced switches). Cuts are found as they are needed: the simplex
// method proposes rates, maximum flows find the sets T that they break, and those become rows.
//
// A switch that copies (reduces) may be promoted: it becomes a place that every spread (reduced) byte must reach, and
// need not be balanced for that direction, since the trees may branch (join) in it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/rational.h"
#include "core/base/status.h"
#include "core/topo/topology.h"

namespace mycel {

/// Rates in 1 / denominator of the unit of ScaleCapacities(topology).
struct AllReduceRates {
  int64_t denominator = 1;
  std::vector<int64_t> roots;   // by rank
  std::vector<int64_t> spread;  // by link
  std::vector<int64_t> reduce;  // by link
  /// ns per byte of one of n shards, as throughput_bound.h counts: n / (sum of roots in GB/s).
  Rational inv_x;
  /// Whether the rates hold every cut exactly. Otherwise they are what doubles found, may break a cut by about 1e-6,
  /// and inv_x is only near.
  bool exact = false;
  /// Whether no rates are better, proved by the prices of links and cuts, or by RateOptions::inv_x_bound.
  bool optimal = false;
  /// The smaller side of the cut with the highest price, without which more would be possible; empty unless such prices
  /// are known.
  std::vector<NodeId> cut;
  int64_t cuts = 0;    // rows that the program had in the end
  int64_t rounds = 0;  // programs solved
};

struct RateOptions {
  /// Switches that copy what is spread, and that reduce; by node, all false when empty.
  std::vector<bool> copies;
  std::vector<bool> reduces;
  /// What no rates can beat, if known: rates that reach it need no other proof.
  std::optional<Rational> inv_x_bound = std::nullopt;
  /// When ranks + 2 * links are more, only rates that are alike for all ranks and links that look alike (symmetry.h)
  /// are sought, and they may not be the best. 2,300 variables (256 ranks on a grid or in 32 servers) take half a
  /// second.
  int64_t variables_max = 2500;
};

/// Impossible: ranks are cut off from each other, the program is too large even so, or no solver is built in.
/// DeadlineExceeded: too many rounds or iterations. InvalidArgument: bandwidths without a common unit.
StatusOr<AllReduceRates> FindAllReduceRates(const Topology& topology, const RateOptions& options = {});

}  // namespace mycel
