#include "scheduler/flow/path_rounding.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "core/base/check.h"

namespace mycel::flow {
namespace {

/// Units that are tried, and the finest that are taken where they are exact.
constexpr int64_t kUnitsMax = 8;
constexpr int64_t kExactUnitsMax = 64;
/// A hundredth more time is worth fewer messages.
constexpr int64_t kWorthParts = 100;
/// Moves of one unit for each pair, at most.
constexpr int64_t kMovesPerPair = 4;

/// Whole units for one pair: each path gets what it is due rounded down, the largest remainders one more.
std::vector<int64_t> LargestRemainders(const std::vector<WeightedPath>& paths, int64_t units) {
  int64_t sum = 0;
  for (const WeightedPath& path : paths) sum += path.weight;
  std::vector<int64_t> shares;
  std::vector<std::pair<int64_t, size_t>> remainders;
  int64_t left = units;
  for (size_t i = 0; i < paths.size(); ++i) {
    const int128 due = int128{paths[i].weight} * units;
    shares.push_back(static_cast<int64_t>(due / sum));
    remainders.emplace_back(-static_cast<int64_t>(due % sum), i);
    left -= shares.back();
  }
  std::sort(remainders.begin(), remainders.end());
  for (size_t i = 0; left > 0; ++i, --left) ++shares[remainders[i].second];
  return shares;
}

class Rounding {
 public:
  Rounding(const FlowProblem& problem, int64_t units, std::vector<PairPaths>* pairs)
      : problem_(problem), units_(units), pairs_(*pairs), loads_(problem.class_capacity.size()) {}

  Rational Run() {
    users_.resize(loads_.size());
    for (size_t p = 0; p < pairs_.size(); ++p) {
      PairPaths& pair = pairs_[p];
      const std::vector<int64_t> shares = LargestRemainders(pair.paths, units_);
      for (size_t i = 0; i < shares.size(); ++i) {
        pair.paths[i].weight = shares[i];
        Load(p, pair.paths[i], shares[i]);
        if (pair.paths.size() == 1) continue;
        for (const size_t c : ClassesOf(pair.paths[i])) users_[c].emplace_back(p, i);
      }
    }
    for (int64_t moves = kMovesPerPair * std::ssize(pairs_); moves > 0 && MoveOne(); --moves) {
    }
    for (PairPaths& pair : pairs_) std::erase_if(pair.paths, [](const WeightedPath& path) { return path.weight == 0; });
    const size_t busiest = Busiest();
    return RoundedUp(loads_[busiest], int128{units_} * problem_.class_capacity[busiest]);
  }

 private:
  std::vector<size_t> ClassesOf(const WeightedPath& path) const {
    std::vector<size_t> classes;
    for (const int32_t e : path.edges) {
      classes.push_back(static_cast<size_t>(problem_.class_of[static_cast<size_t>(e)]));
    }
    std::sort(classes.begin(), classes.end());
    classes.erase(std::unique(classes.begin(), classes.end()), classes.end());
    return classes;
  }

  int64_t UnitOf(size_t pair) const { return problem_.demand.Of(pairs_[pair].source, pairs_[pair].target); }

  void Load(size_t pair, const WeightedPath& path, int64_t units) {
    for (const int32_t e : path.edges) {
      loads_[static_cast<size_t>(problem_.class_of[static_cast<size_t>(e)])] += units * UnitOf(pair);
    }
  }

  bool Busier(size_t c, size_t than) const {
    return int128{loads_[c]} * problem_.class_capacity[than] > int128{loads_[than]} * problem_.class_capacity[c];
  }

  size_t Busiest() const {
    size_t busiest = 0;
    for (size_t c = 1; c < loads_.size(); ++c) {
      if (Busier(c, busiest)) busiest = c;
    }
    return busiest;
  }

  /// The busiest class on a path.
  size_t BusiestOn(const WeightedPath& path) const {
    auto busiest = static_cast<size_t>(problem_.class_of[static_cast<size_t>(path.edges.front())]);
    for (const int32_t e : path.edges) {
      const auto c = static_cast<size_t>(problem_.class_of[static_cast<size_t>(e)]);
      if (Busier(c, busiest)) busiest = c;
    }
    return busiest;
  }

  /// Moves a unit of some pair off the busiest class to the path whose busiest class is then the least busy; false when
  /// no move leaves all classes that it touches less busy than the busiest one was.
  bool MoveOne() {
    const size_t busiest = Busiest();
    const int64_t before = loads_[busiest];
    size_t best_pair = 0, best_from = 0, best_to = 0;
    int128 best_load = before, best_capacity = problem_.class_capacity[busiest];
    bool found = false;
    for (const auto& [p, from] : users_[busiest]) {
      PairPaths& pair = pairs_[p];
      if (pair.paths[from].weight == 0) continue;
      Load(p, pair.paths[from], -1);
      for (size_t to = 0; to < pair.paths.size(); ++to) {
        if (to == from) continue;
        Load(p, pair.paths[to], 1);
        const size_t c = BusiestOn(pair.paths[to]);
        const bool lighter = loads_[busiest] < before;
        if (lighter && int128{loads_[c]} * best_capacity < best_load * problem_.class_capacity[c]) {
          best_load = loads_[c];
          best_capacity = problem_.class_capacity[c];
          best_pair = p, best_from = from, best_to = to;
          found = true;
        }
        Load(p, pair.paths[to], -1);
      }
      Load(p, pair.paths[from], 1);
    }
    if (!found) return false;
    PairPaths& pair = pairs_[best_pair];
    Load(best_pair, pair.paths[best_from], -1);
    Load(best_pair, pair.paths[best_to], 1);
    --pair.paths[best_from].weight;
    ++pair.paths[best_to].weight;
    return true;
  }

  const FlowProblem& problem_;
  int64_t units_;
  std::vector<PairPaths>& pairs_;
  std::vector<int64_t> loads_;                                 // by class
  std::vector<std::vector<std::pair<size_t, size_t>>> users_;  // by class: pair and path
};

/// The fewest units that express all weights exactly; kExactUnitsMax + 1 when those are not enough.
int64_t ExactUnits(const std::vector<PairPaths>& pairs) {
  int64_t units = 1;
  for (const PairPaths& pair : pairs) {
    int64_t sum = 0, common = 0;
    for (const WeightedPath& path : pair.paths) {
      sum += path.weight;
      common = std::gcd(common, path.weight);
    }
    if (sum / common > kExactUnitsMax) return kExactUnitsMax + 1;
    units = std::lcm(units, sum / common);
    if (units > kExactUnitsMax) return kExactUnitsMax + 1;
  }
  return units;
}

}  // namespace

Rational RoundPaths(const FlowProblem& problem, int64_t units, std::vector<PairPaths>* pairs) {
  return Rounding(problem, units, pairs).Run();
}

int64_t ChooseUnits(const FlowProblem& problem, int64_t units_max, std::vector<PairPaths>* pairs) {
  struct Try {
    int64_t units;
    Rational time;
    std::vector<PairPaths> pairs;
  };
  std::vector<Try> tries;
  const int64_t exact = ExactUnits(*pairs);
  for (int64_t units = 1; units <= std::min(kExactUnitsMax, units_max); ++units) {
    if (units > kUnitsMax && units != exact) continue;
    Try& one = tries.emplace_back(Try{units, Rational(0), *pairs});
    one.time = RoundPaths(problem, units, &one.pairs);
    if (units == exact) break;
  }
  Rational best = tries.front().time;
  for (const Try& one : tries) best = std::min(best, one.time);
  for (Try& one : tries) {
    if (one.time >
        RoundedDown(int128{best.numerator()} * (kWorthParts + 1), int128{best.denominator()} * kWorthParts)) {
      continue;
    }
    *pairs = std::move(one.pairs);
    return one.units;
  }
  MYCEL_CHECK(false);  // the best one is within reach of itself
  return 0;
}

}  // namespace mycel::flow
