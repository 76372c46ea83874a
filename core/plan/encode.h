// Plan -> Program: one rank's ops as POD instructions.
#pragma once

#include "core/base/ids.h"
#include "core/base/status.h"
#include "core/plan/plan.h"
#include "core/plan/program.h"

namespace mycel {

/// The program of `rank`. The plan must be verified: a broken one stops in MYCEL_CHECK.
Program Encode(const Plan& plan, Rank rank);

}  // namespace mycel
