#include "scheduler/design/finder.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/base/check.h"
#include "scheduler/bfb/step_loads.h"
#include "scheduler/design/catalogue.h"

namespace mycel::design {
namespace {

using Cell = std::vector<Design>;

Rational Best(int64_t ranks) { return {ranks - 1, ranks}; }

/// Keeps what nobody else beats or equals in both numbers, by steps; of equals the first.
void KeepFrontier(Cell* cell) {
  std::stable_sort(cell->begin(), cell->end(), [](const Design& a, const Design& b) {
    return a.cost.steps != b.cost.steps ? a.cost.steps < b.cost.steps : a.cost.bandwidth < b.cost.bandwidth;
  });
  Cell kept;
  for (Design& design : *cell) {
    if (kept.empty() || design.cost.bandwidth < kept.back().cost.bandwidth) kept.push_back(std::move(design));
  }
  *cell = std::move(kept);
}

class Finder {
 public:
  const Cell& At(int32_t ranks, int32_t degree) {
    const auto known = cells_.find({ranks, degree});
    if (known != cells_.end()) return known->second;
    Cell cell;
    if (degree < ranks) {
      AddFamilies(ranks, degree, &cell);
      AddLines(ranks, degree, &cell);
      AddDegreeExpansions(ranks, degree, &cell);
      AddProducts(ranks, degree, &cell);
      AddPowers(ranks, degree, &cell);
      KeepFrontier(&cell);
    }
    return cells_.emplace(std::make_pair(ranks, degree), std::move(cell)).first->second;
  }

 private:
  static void AddFamilies(int32_t ranks, int32_t degree, Cell* cell) {
    for (Family& family : FamiliesOf(ranks, degree)) {
      const StatusOr<StepsAndBandwidth> cost = CostOf(family.build());
      if (!cost.ok()) continue;  // not strongly connected, such as a circulant whose offsets share a factor
      cell->push_back({std::move(family.recipe), *cost, std::move(family.build)});
    }
  }

  void AddLines(int32_t ranks, int32_t degree, Cell* cell) {
    if (degree < 2 || ranks % degree != 0) return;
    const int32_t base = ranks / degree;
    for (const Design& inner : At(base, degree)) {
      // A family with unused ports has fewer links than the line graph needs ranks.
      const std::function<Digraph()>& build = inner.build;
      if (build().UnusedPorts() != 0) continue;
      cell->push_back({"Line(" + inner.recipe + ")",
                       {inner.cost.steps + 1, inner.cost.bandwidth + Rational(1, base)},
                       [build] { return LineGraph(build()); }});
    }
  }

  void AddDegreeExpansions(int32_t ranks, int32_t degree, Cell* cell) {
    for (int32_t copies = 2; copies <= degree; ++copies) {
      if (ranks % copies != 0 || degree % copies != 0) continue;
      const int32_t base = ranks / copies;
      for (const Design& inner : At(base, degree / copies)) {
        const std::function<Digraph()>& build = inner.build;
        cell->push_back({"Deg(" + std::to_string(copies) + "," + inner.recipe + ")",
                         {inner.cost.steps + 1, inner.cost.bandwidth + Rational(copies - 1, int64_t{copies} * base)},
                         [build, copies] { return DegreeExpansion(build(), copies); }});
      }
    }
  }

  /// The entry of a cell that is bandwidth-optimal, if there is one: the last.
  const Design* OptimalAt(int32_t ranks, int32_t degree) {
    const Cell& cell = At(ranks, degree);
    return !cell.empty() && cell.back().cost.bandwidth == Best(ranks) ? &cell.back() : nullptr;
  }

  void AddProducts(int32_t ranks, int32_t degree, Cell* cell) {
    for (int32_t left = 2; left <= ranks / left; ++left) {
      if (ranks % left != 0) continue;
      for (int32_t left_degree = 1; left_degree < degree; ++left_degree) {
        const Design* a = OptimalAt(left, left_degree);
        const Design* b = a == nullptr ? nullptr : OptimalAt(ranks / left, degree - left_degree);
        if (b == nullptr) continue;
        cell->push_back({a->recipe + " x " + b->recipe,
                         {a->cost.steps + b->cost.steps, Best(ranks)},
                         [a = a->build, b = b->build] { return Product(a(), b()); }});
      }
    }
  }

  void AddPowers(int32_t ranks, int32_t degree, Cell* cell) {
    for (int32_t exponent = 2; exponent <= degree && int64_t{1} << exponent <= ranks; ++exponent) {
      const auto base = static_cast<int32_t>(std::lround(std::pow(ranks, 1.0 / exponent)));
      int64_t power = 1;
      for (int32_t i = 0; i < exponent; ++i) power *= base;
      if (power != ranks || degree % exponent != 0) continue;
      for (const Design& inner : At(base, degree / exponent)) {
        const Rational bandwidth = inner.cost.bandwidth / Best(base) * Best(ranks);
        cell->push_back({"Car(" + std::to_string(exponent) + "," + inner.recipe + ")",
                         {exponent * inner.cost.steps, bandwidth},
                         [build = inner.build, exponent] {
                           const Digraph factor = build();
                           Digraph product = factor;
                           for (int32_t i = 1; i < exponent; ++i) product = Product(product, factor);
                           return product;
                         }});
      }
    }
  }

  std::map<std::pair<int32_t, int32_t>, Cell> cells_;
};

/// The lower envelope of steps * alpha + bandwidth * bytes / B: which design from which size.
void RankBySize(const Machine& machine, std::vector<RankedDesign>* designs) {
  constexpr double kForEver = std::numeric_limits<double>::infinity();
  size_t at = 0;
  double from = 0;
  while (true) {
    size_t next = designs->size();
    double to = kForEver;
    const StepsAndBandwidth& here = (*designs)[at].design.cost;
    for (size_t i = at + 1; i < designs->size(); ++i) {
      const StepsAndBandwidth& other = (*designs)[i].design.cost;
      const double crossing = CrossoverBytes(machine, here.steps, here.bandwidth, other.steps, other.bandwidth);
      if (crossing <= to) to = crossing, next = i;  // of equals the one with less time per byte
    }
    (*designs)[at].bytes_from = from;
    (*designs)[at].bytes_to = to;
    if (next == designs->size()) return;
    at = next;
    from = to;
  }
}

Status CheckArguments(int32_t ranks, int32_t degree) {
  if (ranks < 2 || ranks > kDesignRanksMax) {
    return InvalidArgument("topologies are designed for 2.." + std::to_string(kDesignRanksMax) + " ranks, not " +
                           std::to_string(ranks));
  }
  const int32_t most = std::min(ranks - 1, kDesignDegreeMax);
  if (degree < 1 || degree > most) {
    return InvalidArgument("degree " + std::to_string(degree) + ": " + std::to_string(ranks) + " ranks can use 1.." +
                           std::to_string(most) + " ports each");
  }
  return OkStatus();
}

}  // namespace

StatusOr<StepsAndBandwidth> CostOf(const Digraph& graph) {
  const bfb::RankGraph ranks = RankGraphOf(graph);
  MYCEL_ASSIGN_OR_RETURN(const std::vector<uint16_t> distances, bfb::DistancesOf(ranks));
  const std::vector<Rational> loads = bfb::StepLoads(ranks, distances);
  StepsAndBandwidth cost;
  cost.steps = static_cast<int32_t>(loads.size());
  MYCEL_ASSIGN_OR_RETURN(const Rational sum, bfb::NsPerByte(loads, 1));
  MYCEL_ASSIGN_OR_RETURN(cost.bandwidth, Rational::TryMultiply(sum, Rational(graph.degree, graph.rank_count)));
  return cost;
}

int32_t MooreSteps(int64_t ranks, int64_t degree) {
  int32_t steps = 0;
  for (int64_t reached = 1, layer = 1; reached < ranks; reached += layer) {
    layer = std::min(layer * degree, ranks);
    ++steps;
  }
  return steps;
}

StatusOr<std::vector<RankedDesign>> FindDesigns(int32_t ranks, int32_t degree, const Machine& machine) {
  MYCEL_RETURN_IF_ERROR(CheckArguments(ranks, degree));
  Finder finder;
  Cell cell = finder.At(ranks, degree);
  MYCEL_CHECK(!cell.empty());  // generalised Kautz graphs exist for all
  for (Design& design : cell) {
    MYCEL_ASSIGN_OR_RETURN(design.cost, CostOf(design.build()));
  }
  KeepFrontier(&cell);
  std::vector<RankedDesign> designs;
  for (Design& design : cell) {
    Digraph graph = design.build();
    designs.push_back({std::move(design), std::move(graph), 0, 0});
  }
  RankBySize(machine, &designs);
  return designs;
}

}  // namespace mycel::design
