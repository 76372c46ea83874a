#include "scheduler/graph/max_flow.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>

#include "core/base/rng.h"

namespace mycel {
namespace {

struct Edge {
  int32_t source, target;
  int64_t capacity;
};

struct RandomGraph {
  int32_t node_count = 0;
  std::vector<Edge> edges;
};

RandomGraph MakeGraph(Rng& random, int64_t capacity_max) {
  RandomGraph graph;
  graph.node_count = static_cast<int32_t>(random.Between(2, 9));
  for (int64_t i = random.Between(1, 4 * graph.node_count); i > 0; --i) {
    const int32_t source = static_cast<int32_t>(random.Below(static_cast<uint64_t>(graph.node_count)));
    const int32_t target = static_cast<int32_t>(random.Below(static_cast<uint64_t>(graph.node_count)));
    if (source != target) graph.edges.push_back({source, target, random.Between(0, capacity_max)});
  }
  return graph;
}

int128 CutCapacity(const RandomGraph& graph, uint32_t source_side) {
  int128 sum = 0;
  for (const Edge& edge : graph.edges) {
    if ((source_side >> edge.source & 1) != 0 && (source_side >> edge.target & 1) == 0) sum += edge.capacity;
  }
  return sum;
}

// The narrowest cut between `sources` (a bit set) and the sink, by enumeration; among equals the largest source side.
struct Cut {
  int128 capacity = 0;
  uint32_t source_side = 0;
};
Cut NarrowestCut(const RandomGraph& graph, uint32_t sources, int32_t sink) {
  Cut best;
  bool found = false;
  for (uint32_t side = 0; side < 1U << graph.node_count; ++side) {
    if ((side & sources) != sources || (side >> sink & 1) != 0) continue;
    const int128 capacity = CutCapacity(graph, side);
    if (!found || capacity < best.capacity) {
      best = {capacity, side};
      found = true;
    } else if (capacity == best.capacity) {
      best.source_side |= side;  // minimum cuts are closed under union
    }
  }
  return best;
}

template <typename Capacity>
class MaxFlowTest : public ::testing::Test {};
using Capacities = ::testing::Types<int64_t, int128>;
struct CapacityNames {
  template <typename T>
  static std::string GetName(int) {
    return sizeof(T) == 8 ? "int64" : "int128";
  }
};
TYPED_TEST_SUITE(MaxFlowTest, Capacities, CapacityNames);

//      3        2
//  0 -----> 1 -----> 3        the narrow middle edge lets the upper way help the lower one
//  |        | 1      ^
//  |   2    v        |
//  +------> 2 -------+ 4
TYPED_TEST(MaxFlowTest, FindsFlowAndCut) {
  MaxFlow<TypeParam> flow(4);
  const FlowEdge upper = flow.AddEdge(0, 1, 3);
  flow.AddEdge(1, 3, 2);
  const FlowEdge middle = flow.AddEdge(1, 2, 1);
  flow.AddEdge(0, 2, 2);
  const FlowEdge last = flow.AddEdge(2, 3, 4);
  flow.MarkSource(0);
  EXPECT_TRUE(flow.Run(3, 100) == 5);
  EXPECT_TRUE(flow.FlowOf(upper) == 3);
  EXPECT_TRUE(flow.FlowOf(middle) == 1);
  EXPECT_TRUE(flow.FlowOf(last) == 3);
  EXPECT_TRUE(flow.CapacityOf(last) == 4);
  EXPECT_TRUE(flow.OnSinkSide(3) && flow.OnSinkSide(2) && !flow.OnSinkSide(1) && !flow.OnSinkSide(0));
  EXPECT_TRUE(flow.Run(3, 100) == 0) << "nothing more fits";
  flow.ResetFlow();
  EXPECT_TRUE(flow.FlowOf(upper) == 0);
  EXPECT_TRUE(flow.Run(3, 4) == 4) << "the limit stops it";
  EXPECT_TRUE(flow.Run(3, 4) == 1) << "and the next call goes on";
}

TYPED_TEST(MaxFlowTest, ALoneSinkOrAZeroLimitGetsNothing) {
  MaxFlow<TypeParam> flow(2);
  EXPECT_TRUE(flow.Run(1, 10) == 0);
  flow.AddEdge(0, 1, 5);
  EXPECT_TRUE(flow.Run(1, 10) == 0) << "no node is marked";
  flow.MarkSource(0);
  EXPECT_TRUE(flow.Run(1, 0) == 0);
  EXPECT_TRUE(flow.Run(1, 10) == 5);
}

// One graph, many questions: marks, capacities and edges change between them, and each answer must be as if asked
// first.
TYPED_TEST(MaxFlowTest, AgreesWithEnumerationThroughManyQuestions) {
  const uint64_t seed = 3;
  SCOPED_TRACE("seed " + std::to_string(seed));
  Rng random(seed);
  for (int round = 0; round < 400; ++round) {
    RandomGraph graph = MakeGraph(random, round % 2 == 0 ? 4 : int64_t{1} << 55);
    MaxFlow<TypeParam> flow(graph.node_count - 1);
    flow.AddNode();
    for (const Edge& edge : graph.edges) flow.AddEdge(edge.source, edge.target, edge.capacity);
    uint32_t sources = 0;
    for (int question = 0; question < 8; ++question) {
      const int32_t node = static_cast<int32_t>(random.Below(static_cast<uint64_t>(graph.node_count)));
      if (random.OneIn(3) && !graph.edges.empty()) {
        const size_t edge = random.Below(graph.edges.size());
        graph.edges[edge].capacity = random.Between(0, 9);
        flow.SetCapacity(FlowEdge(static_cast<int64_t>(edge)), graph.edges[edge].capacity);
      } else if (random.OneIn(2)) {
        sources ^= 1U << node;
        (sources >> node & 1) != 0 ? flow.MarkSource(node) : flow.UnmarkSource(node);
        continue;
      }
      if ((sources >> node & 1) != 0 || sources == 0) continue;
      const Cut cut = NarrowestCut(graph, sources, node);
      const TypeParam unlimited = static_cast<TypeParam>(std::numeric_limits<int64_t>::max());
      ASSERT_TRUE(flow.Run(node, unlimited) == cut.capacity) << "round " << round;
      uint32_t side = 0;
      for (int32_t n = 0; n < graph.node_count; ++n) side |= flow.OnSinkSide(n) ? 0 : 1U << n;
      ASSERT_EQ(side, cut.source_side) << "round " << round;
      ASSERT_EQ(std::ssize(flow.SinkSide()), graph.node_count - __builtin_popcount(side));
      // Flow is conserved and within capacities.
      std::vector<int128> surplus(static_cast<size_t>(graph.node_count));
      for (size_t e = 0; e < graph.edges.size(); ++e) {
        const TypeParam amount = flow.FlowOf(FlowEdge(static_cast<int64_t>(e)));
        ASSERT_TRUE(amount >= 0 && amount <= graph.edges[e].capacity);
        surplus[static_cast<size_t>(graph.edges[e].source)] -= amount;
        surplus[static_cast<size_t>(graph.edges[e].target)] += amount;
      }
      for (int32_t n = 0; n < graph.node_count; ++n) {
        if ((sources >> n & 1) != 0) continue;
        ASSERT_TRUE(surplus[static_cast<size_t>(n)] == (n == node ? cut.capacity : 0));
      }
      flow.ResetFlow();
    }
  }
}

TEST(MaxFlowWideTest, CapacitiesBeyond64Bits) {
  const int128 big = int128{1} << 120;
  MaxFlow<int128> flow(3);
  flow.AddEdge(0, 1, big);
  flow.AddEdge(1, 2, big - 1);
  flow.AddEdge(0, 2, 5);
  flow.MarkSource(0);
  EXPECT_TRUE(flow.Run(2, big * 2) == big + 4);
}

// A path as long as the graph is deep must not use the call stack.
TEST(MaxFlowWideTest, LongPaths) {
  constexpr int32_t kNodes = 200'000;
  MaxFlow<int64_t> flow(kNodes);
  for (int32_t i = 0; i + 1 < kNodes; ++i) flow.AddEdge(i, i + 1, 7);
  flow.MarkSource(0);
  EXPECT_EQ(flow.Run(kNodes - 1, 100), 7);
}

TEST(MaxFlowDeathTest, WrongUseStops) {
  MaxFlow<int64_t> flow(2);
  EXPECT_DEATH(flow.AddEdge(0, 0, 1), "source != target");
  EXPECT_DEATH(flow.AddEdge(0, 2, 1), "target < node_count");
  EXPECT_DEATH(flow.AddEdge(0, 1, -1), "capacity >= 0");
  const FlowEdge edge = flow.AddEdge(0, 1, 1);
  flow.MarkSource(0);
  EXPECT_DEATH(flow.Run(0, 1), "IsSource");
  flow.Run(1, 1);
  EXPECT_DEATH(flow.SetCapacity(edge, 2), "FlowOf");
  EXPECT_DEATH(flow.MarkSource(1), "touched_");
}

}  // namespace
}  // namespace mycel
