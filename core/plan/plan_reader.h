// Tokens -> Plan: walks the tokens of a plan file as the format says (plan_json.h).
#pragma once

#include <string>

#include "core/base/status.h"
#include "core/plan/plan.h"
#include "core/plan/plan_tokens.h"

namespace mycel {

/// A plan that passes CheckStructure, or InvalidArgument "FILE:LINE: where in the plan: what is wrong; what to do".
StatusOr<Plan> ReadPlanTokens(const Tokens& tokens, const std::string& file_name);

}  // namespace mycel
