#include "scheduler/timeflow/stepped_flow.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <string>
#include <utility>

#include "core/base/check.h"
#include "scheduler/lp/exact_vertex.h"
#include "scheduler/lp/lp_solver.h"
#include "scheduler/timeflow/epoch_graph.h"

namespace mycel::timeflow {
namespace {

constexpr int64_t kIterationsMax = 60'000;

/// Steps from every node (row) to every other: a link into a rank takes one, one into a switch none.
std::vector<int32_t> StepDistances(const flow::FlowGraph& graph) {
  const auto n = static_cast<size_t>(graph.node_count());
  std::vector<int32_t> distances(n * n, kFar);
  for (size_t from = 0; from < n; ++from) {
    int32_t* row = &distances[from * n];
    row[from] = 0;
    for (bool moved = true; moved;) {
      moved = false;
      for (const flow::FlowGraph::Edge& edge : graph.edges) {
        const int32_t there = row[edge.source] + (edge.target < graph.rank_count ? 1 : 0);
        if (there >= row[edge.target]) continue;
        row[edge.target] = there;
        moved = true;
      }
    }
  }
  return distances;
}

class Program {
 public:
  Program(const flow::FlowGraph& graph, const flow::Demand& demand, int32_t steps, Ending ending)
      : graph_(graph),
        demand_(demand),
        steps_(steps),
        lengths_(ending == Ending::kEven ? 1 : steps),
        distances_(StepDistances(graph)) {}

  StatusOr<SteppedFlow> Solve() {
    AddVariables();
    if (std::ssize(flows_) + std::ssize(kept_) > kSteppedVariablesMax) {
      return Impossible("the exchange in " + std::to_string(steps_) + " steps has " +
                        std::to_string(flows_.size() + kept_.size()) + " variables; a linear program of at most " +
                        std::to_string(kSteppedVariablesMax) + " is solved: leave the variant out");
    }
    AddRows();
    LpSolver solver(program_);
    MYCEL_ASSIGN_OR_RETURN(const LpSolution found, solver.Solve(kIterationsMax));
    MYCEL_ASSIGN_OR_RETURN(const ExactSolution exact, ExactVertex(program_, found.basis));
    SteppedFlow flow;
    for (int32_t t = 0; t < steps_; ++t) {
      flow.lengths.emplace_back(exact.values[static_cast<size_t>(LengthOf(t))], exact.denominator);
      flow.time += flow.lengths.back();
    }
    values_ = exact.values;
    Peel(exact.denominator, &flow);
    return flow;
  }

 private:
  /// Flow of a source over an edge in a step; what a rank keeps from the end of a step to the next.
  struct Key {
    int32_t source, place, step;
    friend auto operator<=>(const Key&, const Key&) = default;
  };

  int32_t LengthOf(int32_t step) const { return lengths_ == 1 ? 0 : step; }
  int32_t At(int32_t from, int32_t to) const {
    return distances_[static_cast<size_t>(from) * static_cast<size_t>(graph_.node_count()) + static_cast<size_t>(to)];
  }

  /// Whether what is at `node` when `step` steps are over can still reach a rank that wants it from `source`.
  bool Useful(int32_t source, int32_t node, int32_t step) const {
    for (int32_t v = 0; v < graph_.rank_count; ++v) {
      if (demand_.Of(source, v) > 0 && step + At(node, v) <= steps_) return true;
    }
    return false;
  }

  void AddVariables() {
    program_.objective.assign(static_cast<size_t>(lengths_), -1);
    for (int32_t s = 0; s < graph_.rank_count; ++s) {
      for (int32_t t = 0; t < steps_; ++t) {
        for (size_t e = 0; e < graph_.edges.size(); ++e) {
          const flow::FlowGraph::Edge& edge = graph_.edges[e];
          const bool stored = edge.target < graph_.rank_count;
          if (edge.target == s || At(s, edge.source) > t || !Useful(s, edge.target, t + (stored ? 1 : 0))) continue;
          flows_[{s, static_cast<int32_t>(e), t}] = NewVariable();
        }
        for (int32_t v = 0; v < graph_.rank_count; ++v) {
          // Kept after step t, for step t + 1 or, after the last, for good.
          if (v != s && At(s, v) <= t + 1 && t + 1 < steps_ && Useful(s, v, t + 1)) kept_[{s, v, t}] = NewVariable();
        }
      }
    }
  }

  int32_t NewVariable() {
    program_.objective.push_back(0);
    return program_.variable_count() - 1;
  }

  void AddRows() {
    std::map<Key, LinearProgram::Row> nodes;  // source, node, step: what comes and is kept == what leaves and is kept
    std::map<std::pair<int32_t, int32_t>, LinearProgram::Row> links;
    for (const auto& [key, variable] : flows_) {
      const flow::FlowGraph::Edge& edge = graph_.edges[static_cast<size_t>(key.place)];
      const bool stored = edge.target < graph_.rank_count;
      nodes[{key.source, edge.target, key.step + (stored ? 1 : 0)}].terms.push_back({variable, 1});
      if (edge.source != key.source) nodes[{key.source, edge.source, key.step}].terms.push_back({variable, -1});
      links[{key.place, key.step}].terms.push_back({variable, 1});
    }
    for (const auto& [key, variable] : kept_) {
      // Kept from when step `step` is over: in the balance of step + 1 it leaves, in that of step + 2 it comes.
      nodes[{key.source, key.place, key.step + 1}].terms.push_back({variable, -1});
      nodes[{key.source, key.place, key.step + 2}].terms.push_back({variable, 1});
    }
    for (auto& [key, row] : nodes) {
      row.equal = true;
      if (key.step == steps_) row.limit = demand_.Of(key.source, key.place);
      program_.rows.push_back(std::move(row));
    }
    for (auto& [key, row] : links) {
      row.terms.push_back({LengthOf(key.second), -graph_.edges[static_cast<size_t>(key.first)].capacity});
      program_.rows.push_back(std::move(row));
    }
  }

  /// Paths off the solution, from each target's last step backwards; there are no circles in time.
  void Peel(int64_t denominator, SteppedFlow* flow) {
    std::vector<std::vector<int32_t>> in(static_cast<size_t>(graph_.node_count()));
    for (size_t e = 0; e < graph_.edges.size(); ++e) {
      in[static_cast<size_t>(graph_.edges[e].target)].push_back(static_cast<int32_t>(e));
    }
    for (int32_t s = 0; s < graph_.rank_count; ++s) {
      for (int32_t target = 0; target < graph_.rank_count; ++target) {
        std::map<std::vector<int32_t>, int64_t> amounts;
        MYCEL_CHECK_LE(demand_.Of(s, target), (int64_t{1} << 62) / denominator);
        for (int64_t left = demand_.Of(s, target) * denominator; left > 0;) {
          std::vector<int32_t> edges;
          const int64_t width = Walk(s, target, left, in, &edges);
          amounts[edges] += width;
          left -= width;
        }
        const size_t first = flow->paths.size();
        for (const auto& [edges, amount] : amounts) {
          flow->paths.push_back({s, target, Rational(amount, denominator), edges});
        }
        std::stable_sort(flow->paths.begin() + static_cast<std::ptrdiff_t>(first), flow->paths.end(),
                         [](const auto& a, const auto& b) { return a.amount > b.amount; });
      }
    }
  }

  int64_t Walk(int32_t source, int32_t target, int64_t width, const std::vector<std::vector<int32_t>>& in,
               std::vector<int32_t>* edges) {
    std::vector<int32_t> variables;
    int32_t node = target;
    for (int32_t step = steps_; node != source;) {  // `node` has it when `step` steps are over
      int32_t widest = -1, by = -1;
      int64_t most = 0;
      const auto consider = [&](const std::map<Key, int32_t>& of, const Key& key, int32_t edge) {
        const auto at = of.find(key);
        if (at == of.end() || values_[static_cast<size_t>(at->second)] <= most) return;
        most = values_[static_cast<size_t>(at->second)];
        widest = at->second;
        by = edge;
      };
      const bool stored = node < graph_.rank_count;
      for (const int32_t e : in[static_cast<size_t>(node)]) consider(flows_, {source, e, step - (stored ? 1 : 0)}, e);
      if (stored) consider(kept_, {source, node, step - 2}, -1);
      MYCEL_CHECK_GE(widest, 0);  // what leaves a node has come
      variables.push_back(widest);
      width = std::min(width, most);
      if (stored) --step;
      if (by < 0) continue;
      edges->push_back(by);
      node = graph_.edges[static_cast<size_t>(by)].source;
    }
    for (const int32_t variable : variables) values_[static_cast<size_t>(variable)] -= width;
    std::reverse(edges->begin(), edges->end());
    return width;
  }

  const flow::FlowGraph& graph_;
  const flow::Demand& demand_;
  int32_t steps_, lengths_;
  std::vector<int32_t> distances_;
  std::map<Key, int32_t> flows_, kept_;
  LinearProgram program_;
  std::vector<int64_t> values_;
};

}  // namespace

int32_t StepsApart(const flow::FlowGraph& graph, const flow::Demand& demand) {
  const std::vector<int32_t> distances = StepDistances(graph);
  int32_t most = 0;
  for (int32_t s = 0; s < graph.rank_count; ++s) {
    for (int32_t v = 0; v < graph.rank_count; ++v) {
      if (demand.Of(s, v) == 0) continue;
      const auto at = static_cast<size_t>(s) * static_cast<size_t>(graph.node_count()) + static_cast<size_t>(v);
      most = std::max(most, distances[at]);
    }
  }
  return most;
}

StatusOr<SteppedFlow> SolveSteppedFlow(const flow::FlowGraph& graph, const flow::Demand& demand, int32_t steps,
                                       Ending ending) {
  const int32_t apart = StepsApart(graph, demand);
  if (apart > steps) {
    return Impossible(apart >= kFar ? "a pair that has something to exchange has no way"
                                    : "the farthest pair is " + std::to_string(apart) + " steps apart, not " +
                                          std::to_string(steps));
  }
  if (apart == 0) return SteppedFlow();  // nothing is exchanged
  return Program(graph, demand, steps, ending).Solve();
}

}  // namespace mycel::timeflow
