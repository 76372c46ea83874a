// Random alltoallv schedules over relays, for tests of what carries plans, whoever makes them.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/rng.h"
#include "core/base/status.h"
#include "core/plan/schedule.h"
#include "core/topo/topology.h"

namespace mycel {

/// Every block of `demand` (bytes, row = sender) in parts, each over up to two relays, in up to three stages.
/// Impossible where the topology does not join two ranks through switches.
StatusOr<Schedule> RelaySchedule(const Topology& topology, const std::vector<int64_t>& demand, Rng* rng);

}  // namespace mycel
