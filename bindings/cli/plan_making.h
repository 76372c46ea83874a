// From the arguments of `mycel plan` and `mycel sim` to a proved plan with its facts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/rational.h"
#include "core/base/status.h"
#include "core/plan/schedule.h"
#include "core/plan/verify.h"
#include "core/spi/planner.h"
#include "core/topo/topology.h"
#include "scheduler/select/select.h"

namespace mycel::cli {

/// What was said on the command line.
struct PlanArguments {
  std::string topology;
  std::optional<Collective> collective;
  int64_t bytes = 64 << 20;
  std::string planner = "auto";
  std::string demand;  // file; alltoallv only
  int64_t root = -1;   // -1: not given
  int64_t trees_per_root = 0;
  int64_t lanes = 32;
  bool bytes_given = false;
};

/// What is wrong with the command line whatever the files say; empty when nothing is.
std::string UsageError(const PlanArguments& arguments);
/// Reads the demand file, where there is one. InvalidArgument names the argument or the file.
StatusOr<PlanRequest> RequestOf(const PlanArguments& arguments, const Topology& topology);

/// What a schedule's trees look like.
struct TreeFacts {
  int64_t per_root = 0;   // most trees that one root has; equal ones are one
  int64_t units = 0;      // of the root that has most: its trees, equal ones counted as often as there are
  int64_t distinct = 0;   // trees that differ in root or edges
  int64_t depth_max = 0;  // hops from a root to its farthest rank
  int64_t stages = 0;
};
TreeFacts FactsOf(const Schedule& schedule);

struct MadePlan {
  Choice choice;
  TreeFacts trees;
  Status verified;          // OK, or the first broken invariant
  LinkLoads loads;          // recomputed from the plan's own ops and routes
  Rational achieved;        // 1/x in the collective's unit, see throughput_bound.h
  double plan_ms = 0;       // median: choose, lower, verify
  double synthesis_us = 0;  // median, alltoallv only: the schedule alone
};

/// Makes the plan `repeat` times, each from nothing.
StatusOr<MadePlan> MakePlan(const Topology& topology, const PlanRequest& request, int64_t repeat);

/// The costs that a plan for `topology` is chosen by: those of a CPU machine when all its links are shared memory.
CostModel CostModelFor(const Topology& topology);

/// `achieved.inv_x` of DESIGN section 5.
StatusOr<Rational> AchievedInvX(const LinkLoads& loads, Collective collective, int32_t rank_count);
/// "ring" of "ring/two-way".
std::string PlannerName(const Plan& plan);
/// Bytes of the largest temporary memory that a rank needs for `bytes` (nccl-tests' size).
int64_t StagingBytesMax(const Plan& plan, int64_t bytes);

}  // namespace mycel::cli
