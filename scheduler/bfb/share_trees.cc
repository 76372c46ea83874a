#include "scheduler/bfb/share_trees.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "core/base/check.h"
#include "core/base/int128.h"
#include "scheduler/bfb/arrivals.h"
#include "scheduler/bfb/step_loads.h"

namespace mycel::bfb {
namespace {

/// Up to so many units a shard is cut into parts of each rank's own load; more would make many narrow trees.
constexpr int64_t kUnitsWanted = 2520;

/// A range of a shard at one rank, in parts of that arrival.
struct Piece {
  int32_t parent;
  int64_t begin;
  int64_t end;
};

/// Where a rank's piece of a shard comes from. Whole shards need no list.
class Parents {
 public:
  explicit Parents(int32_t rank_count) : n_(static_cast<size_t>(rank_count)), whole_(n_ * n_, kUnset) {}

  void SetWhole(int32_t root, int32_t rank, int32_t parent) { At(root, rank) = parent; }
  void SetCut(int32_t root, int32_t rank, int64_t parts, std::vector<Piece> pieces) {
    At(root, rank) = kFirstCut - static_cast<int32_t>(cuts_.size());
    cuts_.push_back({parts, std::move(pieces)});
  }

  /// Adds the inner borders of `rank`'s pieces, scaled to `units`.
  void AddBorders(int32_t root, int32_t rank, int64_t units, std::vector<int64_t>* borders) const {
    const int32_t code = At(root, rank);
    if (code > kFirstCut) return;
    const Cut& cut = CutOf(code);
    for (size_t i = 1; i < cut.pieces.size(); ++i) borders->push_back(cut.pieces[i].begin * (units / cut.parts));
  }

  /// The parent of the piece that holds unit `unit` of `units`.
  int32_t ParentAt(int32_t root, int32_t rank, int64_t unit, int64_t units) const {
    const int32_t code = At(root, rank);
    MYCEL_CHECK_NE(code, kUnset);
    if (code > kFirstCut) return code;
    const Cut& cut = CutOf(code);
    const int64_t scale = units / cut.parts;
    for (const Piece& piece : cut.pieces) {
      if (unit < piece.end * scale) return piece.parent;
    }
    CheckFailed(__FILE__, __LINE__, "a piece for every unit", std::to_string(unit));
  }

  /// Least common multiple of all parts; nothing beyond `most`.
  std::optional<int64_t> Units(int64_t most) const {
    int64_t units = 1;
    for (const Cut& cut : cuts_) {
      const int128 larger = int128{units / std::gcd(units, cut.parts)} * cut.parts;
      if (larger > most) return std::nullopt;
      units = static_cast<int64_t>(larger);
    }
    return units;
  }

 private:
  static constexpr int32_t kUnset = -1;
  static constexpr int32_t kFirstCut = -2;
  struct Cut {
    int64_t parts;
    std::vector<Piece> pieces;
  };
  int32_t& At(int32_t root, int32_t rank) { return whole_[static_cast<size_t>(root) * n_ + static_cast<size_t>(rank)]; }
  int32_t At(int32_t root, int32_t rank) const {
    return whole_[static_cast<size_t>(root) * n_ + static_cast<size_t>(rank)];
  }
  const Cut& CutOf(int32_t code) const { return cuts_[static_cast<size_t>(kFirstCut - code)]; }

  size_t n_;
  std::vector<int32_t> whole_;  // the parent, or a code for a cut
  std::vector<Cut> cuts_;
};

/// Shares of one arrival: parts of every group over its ways.
struct Shares {
  int64_t parts = 1;
  std::vector<std::vector<int64_t>> of_group;
};

int64_t Scaled(int64_t capacity, const Rational& load, bool up) {
  const int128 product = int128{capacity} * load.numerator() + (up ? load.denominator() - 1 : 0);
  return static_cast<int64_t>(product / load.denominator());
}

/// Where the parts of cut shards come from.
enum class Parts : uint8_t {
  kOfRank,  // the load of the rank in that step
  kOfStep,  // the load of the step, which all ranks share
  kNone,    // shards stay whole
};

std::vector<int64_t> WholeLimits(const HallProblem& problem, const Rational& load) {
  std::vector<int64_t> limits;
  for (const int64_t capacity : problem.capacities) limits.push_back(Scaled(capacity, load, false));
  return limits;
}

/// The least load beyond `load` at which some way takes another whole shard.
Rational NextWholeLoad(const HallProblem& problem, const Rational& load) {
  std::optional<Rational> next;
  for (const int64_t capacity : problem.capacities) {
    const Rational one_more(Scaled(capacity, load, false) + 1, capacity);
    if (!next || one_more < *next) next = one_more;
  }
  return *next;
}

Shares SharesOf(const HallProblem& problem, const Rational& step_load, Parts parts) {
  const Rational own = LeastLoad(problem);
  MYCEL_CHECK(own <= step_load);
  std::vector<int64_t> limits = WholeLimits(problem, step_load);
  for (size_t w = 0; w < limits.size(); ++w) limits[w] = std::min(limits[w], Scaled(problem.capacities[w], own, true));
  if (auto whole = Assign(problem, 1, limits)) return {1, *std::move(whole)};
  if (parts == Parts::kNone) {
    for (Rational load = NextWholeLoad(problem, own);; load = NextWholeLoad(problem, load)) {
      if (auto whole = Assign(problem, 1, WholeLimits(problem, load))) return {1, *std::move(whole)};
    }
  }
  const Rational& load = parts == Parts::kOfStep ? step_load : own;
  limits.clear();
  for (const int64_t capacity : problem.capacities) limits.push_back(capacity * load.numerator());
  auto cut = Assign(problem, load.denominator(), limits);
  MYCEL_CHECK(cut.has_value());  // the load says so
  return {load.denominator(), *std::move(cut)};
}

/// Gives the parts of a group to its sources, way after way, so that few shards are cut.
void HandOut(const HallProblem::Group& group, const std::vector<int64_t>& parts_of_way,
             const std::vector<int32_t>& sources, int64_t parts, const RankGraph::Edge* edges, Parents* parents) {
  size_t way = 0;
  int64_t left = parts_of_way.empty() ? 0 : parts_of_way[0];
  for (const int32_t source : sources) {
    std::vector<Piece> pieces;
    for (int64_t at = 0; at < parts;) {
      while (left == 0) left = parts_of_way[++way];
      const int64_t taken = std::min(left, parts - at);
      pieces.push_back({edges[group.ways[way]].source, at, at + taken});
      at += taken;
      left -= taken;
    }
    const int32_t target = edges->target;
    if (pieces.size() == 1) {
      parents->SetWhole(source, target, pieces.front().parent);
    } else {
      parents->SetCut(source, target, parts, std::move(pieces));
    }
  }
}

Parents ParentsOf(const RankGraph& graph, const std::vector<uint16_t>& distances, const std::vector<Rational>& loads,
                  Parts parts) {
  Parents parents(graph.rank_count);
  ArrivalReader reader(graph, distances);
  std::unordered_map<ProblemKey, Shares, ProblemKeyHash> answers;
  ProblemKey key;
  for (int32_t rank = 0; rank < graph.rank_count; ++rank) {
    const RankGraph::Edge* edges = graph.edges.data() + graph.first_in[static_cast<size_t>(rank)];
    for (const Arrival& arrival : reader.Read(rank)) {
      reader.WriteKey(arrival, &key);
      key.push_back(static_cast<uint64_t>(arrival.step));  // its load is part of the question
      const HallProblem problem = reader.ProblemOf(arrival);
      auto known = answers.find(key);
      if (known == answers.end()) {
        const Rational& step_load = loads[static_cast<size_t>(arrival.step) - 1];
        known = answers.emplace(key, SharesOf(problem, step_load, parts)).first;
      }
      const Shares& shares = known->second;
      const std::vector<std::vector<int32_t>> sources = reader.SourcesOf(arrival);
      for (size_t g = 0; g < problem.groups.size(); ++g)
        HandOut(problem.groups[g], shares.of_group[g], sources[g], shares.parts, edges, &parents);
    }
  }
  return parents;
}

/// The trees of one root: one for each range between borders of any rank's pieces.
void AddTrees(const Parents& parents, const std::vector<uint16_t>& distances, int32_t root, int32_t rank_count,
              ShareTrees* shares) {
  const auto n = static_cast<size_t>(rank_count);
  std::vector<int64_t> borders = {0, shares->units};
  std::vector<std::pair<uint16_t, int32_t>> order;  // distance, rank
  for (int32_t rank = 0; rank < rank_count; ++rank) {
    if (rank == root) continue;
    parents.AddBorders(root, rank, shares->units, &borders);
    order.emplace_back(distances[static_cast<size_t>(rank) * n + static_cast<size_t>(root)], rank);
  }
  std::sort(order.begin(), order.end());
  std::sort(borders.begin(), borders.end());
  borders.erase(std::unique(borders.begin(), borders.end()), borders.end());
  for (size_t i = 0; i + 1 < borders.size(); ++i) {
    ShareTree tree{root, borders[i], borders[i + 1], {}};
    tree.hops.reserve(order.size());
    for (const auto& [distance, rank] : order)
      tree.hops.push_back({parents.ParentAt(root, rank, borders[i], shares->units), rank});
    shares->trees.push_back(std::move(tree));
  }
}

}  // namespace

Status CheckHops(int64_t rank_count, int64_t tree_count) {
  const int64_t hops = tree_count * (rank_count - 1);
  if (hops <= kHopsMax) return OkStatus();
  return Impossible("breadth-first trees of " + std::to_string(rank_count) + " ranks have at least " +
                    std::to_string(hops) + " hops, more than the " + std::to_string(kHopsMax) +
                    " that a plan is made of; use planner ring or forest");
}

StatusOr<ShareTrees> MakeShareTrees(const RankGraph& graph, const std::vector<uint16_t>& distances, Cutting cutting,
                                    int64_t units_max) {
  MYCEL_RETURN_IF_ERROR(CheckHops(graph.rank_count, graph.rank_count));
  const std::vector<Rational> loads = StepLoads(graph, distances);
  struct Attempt {
    Parts parts;
    int64_t units_max;
  };
  std::vector<Attempt> attempts = {{Parts::kNone, units_max}};
  if (cutting == Cutting::kExact) {
    attempts = {{Parts::kOfRank, std::min(kUnitsWanted, units_max)}, {Parts::kOfStep, units_max}};
    // Where edges share links the loads are no promise.
    attempts.push_back(graph.exact ? Attempt{Parts::kOfRank, units_max} : Attempt{Parts::kNone, units_max});
  }
  for (const Attempt& attempt : attempts) {
    const Parents parents = ParentsOf(graph, distances, loads, attempt.parts);
    const std::optional<int64_t> units = parents.Units(attempt.units_max);
    if (!units) continue;
    ShareTrees shares;
    shares.units = *units;
    for (int32_t root = 0; root < graph.rank_count; ++root) {
      AddTrees(parents, distances, root, graph.rank_count, &shares);
      MYCEL_RETURN_IF_ERROR(CheckHops(graph.rank_count, std::ssize(shares.trees)));
    }
    return shares;
  }
  return InvalidArgument("the bandwidths' fractions are too fine for a shard of at most " + std::to_string(units_max) +
                         " units; round them in the topology file");
}

}  // namespace mycel::bfb
