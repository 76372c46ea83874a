// The schedule of a stepped flow (stepped_flow.h): paths of fractions for demands without copies.
#pragma once

#include "core/base/status.h"
#include "core/plan/schedule.h"
#include "core/spi/planner.h"
#include "core/topo/topology.h"

namespace mycel::timeflow {

/// Of alltoall, alltoallv, gather and scatter. Blocks are cut at the paths' exact fractions where 1/60 or more of a
/// block is their common unit, else to the nearest 1/16. Impossible for other collectives, and as SolveSteppedFlow
/// says.
StatusOr<Schedule> FluidSchedule(const Topology& topology, const PlanRequest& request);

}  // namespace mycel::timeflow
