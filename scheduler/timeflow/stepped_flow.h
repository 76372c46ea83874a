// SteppedFlow: what is to be exchanged without copies as one linear program over steps: tsMCF of "Efficient All-to-All
// Collective Communication Schedules for Direct-Connect Topologies" (HPDC 2024, arXiv 2309.13541). Ranks store and
// forward from step to step, switches pass on within the step; a step lasts as long as its busiest link, and the sum is
// least. It is never below the time of the concurrent flow (scheduler/flow) and reaches it with steps enough.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/rational.h"
#include "core/base/status.h"
#include "scheduler/flow/flow_graph.h"

namespace mycel::timeflow {

/// Variables of the linear program, at most: the simplex method takes seconds beyond.
inline constexpr int64_t kSteppedVariablesMax = 8000;

enum class Ending : uint8_t {
  kLeastSum,  // steps as long as each needs
  kEven,      // all steps equally long: the least length
};

struct SteppedFlow {
  /// An amount from `source` to `target` over `edges` of the graph, in order.
  struct Path {
    int32_t source;
    int32_t target;
    Rational amount;
    std::vector<int32_t> edges;
  };
  std::vector<Rational> lengths;  // by step: amounts over capacities; of equal steps each is the same
  Rational time;                  // their sum, proved least for so many steps
  std::vector<Path> paths;        // by source, then target, widest first; they carry the demand
};

/// Exact: the linear program's corner in fractions, with its proof. Impossible: a pair is more than `steps` apart, the
/// program has more than kSteppedVariablesMax variables, or no CLP is built in; other errors are scheduler/lp's.
StatusOr<SteppedFlow> SolveSteppedFlow(const flow::FlowGraph& graph, const flow::Demand& demand, int32_t steps,
                                       Ending ending);

/// Steps that the farthest pair of `demand` needs; kFar (epoch_graph.h) when one has no way.
int32_t StepsApart(const flow::FlowGraph& graph, const flow::Demand& demand);

}  // namespace mycel::timeflow
