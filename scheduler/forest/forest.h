// Planner "forest": throughput-optimal spanning trees with a proof (ForestColl). See README.md.
#pragma once

#include "core/spi/planner.h"

namespace mycel {

/// allgather, reduce_scatter, allreduce, broadcast, reduce on any topology whose switches unicast can pass.
const Planner& ForestPlanner();

}  // namespace mycel
