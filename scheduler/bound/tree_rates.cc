#include "scheduler/bound/tree_rates.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "core/base/check.h"
#include "core/base/int128.h"
#include "scheduler/bound/rate_search.h"
#include "scheduler/bound/symmetry.h"
#include "scheduler/graph/balance_switches.h"
#include "scheduler/graph/scaled_graph.h"
#include "scheduler/lp/lp_solver.h"

namespace mycel {
namespace {

using bound::Colours;

/// With one variable for all that look alike the flows take the time, not the program.
constexpr int64_t kAlikeVariablesMax = 10'000;

Status TooFine(const Topology& topology) {
  return InvalidArgument("the bandwidths of topology " + topology.name() +
                         " or the roots' weights are too fine for exact trees; round them");
}

/// GB/s in and out of a switch.
struct Sides {
  Rational in;
  Rational out;
};
StatusOr<Sides> SidesOf(const Topology& topology, NodeId node) {
  Sides sides;
  for (const LinkId link : topology.InLinks(node)) {
    MYCEL_ASSIGN_OR_RETURN(sides.in, Rational::TryAdd(sides.in, topology.link(link).bandwidth));
  }
  for (const LinkId link : topology.OutLinks(node)) {
    MYCEL_ASSIGN_OR_RETURN(sides.out, Rational::TryAdd(sides.out, topology.link(link).bandwidth));
  }
  return sides;
}

/// Rates of the cut bound, if the surplus of every switch can be left unused; nothing when some of it seems needed.
std::optional<TreeRates> Trimmed(const ScaledGraph& graph, const std::vector<int64_t>& weights,
                                 const Rational& cut_bound) {
  const StatusOr<Rational> unit = Rational::TryMake(graph.unit_numerator, graph.unit_denominator);
  if (!unit.ok()) return std::nullopt;
  const StatusOr<Rational> inverse = Rational::TryMultiply(cut_bound, *unit);
  if (!inverse.ok()) return std::nullopt;
  // With p / q the bound: q trees for each unit of weight, of which a link carries p times its capacity.
  const int64_t weight_sum = std::accumulate(weights.begin(), weights.end(), int64_t{0});
  if (int128{inverse->numerator()} * graph.capacity_sum > kScaledSumMax) return std::nullopt;
  if (int128{inverse->denominator()} * weight_sum > kScaledSumMax) return std::nullopt;

  std::vector<int64_t> root_trees(static_cast<size_t>(graph.node_count), 0);
  for (size_t rank = 0; rank < weights.size(); ++rank) {
    root_trees[static_cast<size_t>(graph.ranks[rank])] = weights[rank] * inverse->denominator();
  }
  CapacityGraph capacities(graph.node_count);
  for (const auto& [source, target, capacity] : graph.edges) {
    capacities.Add(source, target, capacity * inverse->numerator());
  }
  if (!BalanceSwitches(graph, root_trees, &capacities)) return std::nullopt;
  TreeRates rates;
  rates.denominator = inverse->numerator();
  rates.root = inverse->denominator();
  for (const auto& [source, target, capacity] : graph.edges) {
    rates.links.push_back(capacities.Capacity(source, target));
  }
  rates.inv_x = cut_bound;
  rates.optimal = true;
  return rates;
}

/// `alike`, if given: one variable for all links of a colour.
StatusOr<TreeRates> Search(const Topology& topology, const ScaledGraph& graph, const std::vector<int64_t>& weights,
                           const Colours* alike) {
  int64_t divisor = 0;
  for (const int64_t weight : weights) divisor = std::gcd(divisor, weight);
  bound::RateDirection trees;
  for (const int64_t weight : weights) trees.roots.push_back({0, weight / divisor});
  for (size_t link = 0; link < graph.edges.size(); ++link) {
    trees.links.push_back(1 + (alike == nullptr ? static_cast<int32_t>(link) : alike->link[link]));
  }
  trees.is_terminal.assign(static_cast<size_t>(graph.node_count), false);
  for (const int32_t node : graph.ranks) trees.is_terminal[static_cast<size_t>(node)] = true;
  std::vector<int64_t> objective(alike == nullptr ? graph.edges.size() + 1 : static_cast<size_t>(alike->links) + 1, 0);
  objective[0] = 1;

  bound::RateSearch search(topology, graph, {trees}, std::move(objective));
  MYCEL_ASSIGN_OR_RETURN(bound::FoundRates found, search.Run());
  if (!found.exact) return TooFine(topology);
  TreeRates rates;
  const size_t heaviest = static_cast<size_t>(std::max_element(weights.begin(), weights.end()) - weights.begin());
  // The variable counts `divisor` units of weight.
  const int64_t reduced_root = found.directions[0].roots[heaviest] / (weights[heaviest] / divisor);
  MYCEL_CHECK_GT(reduced_root, 0);
  const int64_t common = std::gcd(reduced_root, divisor);
  if (int128{found.denominator} * (divisor / common) > kScaledSumMax) return TooFine(topology);
  rates.root = reduced_root / common;
  rates.denominator = found.denominator * (divisor / common);
  for (const int64_t link : found.directions[0].links) {
    if (int128{link} * (divisor / common) > kScaledSumMax) return TooFine(topology);
    rates.links.push_back(link * (divisor / common));
  }
  rates.cut = std::move(found.cut);
  rates.cuts = found.cuts;
  const StatusOr<Rational> inverse = Rational::TryMake(rates.denominator, rates.root);
  const StatusOr<Rational> unit = Rational::TryMake(graph.unit_denominator, graph.unit_numerator);
  if (!inverse.ok() || !unit.ok()) return TooFine(topology);
  const StatusOr<Rational> inv_x = Rational::TryMultiply(*inverse, *unit);
  if (!inv_x.ok()) return TooFine(topology);
  rates.inv_x = *inv_x;
  return rates;
}

Status TooLarge(int64_t variables, int64_t variables_max) {
  return Impossible("the linear program over link rates would have " + std::to_string(variables) +
                    " variables, more than " + std::to_string(variables_max));
}

/// Ranks of one weight may be alike, and so may switches.
Colours ColoursOf(const Topology& topology, const ScaledGraph& graph, const std::vector<int64_t>& weights) {
  std::vector<int64_t> distinct = weights;
  std::sort(distinct.begin(), distinct.end());
  distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
  std::vector<int32_t> start(static_cast<size_t>(topology.node_count()), 0);
  for (size_t rank = 0; rank < weights.size(); ++rank) {
    const auto at = std::lower_bound(distinct.begin(), distinct.end(), weights[rank]) - distinct.begin();
    start[static_cast<size_t>(graph.ranks[rank])] = static_cast<int32_t>(at) + 1;
  }
  return bound::RefineColours(graph, start);
}

}  // namespace

StatusOr<TreeRates> FindTreeRates(const Topology& topology, const std::vector<int64_t>& weights,
                                  const Rational& cut_bound, const TreeRateOptions& options) {
  MYCEL_CHECK_EQ(std::ssize(weights), topology.rank_count());
  MYCEL_CHECK(cut_bound > Rational(0));
  MYCEL_ASSIGN_OR_RETURN(const ScaledGraph graph, ScaleCapacities(topology));
  if (std::optional<TreeRates> trimmed = Trimmed(graph, weights, cut_bound)) return *std::move(trimmed);
  if (!LpSolver::Available()) return Impossible("this build has no linear-program solver (coinor-libclp-dev)");
  const int64_t variables = 1 + std::ssize(graph.edges);
  if (variables > kAlikeVariablesMax) return TooLarge(variables, kAlikeVariablesMax);

  // What looks alike first gets alike rates: a far smaller program.
  const Colours colours = ColoursOf(topology, graph, weights);
  const int64_t alike_variables = 1 + int64_t{colours.links};
  StatusOr<TreeRates> alike = TooLarge(variables, options.variables_max);
  if (alike_variables <= options.variables_max && alike_variables < variables) {
    alike = Search(topology, graph, weights, &colours);
    if (alike.ok()) {
      alike->cut.clear();  // its price proves something about alike rates only
      alike->optimal = alike->inv_x == cut_bound;
      if (alike->optimal) return alike;
    }
  }
  if (variables > options.variables_max) return alike;
  StatusOr<TreeRates> whole = Search(topology, graph, weights, nullptr);
  if (!whole.ok()) return alike.ok() ? alike : whole;
  MYCEL_CHECK(whole->inv_x >= cut_bound);
  whole->optimal = true;
  if (whole->inv_x == cut_bound) whole->cut.clear();
  if (alike.ok() && alike->inv_x == whole->inv_x) {
    whole->denominator = alike->denominator;
    whole->root = alike->root;
    whole->links = std::move(alike->links);
  }
  return whole;
}

std::string UnbalancedText(const Topology& topology) {
  std::string text;
  int more = 0;
  for (const NodeId id : Ids<NodeId>(topology.node_count())) {
    if (topology.node(id).type != NodeType::kSwitch) continue;
    const StatusOr<Sides> sides = SidesOf(topology, id);
    if (sides.ok() && sides->in == sides->out) continue;
    if (!text.empty()) {
      ++more;
      continue;
    }
    text = "switch " + topology.node(id).id;
    if (sides.ok()) text += " (" + sides->in.ToString() + " GB/s in, " + sides->out.ToString() + " GB/s out)";
  }
  return more == 0 ? text : text + " and " + std::to_string(more) + " more";
}

}  // namespace mycel
