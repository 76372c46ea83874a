#include "scheduler/bfb/hall_ratio.h"

#include <algorithm>

#include "core/base/check.h"
#include "scheduler/graph/max_flow.h"

namespace mycel::bfb {
namespace {

/// Shards flow from the supply to groups, to ways, to the rank.
class Deliveries {
 public:
  Deliveries(const HallProblem& problem, int64_t parts, const std::vector<int64_t>& limits)
      : problem_(problem), flow_(static_cast<int32_t>(2 + problem.groups.size() + limits.size())) {
    const auto first_way = static_cast<int32_t>(2 + problem.groups.size());
    flow_.MarkSource(kSupply);
    for (size_t g = 0; g < problem.groups.size(); ++g) {
      const HallProblem::Group& group = problem.groups[g];
      const int64_t supply = group.sources * parts;
      wanted_ += supply;
      flow_.AddEdge(kSupply, NodeOf(g), supply);
      // More than ever comes, so that no minimum cut passes here.
      for (const int32_t way : group.ways) takes_.push_back(flow_.AddEdge(NodeOf(g), first_way + way, supply + 1));
    }
    for (size_t w = 0; w < limits.size(); ++w) {
      flow_.AddEdge(first_way + static_cast<int32_t>(w), kRank, limits[w]);
    }
    fits_ = flow_.Run(kRank, wanted_) == wanted_;
  }

  bool fits() const { return fits_; }

  /// After a failure: sources over capacity of a set of groups that has too many for its ways.
  Rational TightRatio() const {
    int64_t sources = 0, capacity = 0;
    std::vector<bool> used(problem_.capacities.size());
    for (size_t g = 0; g < problem_.groups.size(); ++g) {
      if (flow_.OnSinkSide(NodeOf(g))) continue;
      sources += problem_.groups[g].sources;
      for (const int32_t way : problem_.groups[g].ways) {
        if (used[static_cast<size_t>(way)]) continue;
        used[static_cast<size_t>(way)] = true;
        capacity += problem_.capacities[static_cast<size_t>(way)];
      }
    }
    return {sources, capacity};
  }

  std::vector<std::vector<int64_t>> Parts() const {
    std::vector<std::vector<int64_t>> parts;
    size_t next = 0;
    for (const HallProblem::Group& group : problem_.groups) {
      parts.emplace_back();
      for (size_t i = 0; i < group.ways.size(); ++i) parts.back().push_back(flow_.FlowOf(takes_[next++]));
    }
    return parts;
  }

 private:
  static constexpr int32_t kSupply = 0;
  static constexpr int32_t kRank = 1;
  static int32_t NodeOf(size_t group) { return static_cast<int32_t>(2 + group); }

  const HallProblem& problem_;
  MaxFlow<int64_t> flow_;
  std::vector<FlowEdge> takes_;
  int64_t wanted_ = 0;
  bool fits_ = false;
};

/// The largest ratio of the sets that need no search: all groups, single groups, all groups with a single way.
Rational FirstGuess(const HallProblem& problem, bool* alone) {
  std::vector<int64_t> forced(problem.capacities.size());
  std::vector<bool> used(problem.capacities.size());
  int64_t sources = 0, capacity = 0;
  Rational guess;
  *alone = true;
  for (const HallProblem::Group& group : problem.groups) {
    MYCEL_CHECK(group.sources > 0 && !group.ways.empty());
    sources += group.sources;
    int64_t own = 0;
    for (const int32_t way : group.ways) {
      const auto w = static_cast<size_t>(way);
      own += problem.capacities[w];
      if (!used[w]) capacity += problem.capacities[w];
      used[w] = true;
    }
    if (group.ways.size() == 1) {
      forced[static_cast<size_t>(group.ways.front())] += group.sources;
    } else {
      *alone = false;
      guess = std::max(guess, Rational(group.sources, own));
    }
  }
  for (size_t w = 0; w < forced.size(); ++w) {
    if (forced[w] > 0) guess = std::max(guess, Rational(forced[w], problem.capacities[w]));
  }
  return std::max(guess, Rational(sources, capacity));
}

}  // namespace

Rational LeastLoad(const HallProblem& problem) {
  if (problem.groups.empty()) return 0;
  bool alone = false;
  Rational load = FirstGuess(problem, &alone);
  if (alone) return load;  // nobody has a choice
  while (true) {
    std::vector<int64_t> limits = problem.capacities;
    for (int64_t& limit : limits) limit *= load.numerator();
    const Deliveries deliveries(problem, load.denominator(), limits);
    if (deliveries.fits()) return load;
    const Rational tighter = deliveries.TightRatio();
    MYCEL_CHECK(tighter > load);
    load = tighter;
  }
}

std::optional<std::vector<std::vector<int64_t>>> Assign(const HallProblem& problem, int64_t parts,
                                                        const std::vector<int64_t>& limits) {
  const Deliveries deliveries(problem, parts, limits);
  if (!deliveries.fits()) return std::nullopt;
  return deliveries.Parts();
}

}  // namespace mycel::bfb
