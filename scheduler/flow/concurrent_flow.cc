#include "scheduler/flow/concurrent_flow.h"

#include <algorithm>
#include <utility>

#include "scheduler/flow/exact_flow.h"
#include "scheduler/flow/weights.h"

namespace mycel::flow {
namespace {

/// More classes of edges than this are left to the weights: cuts would be many.
constexpr int64_t kCutClassesMax = 16;
/// Gaps to stop at, in permille, and the ranks beyond which the wider one does.
constexpr int32_t kGapPermille = 10, kWideGapPermille = 20;
constexpr int32_t kWideGapRanks = 256;

}  // namespace

std::string_view NameOf(FlowMethod method) {
  switch (method) {
    case FlowMethod::kTranslations:
      return "translations";
    case FlowMethod::kExact:
      return "linear program";
    case FlowMethod::kWeights:
      return "multiplicative weights";
  }
  return "?";
}

StatusOr<std::unique_ptr<ConcurrentFlow>> ConcurrentFlow::Make(const Topology& topology, const PlanRequest& request) {
  auto made = std::make_unique<ConcurrentFlow>();
  MYCEL_ASSIGN_OR_RETURN(made->demand_, DemandOf(topology, request));
  MYCEL_ASSIGN_OR_RETURN(made->graph_, FlowGraphOf(topology));
  MYCEL_ASSIGN_OR_RETURN(made->hops_, HopsOf(made->graph_, made->demand_, topology));
  if (made->hops_ > 0) made->Solve();
  return made;
}

void ConcurrentFlow::Solve() {
  if (demand_.uniform()) translations_ = Translations::Find(graph_);
  problem_.emplace(translations_ ? TranslatedProblem(graph_, demand_, *translations_)
                                 : GeneralProblem(graph_, demand_));
  const auto take = [this](StatusOr<FlowSolution> exact, FlowMethod method) {
    if (!exact.ok()) return false;  // the weights always answer
    solution_ = *std::move(exact);
    method_ = method;
    return true;
  };
  if (translations_) {
    if (std::ssize(problem_->class_capacity) <= kCutClassesMax &&
        take(SolveByCuts(*problem_), FlowMethod::kTranslations)) {
      return;
    }
  } else if (std::ssize(graph_.edges) * graph_.rank_count <= kExactVariablesMax &&
             take(SolveExactly(*problem_), FlowMethod::kExact)) {
    return;
  }
  WeightOptions options;
  options.gap_permille = graph_.rank_count > kWideGapRanks ? kWideGapPermille : kGapPermille;
  solution_ = SolveByWeights(*problem_, options);
}

double FlowFacts::gap() const { return bound == Rational(0) ? 0 : inv_x.ToDouble() / bound.ToDouble() - 1; }

StatusOr<FlowFacts> FlowFactsOf(const Topology& topology, const PlanRequest& request) {
  MYCEL_ASSIGN_OR_RETURN(const std::unique_ptr<ConcurrentFlow> flow, ConcurrentFlow::Make(topology, request));
  FlowFacts facts;
  facts.method = flow->method();
  if (flow->empty()) return facts;
  const FlowSolution& solution = flow->solution();
  facts.rounds = solution.rounds;
  const auto ns = [&](const Rational& time, bool up) {
    const Rational& unit = flow->graph().unit;
    const int128 numerator = int128{time.numerator()} * unit.denominator();
    const int128 denominator = int128{time.denominator()} * unit.numerator();
    return up ? RoundedUp(numerator, denominator) : RoundedDown(numerator, denominator);
  };
  facts.inv_x = ns(solution.time, true);
  facts.bound = ns(solution.bound, false);
  return facts;
}

}  // namespace mycel::flow
