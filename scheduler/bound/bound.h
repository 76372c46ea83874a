// The tightest bound known for a request: how fast it can possibly be on a topology, and why. throughput_bound.h knows
// the optimum of collectives that a single node set bounds; this adds what several groups of ranks together prove about
// allreduce, alltoall and alltoallv, and where they leave a gap the optimum of allreduce by a linear program. Where a
// switch lets more out than in (or the reverse) and that matters, another one says what trees can reach that it does
// not copy for (tree_rates.h). Exact. No switch is taken to reduce or to copy, and every byte of an allreduce to be
// reduced at some rank and spread from it.
//
// Why groups bound an allreduce. Let k groups of nodes hold all ranks, and let X bytes be reduced. What enters a group
// in order to be spread, and what leaves it in order to be reduced, is X each, less what is rooted inside; over all
// groups that is 2 (k - 1) X. Spread and reduced bytes alike leave one group for each time they enter one, so as much
// passes the borders inwards (and outwards). With every rank a group of its own this is the well-known 2 (n - 1) / n.
//
// Why groups bound pairs. A message from group g to group h enters at least as many groups as lie on its shortest way;
// summed over all pairs, that many bytes enter groups (and leave them). On a torus of ranks these are the hops.
#pragma once

#include <optional>
#include <string>

#include "core/base/status.h"
#include "core/spi/planner.h"
#include "core/topo/topology.h"
#include "scheduler/bound/allreduce_rates.h"
#include "scheduler/graph/throughput_bound.h"

namespace mycel {

/// Reads collective, root and demand of `request`; alltoallv's inv_x is ns for the whole demand. Unlike OptimumOf it
/// never answers kBestOfMethod: no schedule that leaves copies and sums to the ranks is faster than inv_x. Where
/// switches that copied would be, `cut` is still what bounds those, and the proof says what is what. Impossible, naming
/// ranks, when some are cut off from what they must receive; InvalidArgument when root or demand are wrong or a number
/// leaves 64 bits; it names collective and topology.
StatusOr<Optimum> BoundOf(const Topology& topology, const PlanRequest& request);

/// What is known about allreduce on a topology.
struct AllReduceBound {
  Optimum optimum;   // as BoundOf gives it
  Rational in_turn;  // inv_x of reduce-scatter, then allgather; unbalanced switches may keep trees from it
  bool balanced = true;
  /// Rates that are faster than reduce-scatter followed by allgather, or that pass switches whose two directions
  /// differ; nothing where reduce-scatter and allgather are known to be the best, or rates are not known.
  std::optional<AllReduceRates> rates;
  /// Why the linear program was not solved although the optimum is not known without it; empty otherwise.
  std::string unsolved;
};
/// Errors as BoundOf. A linear program that is too large, or no solver, is no error: the bound is then a lower bound.
StatusOr<AllReduceBound> AllReduceBoundOf(const Topology& topology);

}  // namespace mycel
