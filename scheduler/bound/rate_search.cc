#include "scheduler/bound/rate_search.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include "core/base/check.h"
#include "core/base/int128.h"
#include "scheduler/bound/partition.h"
#include "scheduler/lp/exact_vertex.h"

namespace mycel::bound {
namespace {

constexpr int64_t kRoundsMax = 400;
constexpr int64_t kIterationsMax = 200'000;  // of one round
/// Doubles become integers of the largest bandwidth / 2^40; what the simplex method may be wrong by, and what is added
/// to each link so that of equal cuts the one with the fewest links is found.
constexpr int64_t kFixedOne = int64_t{1} << 40;
constexpr int64_t kFixedError = kFixedOne / 1'000'000;

int64_t Rounded(double value) { return std::max<int64_t>(0, std::llround(value)); }

}  // namespace

RateSearch::RateSearch(const Topology& topology, const ScaledGraph& graph, std::vector<RateDirection> directions,
                       std::vector<int64_t> objective)
    : graph_(graph), directions_(std::move(directions)) {
  program_.objective = std::move(objective);
  for (size_t link = 0; link < graph.edges.size(); ++link) {
    capacity_max_ = std::max(capacity_max_, graph.edges[link].capacity);
    LinearProgram::Row shared{{}, graph.edges[link].capacity, false};
    for (const RateDirection& direction : directions_) shared.terms.push_back({direction.links[link], 1});
    AddRow(std::move(shared));
  }
  for (int32_t node = 0; node < graph.node_count; ++node) {
    for (const RateDirection& direction : directions_) {
      if (!direction.is_terminal[static_cast<size_t>(node)]) AddBalance(direction, node);
    }
  }
  for (const RateDirection& direction : directions_) {
    MYCEL_CHECK_EQ(direction.roots.size(), graph.ranks.size());
    std::vector<int32_t> terminals;
    for (int32_t node = 0; node < graph.node_count; ++node) {
      if (direction.is_terminal[static_cast<size_t>(node)]) terminals.push_back(node);
    }
    cuts_.emplace_back(graph, direction.reversed, std::move(terminals));
  }
  AddFirstCuts(topology);
}

StatusOr<FoundRates> RateSearch::Run() {
  LpSolver solver(program_);
  size_t told = program_.rows.size();
  for (int64_t round = 1; round <= kRoundsMax; ++round) {
    for (; told < program_.rows.size(); ++told) solver.AddRow(program_.rows[told]);
    MYCEL_ASSIGN_OR_RETURN(const LpSolution solution, solver.Solve(kIterationsMax));
    const double scale = static_cast<double>(kFixedOne) / static_cast<double>(capacity_max_);
    if (Cut(Fixed(solution.values, scale), kFixedError, kFixedError)) continue;
    const StatusOr<ExactSolution> exact = ExactVertex(program_, solution.basis);
    FoundRates found;
    found.exact = exact.ok() && Exact(exact->values, &found.directions);
    if (found.exact ? Cut(found.directions, 0, 0) : Cut(Fixed(solution.values, scale), kFixedError, 0)) continue;
    if (found.exact) {
      found.denominator = exact->denominator;
      found.cut = DearestCut(exact->prices);
    } else {
      found.denominator = std::max<int64_t>(1, kFixedOne / capacity_max_);
      found.directions = Fixed(solution.values, static_cast<double>(found.denominator));
    }
    found.rounds = round;
    found.cuts = std::ssize(cut_of_row_);
    return found;
  }
  return TimeoutError("the linear program over tree rates still broke a cut after " + std::to_string(kRoundsMax) +
                      " rounds");
}

/// Terms of one variable added up; false when such a row stands already.
bool RateSearch::AddRow(LinearProgram::Row row) {
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

void RateSearch::AddBalance(const RateDirection& direction, int32_t node) {
  LinearProgram::Row row;
  row.equal = true;
  for (size_t link = 0; link < graph_.edges.size(); ++link) {
    const bool enters = graph_.edges[link].target == node;
    if (enters || graph_.edges[link].source == node) row.terms.push_back({direction.links[link], enters ? 1 : -1});
  }
  AddRow(std::move(row));
}

/// What is rooted outside must enter. False: the program has this cut already, or one that is alike.
bool RateSearch::AddCut(const RateDirection& direction, const std::vector<int32_t>& inside) {
  std::vector<bool> is_inside(static_cast<size_t>(graph_.node_count), false);
  for (const int32_t node : inside) is_inside[static_cast<size_t>(node)] = true;
  LinearProgram::Row row;
  for (size_t rank = 0; rank < graph_.ranks.size(); ++rank) {
    if (!is_inside[static_cast<size_t>(graph_.ranks[rank])]) row.terms.push_back(direction.roots[rank]);
  }
  for (size_t link = 0; link < graph_.edges.size(); ++link) {
    const auto [source, target, capacity] = graph_.edges[link];
    const bool starts_inside = is_inside[static_cast<size_t>(direction.reversed ? target : source)];
    const bool ends_inside = is_inside[static_cast<size_t>(direction.reversed ? source : target)];
    if (!starts_inside && ends_inside) row.terms.push_back({direction.links[link], -1});
  }
  if (!AddRow(std::move(row))) return false;
  cut_of_row_.emplace_back(program_.rows.size() - 1, inside);
  return true;
}

/// Both sides of the borders that usually bind: of every rank, pair, server.
void RateSearch::AddFirstCuts(const Topology& topology) {
  std::vector<std::vector<int32_t>> sides;
  for (const int32_t node : graph_.ranks) sides.push_back({node});
  for (const Partition& partition : PartitionsOf(topology)) {
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
    for (const RateDirection& direction : directions_) {
      AddCut(direction, side);
      AddCut(direction, other);
    }
  }
}

/// Adds the cuts that `rates` break by more than `error`; false when there are none.
bool RateSearch::Cut(const Rates& rates, int64_t error, int64_t creep) {
  bool added = false;
  for (size_t at = 0; at < directions_.size(); ++at) {
    for (const std::vector<int32_t>& inside : cuts_[at].Broken(rates[at].roots, rates[at].links, error, creep)) {
      added |= AddCut(directions_[at], inside);
    }
  }
  return added;
}

std::vector<NodeId> RateSearch::DearestCut(const std::vector<int64_t>& prices) const {
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
  const bool turn = std::ssize(*best) * 2 > graph_.node_count;
  for (int32_t node = 0; node < graph_.node_count; ++node) {
    if (std::binary_search(best->begin(), best->end(), node) != turn) nodes.emplace_back(node);
  }
  return nodes;
}

RateSearch::Rates RateSearch::Fixed(const std::vector<double>& values, double scale) const {
  Rates rates(directions_.size());
  for (size_t at = 0; at < rates.size(); ++at) {
    for (const auto& [variable, coefficient] : directions_[at].roots) {
      const double share = static_cast<double>(coefficient) * values[static_cast<size_t>(variable)];
      rates[at].roots.push_back(Rounded(share * scale));
    }
    for (const int32_t variable : directions_[at].links) {
      rates[at].links.push_back(Rounded(values[static_cast<size_t>(variable)] * scale));
    }
  }
  return rates;
}

/// False when flows, which are sums of roots and of links, would leave 62 bits.
bool RateSearch::Exact(const std::vector<int64_t>& values, Rates* rates) const {
  int128 sum = 0;
  rates->assign(directions_.size(), {});
  for (size_t at = 0; at < rates->size(); ++at) {
    for (const auto& [variable, coefficient] : directions_[at].roots) {
      const int128 share = int128{values[static_cast<size_t>(variable)]} * coefficient;
      sum += share;
      if (sum > kScaledSumMax) return false;
      (*rates)[at].roots.push_back(static_cast<int64_t>(share));
    }
    for (const int32_t variable : directions_[at].links) {
      (*rates)[at].links.push_back(values[static_cast<size_t>(variable)]);
      sum += values[static_cast<size_t>(variable)];
      if (sum > kScaledSumMax) return false;
    }
  }
  return true;
}

}  // namespace mycel::bound
