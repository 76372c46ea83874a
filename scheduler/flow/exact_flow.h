// The exact optimum of concurrent flow by linear programs, solved by CLP and proved in fractions (scheduler/lp): for
// small graphs, for graphs with translations, and as the oracle of tests.
#pragma once

#include "scheduler/flow/flow_problem.h"

namespace mycel::flow {

/// Variables of the program that SolveExactly is for, at most; beyond, weights are faster.
inline constexpr int64_t kExactVariablesMax = 1500;

/// One program with a variable for each source and edge (links of one source together, which loses nothing: paths can
/// be read off later). time == bound. Impossible without CLP; InternalError or Timeout where the solver gives up;
/// InvalidArgument where the fractions are too long.
StatusOr<FlowSolution> SolveExactly(const FlowProblem& problem);

/// For few classes of edges: the best lengths of the classes, found by cutting planes, each of which is a tree of
/// shortest ways. The prices of the cuts are the shares of the trees in the best flow. Errors as SolveExactly.
StatusOr<FlowSolution> SolveByCuts(const FlowProblem& problem);

}  // namespace mycel::flow
