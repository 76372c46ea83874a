// Which graph for N ranks of D ports? The Pareto frontier of (steps, bandwidth) of breadth-first allgather.
//
// Model. Steps are the diameter; bandwidth is (D / N) times the sum over steps of the busiest link's load in shards,
// that is the time in units of bytes / (all links of a rank together), (N - 1) / N at best ("bandwidth-optimal").
//
// Method. Dynamic programming over (ranks, degree): base families, whose costs breadth-first planning computes exactly,
// and graphs made of smaller cells of the table:
//   Line(G)     ranks are links            (N d, d)   steps + 1      bandwidth + 1 / N
//   Deg(n, G)   n copies of each rank      (n N, n d) steps + 1      bandwidth + (n - 1) / (n N)
//   G x H       product, both optimal      (N M, d+e) steps add up   stays optimal
//   Car(n, G)   n-th power                 (N^n, n d) n steps        bandwidth N / (N - 1) (N^n - 1) / N^n
// Cells keep what no other entry beats in both. In the end every graph of the frontier is built and planned, and what
// is reported is that exact cost: the formulas only choose.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/base/rational.h"
#include "core/base/status.h"
#include "scheduler/design/digraph.h"
#include "scheduler/design/step_time.h"

namespace mycel::design {

struct StepsAndBandwidth {
  int32_t steps = 0;
  Rational bandwidth;

  friend bool operator==(const StepsAndBandwidth&, const StepsAndBandwidth&) = default;
};

/// Exact, by planning. Impossible, naming two ranks, when one does not reach the other.
StatusOr<StepsAndBandwidth> CostOf(const Digraph& graph);

struct Design {
  std::string recipe;  // "Line(C(16,{2,3}))"
  StepsAndBandwidth cost;
  std::function<Digraph()> build;
};

/// A design of a frontier, with the sizes (bytes of all ranks together) for which it is the fastest.
struct RankedDesign {
  Design design;
  Digraph graph;
  double bytes_from = 0;  // from >= to: never the fastest
  double bytes_to = 0;    // infinity: for ever
};

/// Ranks and ports that the finder takes.
inline constexpr int32_t kDesignRanksMax = 4096;
inline constexpr int32_t kDesignDegreeMax = 64;

/// Of directed graphs with N ranks and D ports in and out a rank: the fewest steps that Moore's bound allows.
int32_t MooreSteps(int64_t ranks, int64_t degree);

/// The frontier by steps, not empty. InvalidArgument: ranks not in 2..kDesignRanksMax or degree not in
/// 1..min(ranks - 1, kDesignDegreeMax). Deterministic; equal costs go to the recipe found first: families before
/// expansions.
StatusOr<std::vector<RankedDesign>> FindDesigns(int32_t ranks, int32_t degree, const Machine& machine);

}  // namespace mycel::design
