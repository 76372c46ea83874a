// Planner "flow": alltoall and alltoallv as maximum concurrent flow (Efficient All-to-All Collective Communication
// Schedules for Direct-Connect Topologies, HPDC 2024): all pairs at once, over relays, as fast as the links allow, with
// a proof of how close to the optimum that is. Blocks are cut into few units, each along its own path, stored and
// forwarded by the ranks that it passes. Variant "whole" never cuts a block: one path a pair, fewest messages.
// See README.md.
#pragma once

#include "core/spi/planner.h"

namespace mycel {

const Planner& FlowPlanner();

}  // namespace mycel
