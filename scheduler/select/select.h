// The chooser: which planner, which variant, how sliced? Every candidate gets a closed-form estimate (estimate.h); on a
// fabric the best few are then lowered and simulated. On a host the estimate alone decides, since the choice lies on
// the path of the first call. Deterministic: equal inputs give equal plans on every rank; ties go to the lower name.
#pragma once

#include <string>
#include <vector>

#include "core/base/status.h"
#include "core/plan/plan.h"
#include "core/plan/schedule.h"
#include "core/spi/planner.h"
#include "core/topo/topology.h"
#include "scheduler/select/cost_model.h"
#include "scheduler/select/planners.h"

namespace mycel {

/// One way to serve a request.
struct Candidate {
  std::string planner;  // Schedule::planner: "direct/two-shot"
  int64_t slice_bytes = 0;
  bool pipelined = false;
  int32_t lanes = 1;
  Protocol protocol = Protocol::kSlot;
  double estimated_us = 0;
  double simulated_us = -1;  // -1: not simulated
  std::string refused;       // why the planner or variant does not serve; then there are no numbers
};

/// "direct/two-shot, slices of 32768 bytes, pipelined, 1 lane, slot".
std::string Describe(const Candidate& candidate);

struct Choice {
  Plan plan;
  Schedule schedule;               // what `plan` was lowered from
  std::string reason;              // one line: the winner, its time, and what it beat
  std::vector<Candidate> contest;  // best first, refused ones last
};

/// The best plan for `request` by `cost`. Impossible, with every planner's reason, when nobody serves it;
/// InvalidArgument for an unknown planner or variant, or a bad root or demand.
StatusOr<Choice> ChoosePlan(const Topology& topology, const PlanRequest& request, const CostModel& cost);

/// The plan for an alltoallv's traffic sent back: the schedule that won `request`, reversed (fast/fast.h) and lowered
/// as it was. No second synthesis and no contest. InvalidArgument where a route has no way back.
StatusOr<Plan> PlanWayBack(const Choice& choice, const Topology& topology, const PlanRequest& request,
                           const CostModel& cost);

}  // namespace mycel
