// What `mycel plan` prints about a plan: one JSON object whose keys are a contract, or a page for people.
#pragma once

#include <optional>
#include <string>

#include "bindings/cli/exchange_facts.h"
#include "bindings/cli/plan_making.h"
#include "core/spi/planner.h"
#include "core/topo/topology.h"
#include "scheduler/bfb/step_cost.h"
#include "scheduler/bound/in_network.h"
#include "scheduler/flow/concurrent_flow.h"
#include "scheduler/graph/throughput_bound.h"
#include "scheduler/timeflow/timeflow.h"

namespace mycel::cli {

/// Everything that is known about one made plan.
struct PlanReport {
  const Topology& topology;
  const PlanRequest& request;
  const MadePlan& made;
  const Optimum& optimum;
  double scheduled_us = 0;  // alltoallv: simulated
  /// Planner bfb only: its steps, recounted.
  std::optional<StepCost> steps = std::nullopt;
  /// Planner flow only: the flow that its paths were cut from, and what it proves.
  std::optional<flow::FlowFacts> flow = std::nullopt;
  /// Planner timeflow only, where it searched: epochs, and the bound that proves them.
  std::optional<timeflow::TimeFacts> epochs = std::nullopt;
  /// What the topology's switches that copy or reduce would be worth; no plan uses them. Nothing when there are none.
  std::optional<InNetwork> in_network = std::nullopt;
  std::string in_network_unknown = {};  // why it could not be computed
  /// alltoallv, where it is to be explained or drawn, and its servers are joined.
  std::optional<ExchangeFacts> exchange = std::nullopt;
};

std::string PlanJson(const PlanReport& report);
std::string PlanText(const PlanReport& report);

/// The long answer: why this planner, what bounds the collective, what each link carries, what to expect.
/// InvalidArgument when the plan cannot be simulated.
StatusOr<std::string> ExplainPlan(const PlanReport& report);

/// "92.9 %"; "100 %" only of a plan that reaches the optimum, "99.99 %" at most of others. achieved must not be 0.
std::string ShareOfOptimum(const PlanReport& report);
/// "0.737 %": how far `inv_x` is above `bound`, rounded up; "0 %" only where they are equal.
std::string GapText(const Rational& inv_x, const Rational& bound);
/// GB/s of a plan or bound of `inv_x` in nccl-tests' sense of size, alltoallv included; 0 when nothing moves.
double AlgbwOf(const PlanRequest& request, int32_t rank_count, const Rational& inv_x);
/// "ns per byte of a rank's shard".
std::string UnitOf(Collective collective);

}  // namespace mycel::cli
