// How fast a collective could be if the switches that say so ("multicast", "aggregate") copied and reduced. A switch is
// promoted to a place that every spread (or reduced) byte reaches and that roots nothing: trees then branch (or join)
// in it, and enter (or leave) it once. Only a number: no plan of ours uses a switch in this way, since no device of
// ours can; buffers and group counts of real switches are not modelled.
#pragma once

#include <optional>
#include <vector>

#include "core/base/rational.h"
#include "core/base/status.h"
#include "core/plan/collective.h"
#include "core/topo/topology.h"

namespace mycel {

struct InNetwork {
  Rational inv_x;                // as throughput_bound.h counts
  std::vector<NodeId> copying;   // promoted switches, ascending
  std::vector<NodeId> reducing;  // likewise
};

/// allgather and reduce_scatter: the same optimum as ever (a copy saves egress, not what must cross a cut), with the
/// switches that can be promoted at that rate: those that could take in everything. allreduce: the optimum of the
/// linear program over root shares, the best of promoting all switches that say so and have the bandwidth, those of
/// them that belong to a server, those that do not (beyond its size the best rates that are
/// alike). Nothing for other collectives, without such switches, or when
/// promoting none of them is as fast.
///
/// Impossible: ranks are cut off from each other, or the linear program cannot be solved (too large, no solver).
StatusOr<std::optional<InNetwork>> InNetworkOptimum(const Topology& topology, Collective collective);

}  // namespace mycel
