// Sabotaged plans, for tests: what Verify must refuse, or what must then run right.
#pragma once

#include <functional>
#include <string>

#include "core/base/rng.h"
#include "core/base/status.h"
#include "core/plan/plan.h"

namespace mycel {

using MutantReport = std::function<void(const std::string& kind, const Plan& mutant)>;

/// Every one-step change of the plan: each op dropped, doubled, swapped, moved; each operand, chunk, skew and channel
/// changed; fewer slots.
void ForEachMutant(const Plan& plan, const MutantReport& report);

/// One random change, out of range as often as not.
void ScrambleOnce(Plan& plan, Rng& rng);

/// Runs a plan that Verify takes with one and with several slices, in several orders; see run_check.h.
Status RunManyWays(const Plan& plan, bool in_place);

}  // namespace mycel
