// Breadth-first costs of the families and expansions against published and independently computed values: step for
// step, as exact fractions.
#include "scheduler/design/digraph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <sstream>
#include <string>
#include <vector>

#include "core/plan/verify.h"
#include "scheduler/bfb/bfb.h"
#include "scheduler/bfb/step_cost.h"
#include "scheduler/bfb/step_loads.h"
#include "scheduler/design/finder.h"
#include "scheduler/lower/lower.h"

namespace mycel::design {
namespace {

struct Oracle {
  const char* name;
  Digraph graph;
  const char* loads;  // by step, or "" where only their sum is known
  Rational bandwidth;
};

std::ostream& operator<<(std::ostream& out, const Oracle& oracle) { return out << oracle.name; }

std::vector<Rational> Loads(const Digraph& graph) {
  const bfb::RankGraph ranks = RankGraphOf(graph);
  const StatusOr<std::vector<uint16_t>> distances = bfb::DistancesOf(ranks);
  EXPECT_TRUE(distances.ok()) << distances.status();
  return distances.ok() ? bfb::StepLoads(ranks, *distances) : std::vector<Rational>();
}

std::string Text(const std::vector<Rational>& loads) {
  std::string text;
  for (const Rational& load : loads) text += (text.empty() ? "" : " ") + load.ToString();
  return text;
}

Rational Best(int32_t ranks) { return {ranks - 1, ranks}; }

class Oracles : public testing::TestWithParam<Oracle> {};

TEST_P(Oracles, LoadsOfEveryStepAndBandwidth) {
  const Oracle& oracle = GetParam();
  const std::vector<Rational> loads = Loads(oracle.graph);
  if (*oracle.loads != '\0') {
    EXPECT_EQ(Text(loads), oracle.loads);
  }
  const StatusOr<StepsAndBandwidth> cost = CostOf(oracle.graph);
  ASSERT_TRUE(cost.ok()) << cost.status();
  EXPECT_EQ(cost->steps, static_cast<int32_t>(loads.size()));
  EXPECT_EQ(cost->bandwidth, oracle.bandwidth);
  EXPECT_GE(cost->bandwidth, Best(oracle.graph.rank_count));
  EXPECT_GE(cost->steps, MooreSteps(oracle.graph.rank_count, oracle.graph.degree));
}

/// Ranks of graphs that are planned here; larger ones only cost time.
constexpr int32_t kPlannedRanksMax = 64;

// The plan of every collective verifies, and its recounted steps are the loads: reduce_scatter's backwards, on these
// graphs with equal numbers of arrivals in both directions or not.
TEST_P(Oracles, PlansVerifyAndKeepTheLoads) {
  const Oracle& oracle = GetParam();
  if (oracle.graph.rank_count > kPlannedRanksMax) return;
  const StatusOr<Topology> topology = ToTopology(oracle.graph, oracle.name, "", 1, 1);
  ASSERT_TRUE(topology.ok()) << topology.status();
  Digraph turned = oracle.graph;
  for (auto& [source, target] : turned.links) std::swap(source, target);
  const std::vector<Rational> down = Loads(oracle.graph);
  std::vector<Rational> up = Loads(turned);
  std::reverse(up.begin(), up.end());
  std::vector<Rational> both = up;
  both.insert(both.end(), down.begin(), down.end());
  for (const Collective collective : {Collective::kAllGather, Collective::kReduceScatter, Collective::kAllReduce}) {
    PlanRequest request;
    request.collective = collective;
    const StatusOr<Schedule> schedule = BfbPlanner().MakeSchedule(*topology, request);
    ASSERT_TRUE(schedule.ok()) << schedule.status();
    const StatusOr<Plan> plan = Lower(*schedule, *topology);
    ASSERT_TRUE(plan.ok()) << plan.status();
    const Status verified = Verify(*plan, {true});
    EXPECT_TRUE(verified.ok()) << verified;
    EXPECT_EQ(Text(StepCostOf(*schedule, *topology)->loads), Text(collective == Collective::kAllGather       ? down
                                                                  : collective == Collective::kReduceScatter ? up
                                                                                                             : both));
  }
}

std::string NameOf(const testing::TestParamInfo<Oracle>& info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(
    Optimal, Oracles,
    testing::Values(
        Oracle{"Ring6", Ring(6), "1 1 1/2", Best(6)}, Oracle{"Ring8", Ring(8), "1 1 1 1/2", Best(8)},
        Oracle{"Ring9", Ring(9), "1 1 1 1", Best(9)}, Oracle{"OneWayRing5", OneWayRing(5), "1 1 1 1", Best(5)},
        Oracle{"K7", Complete(7), "1", Best(7)}, Oracle{"K44", CompleteBipartite(4), "1 3/4", Best(8)},
        Oracle{"K33", CompleteBipartite(3), "1 2/3", Best(6)}, Oracle{"K22", CompleteBipartite(2), "1 1/2", Best(4)},
        Oracle{"Torus4x4", Torus({4, 4}), "1 3/2 1 1/4", Best(16)},
        Oracle{"Hypercube4", Hamming(4, 2), "1 3/2 1 1/4", Best(16)},
        Oracle{"Torus3x4", Torus({3, 4}), "1 5/4 1/2", Best(12)},
        Oracle{"Torus4x8", Torus({4, 8}), "1 7/4 2 7/4 1 1/4", Best(32)},
        Oracle{"Torus5x7", Torus({5, 7}), "1 2 5/2 2 1", Best(35)},
        Oracle{"Torus3x3x2", Torus({3, 3, 2}), "1 8/5 4/5", Best(18)},
        Oracle{"Hypercube10", Hamming(10, 2), "1 9/2 12 21 126/5 21 12 9/2 1 1/10", Best(1024)},
        Oracle{"C12", Circulant(12, {2, 3}), "1 7/4", Best(12)},
        Oracle{"C16", Circulant(16, {2, 3}), "1 2 3/4", Best(16)},
        Oracle{"C64", Circulant(64, {5, 6}), "1 2 3 4 5 3/4", Best(64)},
        Oracle{"C10", Circulant(10, {2, 3}), "", Best(10)}, Oracle{"C13", Circulant(13, {2, 3}), "", Best(13)},
        Oracle{"C25", Circulant(25, {3, 4}), "", Best(25)},
        Oracle{"Diamond", DirectedCirculant(8, {1, 3}), "1 3/2 1", Best(8)},
        Oracle{"dC9", DirectedCirculant(9, {1, 3}), "1 3/2 1 1/2", Best(9)},
        Oracle{"dC5", DirectedCirculant(5, {1, 2}), "", Best(5)}, Oracle{"Petersen", Petersen(), "1 2", Best(10)},
        Oracle{"Octahedron", Octahedron(), "1 1/4", Best(6)}, Oracle{"Heawood", Heawood(), "1 2 4/3", Best(14)},
        Oracle{"ProjectivePlane3", ProjectivePlane3(), "1 3 9/4", Best(26)},
        Oracle{"OddGraph4", OddGraph4(), "1 3 9/2", Best(35)}, Oracle{"H23", Hamming(2, 3), "", Best(9)},
        Oracle{"H24", Hamming(2, 4), "", Best(16)},
        Oracle{"BipartiteMinusMatching5", BipartiteMinusMatching5(), "", Best(10)},
        Oracle{"LineOfPetersen", UndirectedLineGraph(Petersen()), "", Best(15)},
        Oracle{"LineOfHeawood", UndirectedLineGraph(Heawood()), "", Best(21)}),
    NameOf);

INSTANTIATE_TEST_SUITE_P(
    Directed, Oracles,
    testing::Values(Oracle{"Kautz22", Kautz(2, 2), "1 2", 1}, Oracle{"Kautz23", Kautz(2, 3), "1 2 4", Rational(7, 6)},
                    Oracle{"Kautz24", Kautz(2, 4), "1 2 4 8", Rational(5, 4)}, Oracle{"Kautz32", Kautz(3, 2), "1 3", 1},
                    Oracle{"Kautz42", Kautz(4, 2), "1 4", 1},
                    Oracle{"GenKautz2x8", GeneralizedKautz(2, 8), "1 2 4", Rational(7, 4)},
                    Oracle{"GenKautz4x8", GeneralizedKautz(4, 8), "", Rational(3, 2)},
                    Oracle{"GenKautz4x12", GeneralizedKautz(4, 12), "", Rational(5, 3)},
                    Oracle{"GenKautz4x16", GeneralizedKautz(4, 16), "1 4", Rational(5, 4)},
                    Oracle{"GenKautz4x27", GeneralizedKautz(4, 27), "1 4 11/3", Rational(104, 81)},
                    Oracle{"GenKautz4x32", GeneralizedKautz(4, 32), "1 4 8", Rational(13, 8)},
                    Oracle{"GenKautz4x64", GeneralizedKautz(4, 64), "", Rational(21, 16)},
                    Oracle{"GenKautz4x1024", GeneralizedKautz(4, 1024), "1 4 16 64 256", Rational(341, 256)},
                    Oracle{"DeBruijn23", DeBruijn(2, 3), "1 2 4", Rational(7, 4)},
                    Oracle{"DeBruijn24", DeBruijn(2, 4), "1 2 4 8", Rational(15, 8)},
                    Oracle{"DeBruijn42", DeBruijn(4, 2), "1 4", Rational(5, 4)}),
    NameOf);

INSTANTIATE_TEST_SUITE_P(
    Expansions, Oracles,
    testing::Values(Oracle{"LineK22", LineGraph(CompleteBipartite(2)), "", 1},
                    Oracle{"LineLineK22", LineGraph(LineGraph(CompleteBipartite(2))), "", Rational(9, 8)},
                    Oracle{"LineK44", LineGraph(CompleteBipartite(4)), "", 1},
                    Oracle{"LineH23", LineGraph(Hamming(2, 3)), "", 1},
                    Oracle{"LineLineK44", LineGraph(LineGraph(CompleteBipartite(4))), "", Rational(33, 32)},
                    Oracle{"LineC16", LineGraph(Circulant(16, {2, 3})), "", 1},
                    Oracle{"K3Twice", DegreeExpansion(Complete(3), 2), "1 1/4", Rational(5, 6)},
                    Oracle{"OneWayRing4Twice", DegreeExpansion(OneWayRing(4), 2), "1 1 1 1/2", Rational(7, 8)},
                    Oracle{"K22Twice", DegreeExpansion(CompleteBipartite(2), 2), "1 3/4", Rational(7, 8)},
                    Oracle{"OneWayRings3x4", Product(OneWayRing(3), OneWayRing(4)), "1 3/2 3/2 1 1/2",
                           Rational(11, 12)},
                    Oracle{"OneWayRings4x4", Product(OneWayRing(4), OneWayRing(4)), "", Rational(15, 16)},
                    Oracle{"K3xRing4", Product(Complete(3), Ring(4)), "1 5/4 1/2", Rational(11, 12)},
                    Oracle{"Kautz22Squared", Product(Kautz(2, 2), Kautz(2, 2)), "1 5/2 3 9/4", Rational(35, 36)}),
    NameOf);

TEST(Families, StepsOfBandwidthOptimalGraphs) {
  const auto steps = [](const Digraph& graph) { return CostOf(graph)->steps; };
  EXPECT_EQ(steps(Hamming(2, 3)), 2);
  EXPECT_EQ(steps(Hamming(2, 4)), 2);
  EXPECT_EQ(steps(Circulant(10, {2, 3})), 2);
  EXPECT_EQ(steps(Circulant(13, {2, 3})), 2);
  EXPECT_EQ(steps(Circulant(25, {3, 4})), 3);
  EXPECT_EQ(steps(LineGraph(CompleteBipartite(2))), 3);
  EXPECT_EQ(steps(LineGraph(LineGraph(CompleteBipartite(4)))), 4);
  EXPECT_EQ(steps(LineGraph(Circulant(16, {2, 3}))), 4);
  EXPECT_EQ(steps(Product(OneWayRing(4), OneWayRing(4))), 6);
  for (const int32_t d : {3, 4, 5}) {  // two steps, and optimal, with two ranks more than ports
    std::vector<int32_t> offsets(static_cast<size_t>(d));
    std::iota(offsets.begin(), offsets.end(), 1);
    const StatusOr<StepsAndBandwidth> cost = CostOf(DirectedCirculant(d + 2, offsets));
    EXPECT_EQ(*cost, (StepsAndBandwidth{2, Best(d + 2)}));
  }
}

// 1, 2, ... 24, 49/2, 24, ... 1, 1/4.
TEST(Families, Torus50x50RisesAndFalls) {
  std::vector<Rational> expected;
  for (int32_t t = 1; t <= 24; ++t) expected.emplace_back(t);
  expected.emplace_back(49, 2);
  for (int32_t t = 24; t >= 1; --t) expected.emplace_back(t);
  expected.emplace_back(1, 4);
  EXPECT_EQ(Text(Loads(Torus({50, 50}))), Text(expected));
}

// Meshes are not regular, so that only the sum means something: it is what their cuts allow.
TEST(Families, MeshesMeetTheirCuts) {
  EXPECT_EQ(Text(Loads(Mesh(3, 3))), "1 3/2 1 1/2");
  EXPECT_EQ(Text(Loads(Mesh(4, 4))), "1 3/2 2 3/2 1 1/2");
}

TEST(Families, LinksAreWhatTheDegreeSays) {
  for (const Digraph& graph : {Petersen(), Heawood(), ProjectivePlane3(), OddGraph4(), Octahedron(), Kautz(3, 3),
                               BipartiteMinusMatching5(), UndirectedLineGraph(Heawood()), GeneralizedKautz(4, 25)}) {
    std::vector<int32_t> out(static_cast<size_t>(graph.rank_count)), in = out;
    for (const auto& [source, target] : graph.links) {
      EXPECT_NE(source, target);
      ++out[static_cast<size_t>(source)];
      ++in[static_cast<size_t>(target)];
    }
    EXPECT_EQ(graph.UnusedPorts(), 0);
    EXPECT_EQ(out, std::vector<int32_t>(out.size(), graph.degree));
    EXPECT_EQ(in, out);
  }
  EXPECT_EQ(DeBruijn(2, 3).UnusedPorts(), 2);
  EXPECT_GT(GeneralizedKautz(4, 16).UnusedPorts(), 0);
}

// Exact values of a time-expanded integer program: epochs in which allgather of one chunk a rank ends. Whole shards
// along shortest ways need no fewer, and on most of these graphs no more.
TEST(WholeShards, AgainstTheLeastEpochs) {
  struct Row {
    const char* name;
    Digraph graph;
    int64_t least;
    int64_t breadth_first;
  };
  for (const Row& row :
       {Row{"one-way ring 4", OneWayRing(4), 3, 3}, Row{"ring 4", Ring(4), 2, 2}, Row{"ring 5", Ring(5), 2, 2},
        Row{"ring 6", Ring(6), 3, 3}, Row{"3-cube", Hamming(3, 2), 3, 3}, Row{"torus 3x3", Torus({3, 3}), 2, 2},
        Row{"torus 4x4", Torus({4, 4}), 4, 5}, Row{"K4", Complete(4), 1, 1}, Row{"K4,4", CompleteBipartite(4), 2, 2},
        Row{"mesh 3x3", Mesh(3, 3), 4, 5}, Row{"Petersen", Petersen(), 3, 3}, Row{"Kautz(2,2)", Kautz(2, 2), 3, 3},
        Row{"dC(8,{1,3})", DirectedCirculant(8, {1, 3}), 4, 4}}) {
    SCOPED_TRACE(row.name);
    const StatusOr<Topology> topology = ToTopology(row.graph, "graph", "", 1, 1);
    ASSERT_TRUE(topology.ok()) << topology.status();
    PlanRequest request;
    request.collective = Collective::kAllGather;
    request.variant = "whole";
    const StatusOr<Schedule> schedule = BfbPlanner().MakeSchedule(*topology, request);
    ASSERT_TRUE(schedule.ok()) << schedule.status();
    EXPECT_EQ(StepCostOf(*schedule, *topology)->inv_x, Rational(row.breadth_first));
    EXPECT_LE(row.least, row.breadth_first);
  }
}

// Breadth-first planning of an expanded graph costs what the expanded schedule costs, or less.
TEST(Expansions, CostAtMostTheirFormulas) {
  for (const Digraph& graph : {Ring(5), OneWayRing(4), CompleteBipartite(3), Petersen(), Kautz(2, 2), Kautz(3, 2),
                               DirectedCirculant(9, {1, 3}), Complete(4)}) {
    const StepsAndBandwidth base = *CostOf(graph);
    const int64_t n = graph.rank_count;
    if (graph.degree > 1) {
      const StepsAndBandwidth line = *CostOf(LineGraph(graph));
      EXPECT_EQ(line.steps, base.steps + 1);
      EXPECT_LE(line.bandwidth, base.bandwidth + Rational(1, n));
    }
    for (const int32_t copies : {2, 3}) {
      const StepsAndBandwidth expanded = *CostOf(DegreeExpansion(graph, copies));
      EXPECT_LE(expanded.steps, base.steps + 1);
      EXPECT_LE(expanded.bandwidth, base.bandwidth + Rational(copies - 1, copies * n));
    }
    const StepsAndBandwidth square = *CostOf(Product(graph, graph));
    EXPECT_EQ(square.steps, 2 * base.steps);
    EXPECT_LE(square.bandwidth, base.bandwidth / Best(graph.rank_count) * Best(graph.rank_count * graph.rank_count));
  }
}

}  // namespace
}  // namespace mycel::design
