#include "scheduler/bound/allreduce_rates.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "core/base/check.h"
#include "core/base/int128.h"
#include "scheduler/bound/partition.h"
#include "scheduler/bound/rate_cuts.h"
#include "scheduler/bound/symmetry.h"
#include "scheduler/graph/scaled_graph.h"
#include "scheduler/lp/exact_vertex.h"
#include "scheduler/lp/lp_solver.h"

namespace mycel {
namespace {

using bound::Colours;
using bound::RateCuts;

constexpr int64_t kRoundsMax = 400;
constexpr int64_t kIterationsMax = 200'000;  // of one round
/// Doubles become integers of the largest bandwidth / 2^40; what the simplex method may be wrong by, and what is added
/// to each link so that of equal cuts the one with the fewest links is found.
constexpr int64_t kFixedOne = int64_t{1} << 40;
constexpr int64_t kFixedError = kFixedOne / 1'000'000;

/// With one variable for all that look alike the flows take the time, not the program.
constexpr int64_t kAlikeVariablesMax = 10'000;

enum class Direction { kSpread, kReduce };

/// The program, its cuts so far, and how its variables stand for ranks and links.
class RateProgram {
 public:
  /// `alike`, if given: one variable for all ranks of a colour, and two for all links of a colour.
  RateProgram(const Topology& topology, const ScaledGraph& graph, const RateOptions& options, const Colours* alike)
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
    NameVariables(alike);
    for (const int32_t variable : roots_) ++program_.objective[static_cast<size_t>(variable)];
    for (size_t link = 0; link < graph.edges.size(); ++link) {
      capacity_max_ = std::max(capacity_max_, graph.edges[link].capacity);
      AddRow({{{spread_[link], 1}, {reduce_[link], 1}}, graph.edges[link].capacity, false});
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
  /// The values of ranks and links from those of variables.
  std::vector<int64_t> Roots(const std::vector<int64_t>& values) const { return Spread(roots_, values); }
  std::vector<int64_t> Links(Direction direction, const std::vector<int64_t>& values) const {
    return Spread(VariablesOf(direction), values);
  }
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

  /// False: the program has this cut already, or one that is alike.
  bool AddCut(Direction direction, const std::vector<int32_t>& inside) {
    std::vector<bool> is_inside(rank_of_.size(), false);
    for (const int32_t node : inside) is_inside[static_cast<size_t>(node)] = true;
    LinearProgram::Row row;
    for (size_t rank = 0; rank < graph_.ranks.size(); ++rank) {
      if (!is_inside[static_cast<size_t>(graph_.ranks[rank])]) row.terms.push_back({roots_[rank], 1});
    }
    for (size_t link = 0; link < graph_.edges.size(); ++link) {
      const auto [source, target, capacity] = graph_.edges[link];
      const bool enters = !is_inside[static_cast<size_t>(source)] && is_inside[static_cast<size_t>(target)];
      const bool leaves = is_inside[static_cast<size_t>(source)] && !is_inside[static_cast<size_t>(target)];
      if (direction == Direction::kSpread ? enters : leaves) row.terms.push_back({VariablesOf(direction)[link], -1});
    }
    if (!AddRow(std::move(row))) return false;
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
  const std::vector<int32_t>& VariablesOf(Direction direction) const {
    return direction == Direction::kSpread ? spread_ : reduce_;
  }

  static std::vector<int64_t> Spread(const std::vector<int32_t>& variables, const std::vector<int64_t>& values) {
    std::vector<int64_t> spread;
    for (const int32_t variable : variables) spread.push_back(values[static_cast<size_t>(variable)]);
    return spread;
  }

  void NameVariables(const Colours* alike) {
    roots_.resize(graph_.ranks.size());
    spread_.resize(graph_.edges.size());
    reduce_.resize(graph_.edges.size());
    if (alike == nullptr) {
      std::iota(roots_.begin(), roots_.end(), 0);
      std::iota(spread_.begin(), spread_.end(), static_cast<int32_t>(roots_.size()));
      std::iota(reduce_.begin(), reduce_.end(), static_cast<int32_t>(roots_.size() + spread_.size()));
      program_.objective.assign(roots_.size() + 2 * spread_.size(), 0);
      return;
    }
    const Colours& colours = *alike;
    for (size_t rank = 0; rank < roots_.size(); ++rank) {
      roots_[rank] = colours.node[static_cast<size_t>(graph_.ranks[rank])];
    }
    for (size_t link = 0; link < spread_.size(); ++link) {
      spread_[link] = colours.nodes + colours.link[link];
      reduce_[link] = colours.nodes + colours.links + colours.link[link];
    }
    // Colours of switches have a variable too; it stands in no row but its own bound.
    program_.objective.assign(static_cast<size_t>(colours.nodes + 2 * colours.links), 0);
  }

  /// Terms of one variable added up; false when such a row stands already.
  bool AddRow(LinearProgram::Row row) {
    std::map<int32_t, int64_t> sums;
    for (const auto& [variable, coefficient] : row.terms) sums[variable] += coefficient;
    row.terms.clear();
    std::vector<int64_t> key = {row.limit, row.equal ? 1 : 0};
    for (const auto& [variable, coefficient] : sums) {
      if (coefficient == 0) continue;
      row.terms.push_back({variable, coefficient});
      key.insert(key.end(), {variable, coefficient});
    }
    if (row.terms.empty() || !known_.insert(std::move(key)).second) return false;
    program_.rows.push_back(std::move(row));
    return true;
  }

  void AddBalance(Direction direction, int32_t node) {
    LinearProgram::Row row;
    row.equal = true;
    for (size_t link = 0; link < graph_.edges.size(); ++link) {
      const bool enters = graph_.edges[link].target == node;
      if (enters || graph_.edges[link].source == node) {
        row.terms.push_back({VariablesOf(direction)[link], enters ? 1 : -1});
      }
    }
    AddRow(std::move(row));
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
  std::vector<int32_t> roots_;   // variable of each rank
  std::vector<int32_t> spread_;  // and of each link
  std::vector<int32_t> reduce_;
  LinearProgram program_;
  int64_t capacity_max_ = 1;
  std::set<std::vector<int64_t>> known_;  // rows
  std::vector<std::pair<size_t, std::vector<int32_t>>> cut_of_row_;
};

/// Solves, cuts and solves again.
class RateSearch {
 public:
  RateSearch(const Topology& topology, const ScaledGraph& graph, const RateOptions& options, const Colours* alike)
      : rates_(topology, graph, options, alike),
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
  bool SumsFit(const std::vector<int64_t>& values) const {
    int128 sum = 0;
    for (const int64_t value : rates_.Roots(values)) sum += value;
    for (const Direction direction : {Direction::kSpread, Direction::kReduce}) {
      for (const int64_t value : rates_.Links(direction, values)) sum += value;
    }
    return sum <= kScaledSumMax;
  }

  /// Adds the cuts that `values` break by more than `error`; false when there are none.
  bool Cut(const std::vector<int64_t>& values, int64_t error, int64_t creep) {
    const std::vector<int64_t> roots = rates_.Roots(values);
    bool added = false;
    for (const Direction direction : {Direction::kSpread, Direction::kReduce}) {
      const std::vector<int64_t> links = rates_.Links(direction, values);
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
    rates.denominator = denominator;
    rates.roots = rates_.Roots(values);
    rates.spread = rates_.Links(Direction::kSpread, values);
    rates.reduce = rates_.Links(Direction::kReduce, values);
    return rates;
  }

  RateProgram rates_;
  LpSolver solver_;
  RateCuts spread_cuts_;
  RateCuts reduce_cuts_;
};

Status TooLarge(int64_t variables, int64_t variables_max) {
  return Impossible("the linear program over root shares would have " + std::to_string(variables) +
                    " variables, more than " + std::to_string(variables_max));
}

Colours ColoursOf(const Topology& topology, const ScaledGraph& graph, const RateOptions& options) {
  std::vector<int32_t> start;
  for (const NodeId node : Ids<NodeId>(topology.node_count())) {
    const bool copies = !options.copies.empty() && options.copies[node.index()];
    const bool reduces = !options.reduces.empty() && options.reduces[node.index()];
    const bool is_rank = topology.node(node).type == NodeType::kRank;
    start.push_back(is_rank ? 4 : (copies ? 1 : 0) + (reduces ? 2 : 0));
  }
  return bound::RefineColours(graph, start);
}

/// Fills in inv_x.
Status Measure(const Topology& topology, const ScaledGraph& graph, AllReduceRates* rates) {
  const int128 sum = std::accumulate(rates->roots.begin(), rates->roots.end(), int128{0});
  if (sum == 0) return Impossible("no byte reaches all promoted switches of topology " + topology.name());
  MYCEL_ASSIGN_OR_RETURN(const Rational units, Rational::TryMake(sum, rates->denominator));
  MYCEL_ASSIGN_OR_RETURN(const Rational unit, Rational::TryMake(graph.unit_numerator, graph.unit_denominator));
  MYCEL_ASSIGN_OR_RETURN(const Rational algbw, Rational::TryMultiply(units, unit));
  MYCEL_ASSIGN_OR_RETURN(rates->inv_x,
                         Rational::TryMake(int128{topology.rank_count()} * algbw.denominator(), algbw.numerator()));
  return OkStatus();
}

StatusOr<AllReduceRates> Search(const Topology& topology, const ScaledGraph& graph, const RateOptions& options,
                                const Colours* alike) {
  MYCEL_ASSIGN_OR_RETURN(AllReduceRates rates, RateSearch(topology, graph, options, alike).Run());
  MYCEL_RETURN_IF_ERROR(Measure(topology, graph, &rates));
  return rates;
}

}  // namespace

StatusOr<AllReduceRates> FindAllReduceRates(const Topology& topology, const RateOptions& options) {
  MYCEL_RETURN_IF_ERROR(CheckConnected(topology));
  MYCEL_ASSIGN_OR_RETURN(const ScaledGraph graph, ScaleCapacities(topology));
  if (topology.rank_count() == 1) return InvalidArgument("one rank has nothing to reduce");
  if (!LpSolver::Available()) return Impossible("this build has no linear-program solver (coinor-libclp-dev)");
  const int64_t variables = std::ssize(graph.ranks) + 2 * std::ssize(graph.edges);
  if (variables > kAlikeVariablesMax) return TooLarge(variables, kAlikeVariablesMax);

  // What looks alike first gets alike rates: a far smaller program, many roots, and shallow trees.
  const Colours colours = ColoursOf(topology, graph, options);
  const int64_t alike_variables = int64_t{colours.nodes} + 2 * int64_t{colours.links};
  StatusOr<AllReduceRates> alike = TooLarge(variables, options.variables_max);
  if (alike_variables <= options.variables_max && alike_variables < variables) {
    alike = Search(topology, graph, options, &colours);
  }
  if (alike.ok()) {
    alike->cut.clear();
    alike->optimal = alike->exact && options.inv_x_bound && alike->inv_x == *options.inv_x_bound;
    if (alike->optimal) return alike;
  }
  if (variables > options.variables_max) return alike;
  StatusOr<AllReduceRates> whole = Search(topology, graph, options, nullptr);
  if (alike.ok() && (!whole.ok() || (alike->exact && !whole->exact))) return alike;
  if (!whole.ok()) return whole;
  whole->optimal = whole->exact;
  if (alike.ok() && alike->exact && whole->exact && alike->inv_x == whole->inv_x) {
    whole->denominator = alike->denominator;
    whole->roots = std::move(alike->roots);
    whole->spread = std::move(alike->spread);
    whole->reduce = std::move(alike->reduce);
  }
  return whole;
}

}  // namespace mycel
