// Concurrent flow by multiplicative weights: as close to the optimum as one likes, with a proof of how close, in
// integers. After Garg and Koenemann (FOCS 1998) and Fleischer (2000), commodities of one source together.
//
// Every edge has a length. Round by round each source sends its demand down a tree of shortest ways, and the edges that
// carry it grow by the factor 1 + epsilon * load / (capacity * time). What all rounds sent, divided by their number, is
// a flow; any lengths at all prove, by linear-program duality, that no flow is faster than
//     sum over pairs of demand * distance  /  sum over edges of capacity * length.
// Large epsilons find the region, small ones the optimum: epsilon starts at 1/2 and halves whenever the flow stops
// getting better, the lengths stay and the flow starts afresh. That takes a quarter to an eighth of the rounds of a
// fixed small epsilon.
#pragma once

#include "scheduler/flow/flow_problem.h"

namespace mycel::flow {

struct WeightOptions {
  int32_t gap_permille = 10;  // stop when time <= bound * (1 + gap / 1000)
  int32_t rounds_max = 0;     // stop in any case; 0: as many as a few seconds, or a minute for a thousand ranks, allow
};

/// All pairs with demand must be joined (HopsOf), and there must be one. Rounds: some dozens to some hundreds, each a
/// search from every source.
FlowSolution SolveByWeights(const FlowProblem& problem, const WeightOptions& options);

/// What the lengths (by class, in [0, kLengthMax], not all 0) prove: no flow takes less.
Rational BoundOfLengths(const FlowProblem& problem, const std::vector<int64_t>& length_of_class);

}  // namespace mycel::flow
