// Running a plan on made-up data and comparing every byte with the contract: the test's oracle.
#pragma once

#include "core/base/status.h"
#include "core/plan/interpret.h"
#include "core/plan/plan.h"

namespace mycel {

/// OK when the plan run by the interpreter gives what the contract promises, and leaves the send buffers alone unless
/// in place. The data are small whole numbers, exact in every type, and none is neutral to a sum: each contribution
/// that is missing or doubled shows. At most 16 ranks.
Status CheckByRunning(const Plan& plan, const InterpretRequest& request);

}  // namespace mycel
