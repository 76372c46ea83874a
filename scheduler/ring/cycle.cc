#include "scheduler/ring/cycle.h"

#include <algorithm>
#include <string>

#include "core/base/check.h"

namespace mycel::ring {
namespace {

/// Neighbours tried before the search gives up; a torus or a hypercube of 64 ranks needs a few hundred.
constexpr int64_t kStepsMax = 200'000;

bool IsCycle(const std::vector<Rank>& order, bool reversed, RouteBook* routes) {
  for (size_t i = 0; i < order.size(); ++i) {
    const Rank a = order[i];
    const Rank b = order[(i + 1) % order.size()];
    if (a != b && !(reversed ? routes->Joins(b, a) : routes->Joins(a, b))) return false;
  }
  return true;
}

/// Depth-first search that visits the neighbour with the fewest free neighbours first (Warnsdorff's rule), lower ranks
/// first among equals.
class CycleSearch {
 public:
  explicit CycleSearch(std::vector<std::vector<Rank>> neighbours)
      : neighbours_(std::move(neighbours)), used_(neighbours_.size(), false) {}

  /// Empty when there is no cycle or the budget ran out.
  std::vector<Rank> Run() {
    path_ = {Rank(0)};
    used_[0] = true;
    if (!Extend()) path_.clear();
    return path_;
  }
  bool gave_up() const { return steps_ > kStepsMax; }

 private:
  bool Extend() {
    const std::vector<Rank>& around = neighbours_[path_.back().index()];
    if (path_.size() == neighbours_.size()) return std::find(around.begin(), around.end(), Rank(0)) != around.end();
    std::vector<std::pair<int64_t, Rank>> next;
    for (const Rank r : around) {
      if (!used_[r.index()]) next.emplace_back(FreeNeighbours(r), r);
    }
    std::sort(next.begin(), next.end());
    for (const auto& [free, r] : next) {
      if (++steps_ > kStepsMax) return false;
      path_.push_back(r);
      used_[r.index()] = true;
      if (Extend()) return true;
      used_[r.index()] = false;
      path_.pop_back();
    }
    return false;
  }

  int64_t FreeNeighbours(Rank rank) const {
    const std::vector<Rank>& around = neighbours_[rank.index()];
    return std::count_if(around.begin(), around.end(), [&](Rank r) { return !used_[r.index()]; });
  }

  std::vector<std::vector<Rank>> neighbours_;
  std::vector<bool> used_;
  std::vector<Rank> path_;
  int64_t steps_ = 0;
};

std::vector<std::vector<Rank>> Neighbours(int32_t n, bool both_ways, RouteBook* routes) {
  std::vector<std::vector<Rank>> neighbours(static_cast<size_t>(n));
  for (const Rank a : Ids<Rank>(n)) {
    for (const Rank b : Ids<Rank>(n)) {
      if (a != b && routes->Joins(a, b) && (!both_ways || routes->Joins(b, a))) neighbours[a.index()].push_back(b);
    }
  }
  return neighbours;
}

}  // namespace

StatusOr<Cycle> FindCycle(const Topology& topology, RouteBook* routes) {
  const int32_t n = topology.rank_count();
  MYCEL_CHECK_GE(n, 1);
  Cycle cycle;
  for (const Rank r : Ids<Rank>(n)) cycle.order.push_back(r);
  if (IsCycle(cycle.order, false, routes)) {
    cycle.both_ways = IsCycle(cycle.order, true, routes);
    return cycle;
  }
  bool gave_up = false;
  for (const bool both_ways : {true, false}) {
    CycleSearch search(Neighbours(n, both_ways, routes));
    cycle.order = search.Run();
    cycle.both_ways = both_ways;
    if (!cycle.order.empty()) return cycle;
    gave_up = gave_up || search.gave_up();
  }
  return Impossible("topology '" + topology.name() + "': " +
                    (gave_up ? "found no ring through all ranks within " + std::to_string(kStepsMax) + " steps"
                             : std::string("no ring passes through all ranks once")) +
                    "; use another planner, e.g. forest");
}

}  // namespace mycel::ring
