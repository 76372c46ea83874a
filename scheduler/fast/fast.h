// Planner "fast": skewed alltoallv between servers. What a server has for another leaves by all its ways out evenly
// (rebalancing inside the server), in one-to-one stages between servers, along rails, and is passed on inside the
// target server while the next stage is under way.
//
// Built from the model of FAST (Lei, Liu, Zhao et al., NSDI 2026; arXiv 2505.09764) with decompositions of our own.
// Serves alltoallv and alltoall wherever the ranks of a server, and the rails between servers, are joined. Variants
// name a decomposition: exact, lazy, quantised, grouped; without one the cheapest is chosen.
#pragma once

#include <cstdint>

#include "core/base/status.h"
#include "core/plan/schedule.h"
#include "core/spi/planner.h"
#include "core/topo/topology.h"

namespace mycel {

const Planner& FastPlanner();

/// The way back: from an alltoallv's schedule of paths the schedule of the transposed demand (MoE: combine from
/// dispatch), with every path walked from its end and the last stage first. No second synthesis. InvalidArgument when a
/// tree is no path, or a route has no way back in `topology`.
StatusOr<Schedule> ReversedAllToAllV(const Schedule& schedule, const Topology& topology);

}  // namespace mycel
