// Where a communicator's plans come from: a plan file, the plan store on disk, or the chooser.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "core/plan/plan.h"
#include "core/runtime/plan_cache.h"
#include "core/topo/topology.h"
#include "scheduler/select/cost_model.h"

namespace mycel {

/// Planners that make alltoallv and nothing else, and alltoall too: where one is named, other collectives (those inside
/// an alltoallv and barriers among them) are left to the chooser.
inline constexpr char kVectorPlanner[] = "fast";
inline constexpr char kExchangePlanner[] = "flow";

/// What all ranks have agreed on, and where this rank keeps plans.
struct PlanSourceParts {
  std::string planner;  // a name or "auto"
  std::shared_ptr<const Topology> topology;
  std::shared_ptr<const Plan> from_file;  // verified; null when there is none
  CostModel cost;
  int32_t lanes_min = 1;
  int32_t lanes_max = 1;
  std::string store_folder;  // of plan_store.h; empty keeps none
  std::string transport;     // for the log: "shm, direct reads off: rank 1 ..."
  /// Plans that take longer to make are kept: reading one back takes about a tenth of a millisecond and more.
  int64_t kept_from_ns = 5'000'000;
};

/// A pure function of `parts`, but for the store: a kept plan is the one that would be made (see plan_store.h).
PlanSource MakePlanSource(PlanSourceParts parts);
/// Both directions of an alltoallv from one synthesis: the way back is the schedule's reversal. Planned anew where
/// there is none: of a plan file, and of topologies with links of one direction.
PlanPairSource MakePlanPairSource(PlanSourceParts parts);

/// How long, in microseconds, what MakePlanSource's plan serves takes by the chooser's estimate, for exactly
/// `request.bytes`. Nothing is kept or looked up. InvalidUsage where the plan comes from a file.
using TimeSource = std::function<StatusOr<double>(const PlanRequest&)>;
TimeSource MakeTimeSource(PlanSourceParts parts);

}  // namespace mycel
