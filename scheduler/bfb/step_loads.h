// What breadth-first schedules cost, without making one: the load of the busiest edge in every step, exact.
#pragma once

#include <vector>

#include "core/base/rational.h"
#include "core/base/status.h"
#include "scheduler/bfb/rank_graph.h"

namespace mycel::bfb {

/// loads[t - 1]: shards per unit of capacity over the busiest edge in step t, the least that any schedule can do in
/// which every shard takes every shortest way as early as possible. As many steps as the graph's diameter.
///
/// The (rank, step) problems are independent; problems with equal numbers have equal answers and are solved once, which
/// is all that symmetry is used for. `distances` are the graph's. One thread: 0.05 s for a hypercube of 1024 ranks.
std::vector<Rational> StepLoads(const RankGraph& graph, const std::vector<uint16_t>& distances);

/// The sum, in ns per byte of a rank's shard. InvalidArgument when it leaves 64 bits.
StatusOr<Rational> NsPerByte(const std::vector<Rational>& loads, const Rational& unit);

}  // namespace mycel::bfb
