// The search for the best rates of trees: a linear program over root shares and link rates that has one row for every
// cut, of which few matter. Solved by cut generation: the simplex method proposes rates, maximum flows find the node
// sets that they break (rate_cuts.h), those become rows, until there are none. The simplex method only says which rows
// are tight; the corner they describe is then computed and proved in fractions (lp/exact_vertex.h), so that no
// tolerance enters an answer.
#pragma once

#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "core/base/status.h"
#include "core/topo/topology.h"
#include "scheduler/bound/rate_cuts.h"
#include "scheduler/graph/scaled_graph.h"
#include "scheduler/lp/linear_program.h"
#include "scheduler/lp/lp_solver.h"

namespace mycel::bound {

/// Trees that run one way, and which variables stand for them. All directions of a search share the links' capacities.
struct RateDirection {
  bool reversed = false;                   // data run against the links: in-trees
  std::vector<LinearProgram::Term> roots;  // by rank: its share is coefficient (not negative) * variable
  std::vector<int32_t> links;              // by link: the variable of its rate
  std::vector<bool> is_terminal;           // by node: every byte must reach it. Other nodes pass on what they take in.
};

/// Rates in 1 / denominator of the unit of the graph; by direction.
struct FoundRates {
  struct Direction {
    std::vector<int64_t> roots;  // by rank
    std::vector<int64_t> links;  // by link
  };
  int64_t denominator = 1;
  std::vector<Direction> directions;
  /// Whether the rates are the exact optimum. Otherwise they are what doubles found: near it, and may break a cut by
  /// about 1e-6.
  bool exact = false;
  /// The smaller side of the cut with the highest price; empty unless exact.
  std::vector<NodeId> cut;
  int64_t cuts = 0;    // rows of cuts in the end
  int64_t rounds = 0;  // programs solved
};

/// Needs LpSolver::Available(). Keeps references to topology and graph.
class RateSearch {
 public:
  /// `objective`: by variable, what is maximised; there are as many variables as it has entries.
  RateSearch(const Topology& topology, const ScaledGraph& graph, std::vector<RateDirection> directions,
             std::vector<int64_t> objective);

  /// DeadlineExceeded: too many rounds or iterations.
  StatusOr<FoundRates> Run();

 private:
  using Rates = std::vector<FoundRates::Direction>;

  bool AddRow(LinearProgram::Row row);
  void AddBalance(const RateDirection& direction, int32_t node);
  bool AddCut(const RateDirection& direction, const std::vector<int32_t>& inside);
  void AddFirstCuts(const Topology& topology);
  bool Cut(const Rates& rates, int64_t error, int64_t creep);
  std::vector<NodeId> DearestCut(const std::vector<int64_t>& prices) const;
  Rates Fixed(const std::vector<double>& values, double scale) const;
  bool Exact(const std::vector<int64_t>& values, Rates* rates) const;

  const ScaledGraph& graph_;
  std::vector<RateDirection> directions_;
  LinearProgram program_;
  int64_t capacity_max_ = 1;
  std::set<std::vector<int64_t>> known_;  // rows
  std::vector<std::pair<size_t, std::vector<int32_t>>> cut_of_row_;
  std::vector<RateCuts> cuts_;  // by direction
};

}  // namespace mycel::bound
