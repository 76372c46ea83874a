#include "scheduler/flow/exact_flow.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <string>
#include <utility>

#include "core/base/check.h"
#include "scheduler/flow/shortest_tree.h"
#include "scheduler/flow/weights.h"
#include "scheduler/lp/exact_vertex.h"
#include "scheduler/lp/lp_solver.h"

namespace mycel::flow {
namespace {

constexpr int64_t kIterationsMax = 20'000;
constexpr int32_t kCutsMax = 400;
/// Flows are integers of at most `amount` times what is demanded.
constexpr int64_t kAmountMax = int64_t{1} << 20;
constexpr int64_t kFlowMax = int64_t{1} << 62;

/// Divides everything by the common divisor; the exact answer's time is its own bound.
StatusOr<FlowSolution> Finish(const FlowProblem& problem, FlowSolution solution) {
  int64_t common = solution.amount;
  for (const std::vector<int64_t>& flow : solution.flow) {
    for (const int64_t load : flow) common = std::gcd(common, load);
  }
  solution.amount /= common;
  for (std::vector<int64_t>& flow : solution.flow) {
    for (int64_t& load : flow) load /= common;
  }
  if (solution.amount > std::min(kAmountMax, kFlowMax / problem.demand.total))
    return InvalidArgument("the optimal flow's fractions are too fine to be used");
  solution.time = TimeOf(problem, solution.flow, solution.amount);
  if (solution.time < solution.bound) return InternalError("a flow that is faster than its own bound");
  return solution;
}

/// Trees of shortest ways as rows of a linear program over the lengths of classes: maximise t, t <= what tree k costs.
class Cuts {
 public:
  explicit Cuts(const FlowProblem& problem)
      : problem_(problem), classes_(problem.class_capacity.size()), tree_(problem.graph) {
    program_.objective.assign(classes_ + 1, 0);
    program_.objective[classes_] = 1;
    LinearProgram::Row budget;
    for (size_t c = 0; c < classes_; ++c) budget.terms.push_back({static_cast<int32_t>(c), problem.class_capacity[c]});
    budget.limit = 1;
    program_.rows.push_back(std::move(budget));
  }

  /// The number of the tree of shortest ways under `lengths` (by class); added unless one has the same loads.
  size_t Add(const std::vector<int64_t>& lengths) {
    std::vector<int64_t> edge_lengths(problem_.graph.edges.size());
    for (size_t e = 0; e < edge_lengths.size(); ++e) {
      edge_lengths[e] = lengths[static_cast<size_t>(problem_.class_of[e])];
    }
    std::vector<int64_t> loads(classes_);
    std::vector<std::vector<int64_t>> flow;
    for (const int32_t source : problem_.sources) {
      std::vector<int64_t>& of_source = flow.emplace_back(problem_.graph.edges.size());
      tree_.Grow(source, edge_lengths);
      tree_.ForEachLoad(source, problem_.demand, [&](int32_t edge, int64_t amount) {
        of_source[static_cast<size_t>(edge)] += amount;
        loads[static_cast<size_t>(problem_.class_of[static_cast<size_t>(edge)])] += amount;
      });
    }
    const auto [at, fresh] = known_.try_emplace(loads, flows_.size());
    if (!fresh) return at->second;
    LinearProgram::Row row;
    row.terms.push_back({static_cast<int32_t>(classes_), 1});
    for (size_t c = 0; c < classes_; ++c) {
      if (loads[c] > 0) row.terms.push_back({static_cast<int32_t>(c), -loads[c]});
    }
    program_.rows.push_back(std::move(row));
    flows_.push_back(std::move(flow));
    return at->second;
  }

  StatusOr<FlowSolution> Run() {
    const int64_t least = *std::min_element(problem_.class_capacity.begin(), problem_.class_capacity.end());
    std::vector<int64_t> lengths;
    for (const int64_t capacity : problem_.class_capacity) {
      lengths.push_back(std::max<int64_t>(1, static_cast<int64_t>((int128{least} << 20) / capacity)));
    }
    Add(lengths);
    std::vector<int64_t> centre = lengths;
    LpSolver solver(program_);
    for (int32_t round = 1; round <= kCutsMax; ++round) {
      MYCEL_ASSIGN_OR_RETURN(const LpSolution found, solver.Solve(kIterationsMax));
      MYCEL_ASSIGN_OR_RETURN(const ExactSolution exact, ExactVertex(program_, found.basis));
      lengths.assign(exact.values.begin(), exact.values.begin() + static_cast<std::ptrdiff_t>(classes_));
      if (*std::max_element(lengths.begin(), lengths.end()) > kLengthMax) {
        return InvalidArgument("the best lengths' fractions are too fine");
      }
      // Half way to the last good lengths a cut tends to be deeper; the corner itself is asked when that finds nothing.
      std::vector<int64_t> between(classes_);
      for (size_t c = 0; c < classes_; ++c) between[c] = (lengths[c] + centre[c]) / 2;
      const size_t cuts = flows_.size();
      if (Add(between) >= cuts) centre = between;
      const bool optimal = Add(lengths) < cuts;  // the corner satisfies that cut already
      for (size_t row = cuts + 1; row < program_.rows.size(); ++row) solver.AddRow(program_.rows[row]);
      if (!optimal) continue;
      return Mix(exact, lengths, round);
    }
    return TimeoutError("no optimum within " + std::to_string(kCutsMax) + " cuts");
  }

 private:
  /// The trees' prices are their shares.
  StatusOr<FlowSolution> Mix(const ExactSolution& exact, const std::vector<int64_t>& lengths, int32_t rounds) const {
    FlowSolution solution;
    solution.rounds = rounds;
    solution.flow.assign(problem_.sources.size(), std::vector<int64_t>(problem_.graph.edges.size()));
    if (exact.price_denominator > kAmountMax) return InvalidArgument("the trees' shares are too fine");
    for (size_t k = 0; k < flows_.size() && k + 1 < exact.prices.size(); ++k) {
      const int64_t share = exact.prices[k + 1];  // row 0 is the budget
      if (share == 0) continue;
      solution.amount += share;
      for (size_t s = 0; s < solution.flow.size(); ++s) {
        for (size_t e = 0; e < solution.flow[s].size(); ++e) solution.flow[s][e] += share * flows_[k][s][e];
      }
    }
    solution.bound = BoundOfLengths(problem_, lengths);
    return Finish(problem_, std::move(solution));
  }

  const FlowProblem& problem_;
  size_t classes_;
  ShortestTree tree_;
  LinearProgram program_;  // lengths of classes, then t
  std::map<std::vector<int64_t>, size_t> known_;
  std::vector<std::vector<std::vector<int64_t>>> flows_;  // by tree, source, edge
};

/// maximise F; what enters a node less what leaves it is F times what it is to get.
LinearProgram ProgramOf(const FlowProblem& problem) {
  const FlowGraph& graph = problem.graph;
  const auto edges = static_cast<int32_t>(graph.edges.size());
  const auto sources = static_cast<int32_t>(problem.sources.size());
  LinearProgram program;
  program.objective.assign(static_cast<size_t>(sources) * graph.edges.size() + 1, 0);
  program.objective.back() = 1;
  std::vector<LinearProgram::Row> budgets(problem.class_capacity.size());
  for (size_t c = 0; c < budgets.size(); ++c) budgets[c].limit = problem.class_capacity[c];
  for (int32_t s = 0; s < sources; ++s) {
    const int32_t source = problem.sources[static_cast<size_t>(s)];
    std::vector<LinearProgram::Row> nodes(graph.nodes.size());
    for (int32_t e = 0; e < edges; ++e) {
      const FlowGraph::Edge& edge = graph.edges[static_cast<size_t>(e)];
      const int32_t variable = s * edges + e;
      nodes[static_cast<size_t>(edge.target)].terms.push_back({variable, 1});
      nodes[static_cast<size_t>(edge.source)].terms.push_back({variable, -1});
      budgets[static_cast<size_t>(problem.class_of[static_cast<size_t>(e)])].terms.push_back({variable, 1});
    }
    for (size_t v = 0; v < nodes.size(); ++v) {
      if (static_cast<int32_t>(v) == source) continue;
      const int64_t wanted =
          static_cast<int32_t>(v) < graph.rank_count ? problem.demand.Of(source, static_cast<int32_t>(v)) : 0;
      if (wanted > 0) nodes[v].terms.push_back({sources * edges, -wanted});
      nodes[v].equal = true;
      if (!nodes[v].terms.empty()) program.rows.push_back(std::move(nodes[v]));
    }
  }
  for (LinearProgram::Row& budget : budgets) program.rows.push_back(std::move(budget));
  return program;
}

}  // namespace

StatusOr<FlowSolution> SolveExactly(const FlowProblem& problem) {
  const LinearProgram program = ProgramOf(problem);
  LpSolver solver(program);
  MYCEL_ASSIGN_OR_RETURN(const LpSolution found, solver.Solve(kIterationsMax));
  MYCEL_ASSIGN_OR_RETURN(const ExactSolution exact, ExactVertex(program, found.basis));
  FlowSolution solution;
  solution.rounds = static_cast<int32_t>(found.iterations);
  solution.amount = exact.values.back();
  MYCEL_CHECK_GT(solution.amount, 0);
  const size_t edges = problem.graph.edges.size();
  for (size_t s = 0; s < problem.sources.size(); ++s) {
    const auto begin = exact.values.begin() + static_cast<std::ptrdiff_t>(s * edges);
    solution.flow.emplace_back(begin, begin + static_cast<std::ptrdiff_t>(edges));
  }
  // The program's prices prove that F is the most there is: time is at least its inverse.
  solution.bound = RoundedDown(exact.denominator, solution.amount);
  return Finish(problem, std::move(solution));
}

StatusOr<FlowSolution> SolveByCuts(const FlowProblem& problem) { return Cuts(problem).Run(); }

}  // namespace mycel::flow
