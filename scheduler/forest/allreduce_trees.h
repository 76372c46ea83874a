// From allreduce rates (bound/allreduce_rates.h) to trees: as many in-trees as out-trees at each root, together within
// the rates.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/rational.h"
#include "core/base/status.h"
#include "core/topo/topology.h"
#include "scheduler/bound/allreduce_rates.h"
#include "scheduler/forest/spanning_forest.h"

namespace mycel {

/// Every tree, in `up` as in `down`, carries an equal part of the vector; a root has as many of each.
struct AllReduceTrees {
  std::vector<ForestTree> up;    // by root, in rank order; edges parent first, in the direction data flow
  std::vector<ForestTree> down;  // likewise
  int64_t count = 0;             // in-trees, with multiplicity; out-trees likewise
  Rational inv_x;                // no more than this, as AllReduceRates counts; theirs unless they had to be rounded
};

/// The smallest exact number of trees: the first multiple of the roots' ratio for which rates rounded down still carry
/// the trees. Where the rates are not exact, or that number exceeds `trees_max`, `trees_max` trees (but at most 65536)
/// with roots rounded to them: close to the rates, and inv_x says how close. InternalError when no scale carries them.
StatusOr<AllReduceTrees> PackAllReduceTrees(const Topology& topology, const AllReduceRates& rates,
                                            int64_t trees_max = int64_t{1} << 30);

}  // namespace mycel
