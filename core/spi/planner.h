// Planner: a pure function from a topology and a request to a schedule. No threads, clocks, files or devices; equal
// inputs give equal schedules on every rank.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/rational.h"
#include "core/base/status.h"
#include "core/plan/collective.h"
#include "core/plan/plan.h"
#include "core/plan/schedule.h"
#include "core/topo/topology.h"

namespace mycel {

/// What is to be planned.
struct PlanRequest {
  Collective collective = Collective::kAllReduce;
  Rank root;  // rooted collectives
  /// nccl-tests' size: the whole vector (all_reduce, broadcast, reduce), n x block for the others.
  int64_t bytes = 0;
  std::string planner = "auto";  // a planner's name, or "auto"
  std::string variant;           // e.g. "one-shot", "two-shot" for direct; empty: the planner's choice by cost
  int32_t trees_per_root = 0;    // 0: the planner's choice
  int32_t lanes = 1;             // at most this many lanes
  int32_t lanes_min = 1;         // at least this many, where the schedule has work for them
  bool in_place = false;
  std::vector<int64_t> demand;  // alltoallv: rank_count x rank_count bytes, row = sender
  /// Reductions: every element is one op over the ranks' own data in rank order (CheckRankOrder in core/plan/verify.h).
  bool reproducible = false;
};

/// OK, or InvalidArgument when a rooted request names no rank of the topology.
inline Status CheckRoot(const Topology& topology, const PlanRequest& request) {
  if (!InfoOf(request.collective).rooted) return OkStatus();
  const int32_t root = request.root.value();
  if (root >= 0 && root < topology.rank_count()) return OkStatus();
  return InvalidArgument(std::string(NameOf(request.collective)) + " needs a root in 0.." +
                         std::to_string(topology.rank_count() - 1) + ", not " + std::to_string(root));
}

class Planner {
 public:
  virtual ~Planner() = default;
  virtual std::string_view name() const = 0;
  /// One sentence for `mycel plan --explain`.
  virtual std::string_view summary() const = 0;
  /// OK, or Impossible with the reason (wrong collective, ring that does not close, ...).
  virtual Status Serves(const Topology& topology, const PlanRequest& request) const = 0;
  /// OK, or why the planner stays out of a contest although it serves the request when it is asked by name: it cannot
  /// win there, or its schedule would take too long. Cheap; whether the planner serves the request is asked apart.
  virtual Status Contends(const Topology& topology, const PlanRequest& request) const {
    (void)topology, (void)request;
    return OkStatus();
  }
  /// Variants worth comparing when the request names none; {""} when there is only one way.
  virtual std::vector<std::string> VariantsFor(const Topology& topology, const PlanRequest& request) const {
    (void)topology, (void)request;
    return {std::string()};
  }
  /// A schedule whose every edge has a route in the topology.
  virtual StatusOr<Schedule> MakeSchedule(const Topology& topology, const PlanRequest& request) const = 0;
};

}  // namespace mycel
