#include "scheduler/bound/allreduce_rates.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "core/base/check.h"
#include "core/base/int128.h"
#include "scheduler/bound/partition.h"
#include "scheduler/bound/rate_cuts.h"
#include "scheduler/graph/scaled_graph.h"
#include "scheduler/lp/exact_vertex.h"
#include "scheduler/lp/lp_solver.h"

namespace mycel {
namespace {

using bound::RateCuts;

constexpr int64_t kRoundsMax = 400;
constexpr int64_t kIterationsMax = 200'000;  // of one round
/// Doubles become integers of the largest bandwidth / 2^40; what the simplex method may be wrong by, and what is added
/// to each link so that of equal cuts the one with the fewest links is found.
constexpr int64_t kFixedOne = int64_t{1} << 40;
constexpr int64_t kFixedError = kFixedOne / 1'000'000;

enum class Direction { kSpread, kReduce };

/// The program, its cuts so far, and the solver that goes on with it.
class RateProgram {
 public:
  RateProgram(const Topology& topology, const ScaledGraph& graph, const RateOptions& options)
      : topology_(topology),
        graph_(graph),
        rank_of_(static_cast<size_t>(graph.node_count), -1),
        copies_(options.copies),
        reduces_(options.reduces) {
    copies_.resize(rank_of_.size(), false);
    reduces_.resize(rank_of_.size(), false);
    for (size_t rank = 0; rank < graph.ranks.size(); ++rank) {
      rank_of_[static_cast<size_t>(graph.ranks[rank])] = static_cast<int32_t>(rank);
    }
    program_.objective.assign(graph.ranks.size() + 2 * graph.edges.size(), 0);
    std::fill_n(program_.objective.begin(), graph.ranks.size(), 1);
    for (size_t edge = 0; edge < graph.edges.size(); ++edge) {
      capacity_max_ = std::max(capacity_max_, graph.edges[edge].capacity);
      program_.rows.push_back({{{Variable(Direction::kSpread, edge), 1}, {Variable(Direction::kReduce, edge), 1}},
                               graph.edges[edge].capacity,
                               false});
    }
    for (int32_t node = 0; node < graph.node_count; ++node) {
      for (const Direction direction : {Direction::kSpread, Direction::kReduce}) {
        if (!IsTerminal(direction, node)) AddBalance(direction, node);
      }
    }
    AddFirstCuts();
  }

  const LinearProgram& program() const { return program_; }
  int64_t capacity_max() const { return capacity_max_; }
  int64_t cuts() const { return static_cast<int64_t>(cut_of_row_.size()); }
  size_t VariableOf(Direction direction, size_t edge) const { return static_cast<size_t>(Variable(direction, edge)); }
  /// What every byte of this direction must reach.
  bool IsTerminal(Direction direction, int32_t node) const {
    const auto at = static_cast<size_t>(node);
    return rank_of_[at] >= 0 || (direction == Direction::kSpread ? copies_[at] : reduces_[at]);
  }
  std::vector<int32_t> Terminals(Direction direction) const {
    std::vector<int32_t> terminals;
    for (int32_t node = 0; node < graph_.node_count; ++node) {
      if (IsTerminal(direction, node)) terminals.push_back(node);
    }
    return terminals;
  }

  /// False: the program has this cut already.
  bool AddCut(Direction direction, const std::vector<int32_t>& inside) {
    if (!known_.insert({direction, inside}).second) return false;
    std::vector<bool> is_inside(rank_of_.size(), false);
    for (const int32_t node : inside) is_inside[static_cast<size_t>(node)] = true;
    LinearProgram::Row row;
    for (size_t rank = 0; rank < graph_.ranks.size(); ++rank) {
      if (!is_inside[static_cast<size_t>(graph_.ranks[rank])]) row.terms.push_back({static_cast<int32_t>(rank), 1});
    }
    for (size_t edge = 0; edge < graph_.edges.size(); ++edge) {
      const auto [source, target, capacity] = graph_.edges[edge];
      const bool enters = !is_inside[static_cast<size_t>(source)] && is_inside[static_cast<size_t>(target)];
      const bool leaves = is_inside[static_cast<size_t>(source)] && !is_inside[static_cast<size_t>(target)];
      if (direction == Direction::kSpread ? enters : leaves) row.terms.push_back({Variable(direction, edge), -1});
    }
    program_.rows.push_back(std::move(row));
    cut_of_row_.emplace_back(program_.rows.size() - 1, inside);
    return true;
  }

  /// The cut whose price is highest, its smaller side.
  std::vector<NodeId> DearestCut(const std::vector<int64_t>& prices) const {
    const std::vector<int32_t>* best = nullptr;
    int64_t most = 0;
    for (const auto& [row, inside] : cut_of_row_) {
      if (prices[row] > most || (prices[row] == most && most > 0 && inside.size() < best->size())) {
        most = prices[row];
        best = &inside;
      }
    }
    std::vector<NodeId> nodes;
    if (best == nullptr) return nodes;
    const bool turn = 2 * best->size() > rank_of_.size();
    for (int32_t node = 0; node < graph_.node_count; ++node) {
      if (std::binary_search(best->begin(), best->end(), node) != turn) nodes.emplace_back(node);
    }
    return nodes;
  }

 private:
  int32_t Variable(Direction direction, size_t edge) const {
    const size_t links_before = direction == Direction::kSpread ? 0 : graph_.edges.size();
    return static_cast<int32_t>(graph_.ranks.size() + links_before + edge);
  }

  void AddBalance(Direction direction, int32_t node) {
    LinearProgram::Row row;
    row.equal = true;
    for (size_t edge = 0; edge < graph_.edges.size(); ++edge) {
      const bool enters = graph_.edges[edge].target == node;
      if (enters || graph_.edges[edge].source == node)
        row.terms.push_back({Variable(direction, edge), enters ? 1 : -1});
    }
    if (!row.terms.empty()) program_.rows.push_back(std::move(row));
  }

  /// Both sides of the borders that usually bind: of every rank, pair, server.
  void AddFirstCuts() {
    std::vector<std::vector<int32_t>> sides;
    for (const int32_t node : graph_.ranks) sides.push_back({node});
    for (const bound::Partition& partition : bound::PartitionsOf(topology_)) {
      std::vector<std::vector<int32_t>> groups(static_cast<size_t>(partition.groups));
      for (int32_t node = 0; node < graph_.node_count; ++node) {
        const int32_t group = partition.group_of[static_cast<size_t>(node)];
        if (group >= 0) groups[static_cast<size_t>(group)].push_back(node);
      }
      sides.insert(sides.end(), groups.begin(), groups.end());
    }
    for (const std::vector<int32_t>& side : sides) {
      std::vector<int32_t> other;
      for (int32_t node = 0; node < graph_.node_count; ++node) {
        if (!std::binary_search(side.begin(), side.end(), node)) other.push_back(node);
      }
      for (const Direction direction : {Direction::kSpread, Direction::kReduce}) {
        AddCut(direction, side);
        AddCut(direction, other);
      }
    }
  }

  const Topology& topology_;
  const ScaledGraph& graph_;
  std::vector<int32_t> rank_of_;  // by node
  std::vector<bool> copies_;
  std::vector<bool> reduces_;
  LinearProgram program_;
  int64_t capacity_max_ = 1;
  std::set<std::pair<Direction, std::vector<int32_t>>> known_;
  std::vector<std::pair<size_t, std::vector<int32_t>>> cut_of_row_;
};

/// Solves, cuts and solves again.
class RateSearch {
 public:
  RateSearch(const Topology& topology, const ScaledGraph& graph, const RateOptions& options)
      : graph_(graph),
        rates_(topology, graph, options),
        solver_(rates_.program()),
        spread_cuts_(graph, false, rates_.Terminals(Direction::kSpread)),
        reduce_cuts_(graph, true, rates_.Terminals(Direction::kReduce)) {}

  StatusOr<AllReduceRates> Run() {
    for (int64_t round = 1; round <= kRoundsMax; ++round) {
      MYCEL_ASSIGN_OR_RETURN(const LpSolution solution, solver_.Solve(kIterationsMax));
      const double scale = static_cast<double>(kFixedOne) / static_cast<double>(rates_.capacity_max());
      if (Cut(Fixed(solution.values, scale), kFixedError, kFixedError)) continue;
      const StatusOr<ExactSolution> exact = ExactVertex(rates_.program(), solution.basis);
      const bool in_range = exact.ok() && SumsFit(exact->values);
      if (in_range ? Cut(exact->values, 0, 0) : Cut(Fixed(solution.values, scale), kFixedError, 0)) continue;
      const int64_t parts = std::max<int64_t>(1, kFixedOne / rates_.capacity_max());
      AllReduceRates rates = in_range ? Take(exact->values, exact->denominator)
                                      : Take(Fixed(solution.values, static_cast<double>(parts)), parts);
      rates.exact = in_range;
      if (in_range) rates.cut = rates_.DearestCut(exact->prices);
      rates.rounds = round;
      rates.cuts = rates_.cuts();
      return rates;
    }
    return TimeoutError("the linear program over root shares still broke a cut after " + std::to_string(kRoundsMax) +
                        " rounds");
  }

 private:
  static std::vector<int64_t> Fixed(const std::vector<double>& values, double scale) {
    std::vector<int64_t> fixed;
    for (const double value : values) fixed.push_back(std::max<int64_t>(0, std::llround(value * scale)));
    return fixed;
  }

  /// Flows are sums of roots and of links into a node.
  static bool SumsFit(const std::vector<int64_t>& values) {
    int128 sum = 0;
    for (const int64_t value : values) sum += value;
    return sum <= kScaledSumMax;
  }

  /// Adds the cuts that `values` break by more than `error`; false when there are none.
  bool Cut(const std::vector<int64_t>& values, int64_t error, int64_t creep) {
    const std::vector<int64_t> roots(values.begin(), values.begin() + std::ssize(graph_.ranks));
    bool added = false;
    for (const Direction direction : {Direction::kSpread, Direction::kReduce}) {
      const auto first = values.begin() + static_cast<int64_t>(rates_.VariableOf(direction, 0));
      const std::vector<int64_t> links(first, first + std::ssize(graph_.edges));
      RateCuts& cuts = direction == Direction::kSpread ? spread_cuts_ : reduce_cuts_;
      for (const std::vector<int32_t>& inside : cuts.Broken(roots, links, error, creep)) {
        if (!rates_.AddCut(direction, inside)) continue;
        solver_.AddRow(rates_.program().rows.back());
        added = true;
      }
    }
    return added;
  }

  AllReduceRates Take(const std::vector<int64_t>& values, int64_t denominator) const {
    AllReduceRates rates;
    const auto ranks = std::ssize(graph_.ranks);
    const auto links = std::ssize(graph_.edges);
    rates.denominator = denominator;
    rates.roots.assign(values.begin(), values.begin() + ranks);
    rates.spread.assign(values.begin() + ranks, values.begin() + ranks + links);
    rates.reduce.assign(values.begin() + ranks + links, values.end());
    return rates;
  }

  const ScaledGraph& graph_;
  RateProgram rates_;
  LpSolver solver_;
  RateCuts spread_cuts_;
  RateCuts reduce_cuts_;
};

}  // namespace

StatusOr<AllReduceRates> FindAllReduceRates(const Topology& topology, const RateOptions& options) {
  MYCEL_RETURN_IF_ERROR(CheckConnected(topology));
  MYCEL_ASSIGN_OR_RETURN(const ScaledGraph graph, ScaleCapacities(topology));
  if (topology.rank_count() == 1) return InvalidArgument("one rank has nothing to reduce");
  if (!LpSolver::Available()) {
    return Impossible("this build has no linear-program solver (coinor-libclp-dev)");
  }
  const int64_t variables = std::ssize(graph.ranks) + 2 * std::ssize(graph.edges);
  if (variables > options.variables_max) {
    return Impossible("the linear program over root shares would have " + std::to_string(variables) +
                      " variables, more than " + std::to_string(options.variables_max));
  }
  MYCEL_ASSIGN_OR_RETURN(AllReduceRates rates, RateSearch(topology, graph, options).Run());
  const int128 sum = std::accumulate(rates.roots.begin(), rates.roots.end(), int128{0});
  if (sum == 0) return Impossible("no byte reaches all promoted switches of topology " + topology.name());
  MYCEL_ASSIGN_OR_RETURN(const Rational units, Rational::TryMake(sum, rates.denominator));
  MYCEL_ASSIGN_OR_RETURN(const Rational unit, Rational::TryMake(graph.unit_numerator, graph.unit_denominator));
  MYCEL_ASSIGN_OR_RETURN(const Rational algbw, Rational::TryMultiply(units, unit));
  MYCEL_ASSIGN_OR_RETURN(rates.inv_x,
                         Rational::TryMake(int128{topology.rank_count()} * algbw.denominator(), algbw.numerator()));
  return rates;
}

}  // namespace mycel
