#include "scheduler/flow/flow_problem.h"

#include <algorithm>
#include <numeric>

#include "core/base/check.h"

namespace mycel::flow {
namespace {

/// Numerators and denominators of answers, at most: products of two fit 128 bits with room for a unit.
constexpr int128 kPartMax = int128{1} << 60;

/// Fewer digits: quotient / 2^k with as many as fit.
Rational Rounded(int128 numerator, int128 denominator, bool up) {
  MYCEL_CHECK(numerator >= 0 && denominator > 0);
  int128 a = numerator, b = denominator;
  while (b != 0) {
    const int128 rest = a % b;
    a = b;
    b = rest;
  }
  if (numerator / a <= kPartMax && denominator / a <= kPartMax) {
    return {static_cast<int64_t>(numerator / a), static_cast<int64_t>(denominator / a)};
  }
  // A product below 2^126 and a quotient below 2^40.
  int64_t scale = 1;
  while (numerator > int128{1} << 110) {
    // Dropped digits make the fraction smaller below and larger above.
    numerator = (numerator >> 1) + (up ? 1 : 0);
    denominator = (denominator >> 1) + (up ? 0 : 1);
  }
  MYCEL_CHECK(denominator > 0);
  while (scale < int64_t{1} << 40 && numerator < int128{1} << 120 && numerator / denominator < int128{1} << 40) {
    numerator *= 2;
    scale *= 2;
  }
  const int128 quotient = numerator / denominator + (up && numerator % denominator != 0 ? 1 : 0);
  MYCEL_CHECK(quotient <= kPartMax);
  return {static_cast<int64_t>(quotient), scale};
}

}  // namespace

FlowProblem GeneralProblem(const FlowGraph& graph, const Demand& demand) {
  FlowProblem problem{graph, demand, {}, {}, {}};
  for (int32_t source = 0; source < graph.rank_count; ++source) problem.sources.push_back(source);
  problem.class_of.resize(graph.edges.size());
  std::iota(problem.class_of.begin(), problem.class_of.end(), 0);
  for (const FlowGraph::Edge& edge : graph.edges) problem.class_capacity.push_back(edge.capacity);
  return problem;
}

Rational TimeOf(const FlowProblem& problem, const std::vector<std::vector<int64_t>>& flow, int64_t amount) {
  MYCEL_CHECK_GT(amount, 0);
  std::vector<int128> loads(problem.class_capacity.size());
  for (const std::vector<int64_t>& of_source : flow) {
    for (size_t e = 0; e < of_source.size(); ++e) loads[static_cast<size_t>(problem.class_of[e])] += of_source[e];
  }
  Rational time;
  for (size_t c = 0; c < loads.size(); ++c) {
    time = std::max(time, RoundedUp(loads[c], int128{amount} * problem.class_capacity[c]));
  }
  return time;
}

Rational RoundedDown(int128 numerator, int128 denominator) { return Rounded(numerator, denominator, false); }
Rational RoundedUp(int128 numerator, int128 denominator) { return Rounded(numerator, denominator, true); }

}  // namespace mycel::flow
