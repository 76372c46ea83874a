#include "scheduler/bound/allreduce_rates.h"

#include <numeric>
#include <string>
#include <utility>

#include "core/base/int128.h"
#include "scheduler/bound/rate_search.h"
#include "scheduler/bound/symmetry.h"
#include "scheduler/graph/scaled_graph.h"
#include "scheduler/lp/lp_solver.h"

namespace mycel {
namespace {

using bound::Colours;

/// With one variable for all that look alike the flows take the time, not the program.
constexpr int64_t kAlikeVariablesMax = 10'000;

/// Which variables stand for what: ranks' shares, then the links' rates of spreading, then those of reducing.
struct Variables {
  std::vector<int32_t> roots;   // by rank
  std::vector<int32_t> spread;  // by link
  std::vector<int32_t> reduce;  // by link
  int32_t count = 0;
};

/// `alike`, if given: one variable for all ranks of a colour, and two for all links of a colour.
Variables NameVariables(const ScaledGraph& graph, const Colours* alike) {
  Variables names;
  names.roots.resize(graph.ranks.size());
  names.spread.resize(graph.edges.size());
  names.reduce.resize(graph.edges.size());
  if (alike == nullptr) {
    std::iota(names.roots.begin(), names.roots.end(), 0);
    std::iota(names.spread.begin(), names.spread.end(), static_cast<int32_t>(graph.ranks.size()));
    std::iota(names.reduce.begin(), names.reduce.end(), static_cast<int32_t>(graph.ranks.size() + graph.edges.size()));
    names.count = static_cast<int32_t>(graph.ranks.size() + 2 * graph.edges.size());
    return names;
  }
  for (size_t rank = 0; rank < graph.ranks.size(); ++rank) {
    names.roots[rank] = alike->node[static_cast<size_t>(graph.ranks[rank])];
  }
  for (size_t link = 0; link < graph.edges.size(); ++link) {
    names.spread[link] = alike->nodes + alike->link[link];
    names.reduce[link] = alike->nodes + alike->links + alike->link[link];
  }
  // Colours of switches have a variable too; it stands in no row but its own bound.
  names.count = alike->nodes + 2 * alike->links;
  return names;
}

/// Ranks, and the nodes that `promoted` (by node, or empty) names.
std::vector<bool> Terminals(const ScaledGraph& graph, std::vector<bool> promoted) {
  promoted.resize(static_cast<size_t>(graph.node_count), false);
  for (const int32_t node : graph.ranks) promoted[static_cast<size_t>(node)] = true;
  return promoted;
}

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
  const Variables names = NameVariables(graph, alike);
  std::vector<LinearProgram::Term> roots;
  std::vector<int64_t> objective(static_cast<size_t>(names.count), 0);
  for (const int32_t variable : names.roots) {
    roots.push_back({variable, 1});
    ++objective[static_cast<size_t>(variable)];
  }
  bound::RateSearch search(topology, graph,
                           {{false, roots, names.spread, Terminals(graph, options.copies)},
                            {true, roots, names.reduce, Terminals(graph, options.reduces)}},
                           std::move(objective));
  MYCEL_ASSIGN_OR_RETURN(bound::FoundRates found, search.Run());
  AllReduceRates rates;
  rates.denominator = found.denominator;
  rates.roots = std::move(found.directions[0].roots);
  rates.spread = std::move(found.directions[0].links);
  rates.reduce = std::move(found.directions[1].links);
  rates.exact = found.exact;
  rates.cut = std::move(found.cut);
  rates.cuts = found.cuts;
  rates.rounds = found.rounds;
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
