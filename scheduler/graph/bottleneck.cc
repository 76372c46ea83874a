#include "scheduler/graph/bottleneck.h"

#include <bit>
#include <numeric>
#include <optional>

#include "core/base/check.h"
#include "core/base/int128.h"
#include "scheduler/graph/max_flow.h"

namespace mycel {
namespace {

// Whether weight / capacity of `a` is larger.
bool Beats(const Bottleneck& a, const Bottleneck& b) {
  return int128{a.weight} * b.capacity > int128{b.weight} * a.capacity;
}

// The first guess: everything but one sink, whichever sink is the narrowest.
Bottleneck AllButOneSink(const ScaledGraph& graph, const std::vector<int64_t>& weights, int64_t weight_sum,
                         const std::vector<int32_t>& sinks) {
  std::vector<int64_t> ingress(static_cast<size_t>(graph.node_count));
  for (const ScaledGraph::Edge& edge : graph.edges) ingress[static_cast<size_t>(edge.target)] += edge.capacity;
  Bottleneck best;
  std::optional<int32_t> missing;
  for (const int32_t sink : sinks) {
    const Bottleneck guess{weight_sum - weights[static_cast<size_t>(sink)], ingress[static_cast<size_t>(sink)], {}};
    if (guess.weight == 0 || (missing && !Beats(guess, best))) continue;
    best = guess;
    missing = sink;
    if (best.capacity == 0) break;
  }
  if (!missing) return best;
  for (int32_t node = 0; node < graph.node_count; ++node) {
    if (node != *missing) best.nodes.push_back(node);
  }
  return best;
}

// Sinks in bit-reversed order of their places: 0, 1/2, 1/4, 3/4, ... of the list. A flow ends where it meets an earlier
// sink, so earlier sinks should be everywhere. In a ring of n this saves all but n^2 of n^3 steps.
std::vector<int32_t> Spread(const std::vector<int32_t>& sinks) {
  std::vector<int32_t> order;
  const size_t count = std::bit_ceil(sinks.size());
  size_t place = 0;
  for (size_t i = 0; i < count; ++i) {
    if (place < sinks.size()) order.push_back(sinks[place]);
    size_t bit = count >> 1;
    for (; (place & bit) != 0; bit >>= 1) place ^= bit;  // one more, carrying from the top bit down
    place |= bit;
  }
  return order;
}

template <typename Capacity>
class BottleneckSearch {
 public:
  BottleneckSearch(const ScaledGraph& graph, const std::vector<int64_t>& weights, int64_t weight_sum, Bottleneck guess)
      : graph_(graph),
        weights_(weights),
        weight_sum_(weight_sum),
        best_(std::move(guess)),
        flow_(graph.node_count + 1) {
    for (const ScaledGraph::Edge& edge : graph.edges) flow_.AddEdge(edge.source, edge.target, 0);
    const int32_t source = graph.node_count;
    for (int32_t node = 0; node < graph.node_count; ++node) {
      if (weights[static_cast<size_t>(node)] == 0) continue;
      flow_.AddEdge(source, node, 0);
      weighted_.push_back(node);
    }
    flow_.MarkSource(source);
    SetCapacities();
  }

  Bottleneck Run(const std::vector<int32_t>& sinks) {
    for (const int32_t sink : Spread(sinks)) {
      while (flow_.Run(sink, required_) < required_) {
        Bottleneck cut = CutAround();
        MYCEL_CHECK(cut.capacity == 0 || Beats(cut, best_));
        best_ = std::move(cut);
        if (best_.capacity == 0) return best_;
        flow_.ResetFlow();
        SetCapacities();
      }
      flow_.ResetFlow();
      flow_.MarkSource(sink);
    }
    return best_;
  }

 private:
  // p * c on the graph's edges and q * w on the source's, for the present guess p/q in lowest terms.
  void SetCapacities() {
    const int64_t divisor = std::gcd(best_.weight, best_.capacity);
    const Capacity p = best_.weight / divisor;
    const Capacity q = best_.capacity / divisor;
    int64_t edge = 0;
    for (const ScaledGraph::Edge& one : graph_.edges) flow_.SetCapacity(FlowEdge(edge++), p * one.capacity);
    for (const int32_t node : weighted_) flow_.SetCapacity(FlowEdge(edge++), q * weights_[static_cast<size_t>(node)]);
    required_ = q * weight_sum_;
  }

  // The source side of the minimum cut that the last Run left.
  Bottleneck CutAround() const {
    Bottleneck cut;
    cut.weight = weight_sum_;
    for (const int32_t node : flow_.SinkSide()) cut.weight -= weights_[static_cast<size_t>(node)];
    for (const ScaledGraph::Edge& edge : graph_.edges) {
      if (!flow_.OnSinkSide(edge.source) && flow_.OnSinkSide(edge.target)) cut.capacity += edge.capacity;
    }
    for (int32_t node = 0; node < graph_.node_count; ++node) {
      if (!flow_.OnSinkSide(node)) cut.nodes.push_back(node);
    }
    return cut;
  }

  const ScaledGraph& graph_;
  const std::vector<int64_t>& weights_;
  const int64_t weight_sum_;
  Bottleneck best_;
  MaxFlow<Capacity> flow_;
  std::vector<int32_t> weighted_;
  Capacity required_ = 0;
};

}  // namespace

Bottleneck FindBottleneck(const ScaledGraph& graph, const std::vector<int64_t>& weights,
                          const std::vector<int32_t>& sinks) {
  MYCEL_CHECK_EQ(std::ssize(weights), graph.node_count);
  int128 weight_sum = 0;
  for (const int64_t weight : weights) {
    MYCEL_CHECK_GE(weight, 0);
    weight_sum += weight;
  }
  MYCEL_CHECK(weight_sum <= kScaledSumMax);
  Bottleneck guess = AllButOneSink(graph, weights, static_cast<int64_t>(weight_sum), sinks);
  if (guess.weight == 0 || guess.capacity == 0) return guess;

  // No capacity and no flow exceeds (all weight) * (all capacity) twice over.
  const int64_t sum = static_cast<int64_t>(weight_sum);
  const int128 largest = weight_sum * graph.capacity_sum;
  if (largest <= (int64_t{1} << 61)) {
    return BottleneckSearch<int64_t>(graph, weights, sum, std::move(guess)).Run(sinks);
  }
  return BottleneckSearch<int128>(graph, weights, sum, std::move(guess)).Run(sinks);
}

}  // namespace mycel
