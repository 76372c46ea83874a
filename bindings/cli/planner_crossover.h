// From which size on the trees of planner forest beat the steps of planner bfb: few steps win while latency decides,
// balanced links once bandwidth does.
#pragma once

#include <string>

#include "bindings/cli/plan_report.h"

namespace mycel::cli {

/// For a plan of planner bfb or forest, where both serve the request: their simulated times from 1 KiB to 1 GiB and the
/// size from which forest is the faster one. One line instead where that would take more than about two seconds. Empty
/// otherwise. Errors: InvalidArgument when a plan cannot be simulated.
StatusOr<std::string> PlannerCrossoverText(const PlanReport& report);

}  // namespace mycel::cli
