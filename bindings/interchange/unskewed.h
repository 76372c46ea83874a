// A plan's ops in one order in which they can run, without skews: what exporters walk. Other runtimes pipeline by
// themselves, so skews have no place in their files.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/status.h"
#include "core/plan/plan.h"

namespace mycel {

struct OrderedOp {
  Rank rank;
  int32_t lane = 0;
  Op op;  // operands lie in the plan's list
};

struct UnskewedPlan {
  Plan plan;  // skew 0, each lane's ops in their order of one slice, chunks and units divided by what divides them all
  std::vector<OrderedOp> order;
};

/// Verifies the result. InvalidArgument where the plan is wrong.
StatusOr<UnskewedPlan> UnskewPlan(const Plan& plan);

}  // namespace mycel
