// Steps of a schedule and how long the busiest link works in each, recounted from its trees and routes: what a planner
// says of its steps is compared with this, never believed.
#pragma once

#include <vector>

#include "core/base/rational.h"
#include "core/base/status.h"
#include "core/plan/schedule.h"
#include "core/topo/topology.h"

namespace mycel {

struct StepCost {
  std::vector<Rational> loads;  // by step: ns per byte of a rank's shard (allreduce too), or of the message if rooted
  Rational inv_x;               // their sum: with a barrier after each step
};

/// Step s of a tree's down part is its hops into depth s. Up parts are their mirror image: the hops out of depth d take
/// step D - d + 1, D being the greatest depth of any up part; down parts come after. InvalidArgument: the schedule has
/// stages (they have no steps of this kind), edges that are out of order, or fractions that leave 64 bits.
StatusOr<StepCost> StepCostOf(const Schedule& schedule, const Topology& topology);

}  // namespace mycel
