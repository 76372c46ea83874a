// One order in which the ops of a plan can run when there is one slice: what symbolic execution follows.
#pragma once

#include <cstdint>
#include <vector>

#include "core/plan/verify/flat_plan.h"
#include "core/plan/verify/messages.h"

namespace mycel::verify {

/// All ops, each after everything it needs: its lane, its messages, free slots, its waits. The plan has passed
/// CheckNoDeadlock, so there is such an order.
std::vector<int32_t> FiringOrder(const FlatPlan& flat, const Messages& messages);

}  // namespace mycel::verify
