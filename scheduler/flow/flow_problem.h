// What the solvers of concurrent flow work on and what they answer. A flow of amount A carries A times the demand; its
// time (for the demand once, at capacity 1 in the graph's unit) is the largest of load / (A * capacity).
//
// Edges may be put into classes that share one length and one budget: where the graph looks the same from every rank
// (translations.h), one source stands for all, and the load that its translates put on any edge of a class is what the
// source alone puts on the whole class.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/int128.h"
#include "core/base/rational.h"
#include "core/base/status.h"
#include "scheduler/flow/flow_graph.h"

namespace mycel::flow {

struct FlowProblem {
  const FlowGraph& graph;
  const Demand& demand;
  std::vector<int32_t> sources;         // whose demand is routed
  std::vector<int32_t> class_of;        // by edge
  std::vector<int64_t> class_capacity;  // by class: of one of its edges
};

/// All sources, every edge a class.
FlowProblem GeneralProblem(const FlowGraph& graph, const Demand& demand);

struct FlowSolution {
  std::vector<std::vector<int64_t>> flow;  // by source (FlowProblem::sources), then edge
  int64_t amount = 0;                      // every pair's flow is `amount` times its demand
  Rational time;                           // what the flow takes
  Rational bound;                          // what every flow takes at least; time >= bound
  int32_t rounds = 0;                      // of the solver
};

/// The time of a flow: the largest load over capacity. Rounded up where the fraction would not fit.
Rational TimeOf(const FlowProblem& problem, const std::vector<std::vector<int64_t>>& flow, int64_t amount);

/// numerator / denominator > 0, in 60 bits: exact where it fits, else rounded down (up).
Rational RoundedDown(int128 numerator, int128 denominator);
Rational RoundedUp(int128 numerator, int128 denominator);

}  // namespace mycel::flow
