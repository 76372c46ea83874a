// Concurrent flow for alltoall and alltoallv: all pairs at once as fast as the links allow, by whichever method fits,
// with a proof of how close to the optimum it is.
#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include "scheduler/flow/flow_problem.h"
#include "scheduler/flow/translations.h"

namespace mycel::flow {

enum class FlowMethod : uint8_t {
  kTranslations,  // one source for all, exact
  kExact,         // one linear program, exact
  kWeights,       // multiplicative weights, within a gap that is known
};
std::string_view NameOf(FlowMethod method);

/// A flow with what it was made from. `problem` refers to `graph` and `demand`, so it stays where it was made.
class ConcurrentFlow {
 public:
  /// Impossible, naming a pair, when it has something to exchange but no way; InvalidArgument for a bad demand or
  /// bandwidths that are too fine.
  static StatusOr<std::unique_ptr<ConcurrentFlow>> Make(const Topology& topology, const PlanRequest& request);

  const FlowGraph& graph() const { return graph_; }
  const Demand& demand() const { return demand_; }
  const FlowProblem& problem() const { return *problem_; }
  const FlowSolution& solution() const { return solution_; }
  FlowMethod method() const { return method_; }
  /// Where one source stands for all.
  const std::optional<Translations>& translations() const { return translations_; }
  int64_t hops() const { return hops_; }  // of all pairs' shortest ways
  bool empty() const { return hops_ == 0; }

 private:
  void Solve();

  FlowGraph graph_;
  Demand demand_;
  std::optional<Translations> translations_;
  std::optional<FlowProblem> problem_;
  FlowSolution solution_;
  FlowMethod method_ = FlowMethod::kWeights;
  int64_t hops_ = 0;
};

/// What is known about the best flow, for eyes and reports.
struct FlowFacts {
  FlowMethod method = FlowMethod::kWeights;
  Rational inv_x;  // of the flow before it is cut into units, as in throughput_bound.h
  Rational bound;  // no schedule takes less; inv_x >= bound
  int32_t rounds = 0;
  bool exact() const { return inv_x == bound; }
  double gap() const;  // inv_x / bound - 1
};
StatusOr<FlowFacts> FlowFactsOf(const Topology& topology, const PlanRequest& request);

}  // namespace mycel::flow
