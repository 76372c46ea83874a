// From a source's flow to paths: cycles are cancelled, then for each destination paths are traced back along the widest
// edges that still carry something and taken off. Exact: the paths of a destination carry what it was to get, and no
// edge more than the flow had.
#pragma once

#include <cstdint>
#include <vector>

#include "scheduler/flow/flow_problem.h"

namespace mycel::flow {

struct WeightedPath {
  std::vector<int32_t> edges;  // from the source on
  int64_t weight = 0;          // > 0
};

/// The paths from one source to one target, heaviest first; their weights add up to the solution's amount times the
/// demand.
struct PairPaths {
  int32_t source = 0;
  int32_t target = 0;
  std::vector<WeightedPath> paths;
};

/// Pairs by source (in the problem's order), then target; pairs without demand are left out.
std::vector<PairPaths> PeelPaths(const FlowProblem& problem, const FlowSolution& solution);

}  // namespace mycel::flow
