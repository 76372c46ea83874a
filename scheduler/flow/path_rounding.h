// Paths in whole units: every pair's demand is cut into equally many, few units, since every path of every pair is a
// message. Largest remainders first, then single units move off the busiest edges as long as that helps.
#pragma once

#include <cstdint>
#include <vector>

#include "scheduler/flow/path_peeling.h"

namespace mycel::flow {

/// Makes the weights of each pair's paths whole numbers that add up to `units`, and leaves out those of 0. The time of
/// what results, as in FlowSolution::time.
Rational RoundPaths(const FlowProblem& problem, int64_t units, std::vector<PairPaths>* pairs);

/// Rounds to as few units as come within a hundredth of the best that 1 to 8 of them, or the exact number, give; at
/// most `units_max`. How many they are.
int64_t ChooseUnits(const FlowProblem& problem, int64_t units_max, std::vector<PairPaths>* pairs);

}  // namespace mycel::flow
