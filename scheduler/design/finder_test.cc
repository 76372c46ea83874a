// Designs: frontiers, the sizes at which one design overtakes another, and closed-form times.
#include "scheduler/design/finder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "core/topo/topology_json.h"
#include "scheduler/design/catalogue.h"

namespace mycel::design {
namespace {

using testing::HasSubstr;

const Machine kSwitch100G{10, 12.5};  // 10 us, 100 Gbit/s

std::vector<RankedDesign> Found(int32_t ranks, int32_t degree, const Machine& machine = kSwitch100G) {
  StatusOr<std::vector<RankedDesign>> designs = FindDesigns(ranks, degree, machine);
  EXPECT_TRUE(designs.ok()) << designs.status();
  return designs.ok() ? *std::move(designs) : std::vector<RankedDesign>();
}

TEST(Finder, SixtyFourRanksOfFourPorts) {
  const std::vector<RankedDesign> designs = Found(64, 4);
  ASSERT_EQ(designs.size(), 3U);
  EXPECT_EQ(designs[0].design.cost, (StepsAndBandwidth{3, Rational(21, 16)}));
  EXPECT_EQ(designs[1].design.cost, (StepsAndBandwidth{4, 1}));
  EXPECT_EQ(designs[2].design.cost, (StepsAndBandwidth{6, Rational(63, 64)}));
  EXPECT_EQ(designs[0].design.recipe, "GenKautz(4,64)");
  // 3.2 and 128 times alpha B.
  EXPECT_DOUBLE_EQ(designs[0].bytes_from, 0);
  EXPECT_NEAR(designs[0].bytes_to, 0.4e6, 1);
  EXPECT_DOUBLE_EQ(designs[1].bytes_from, designs[0].bytes_to);
  EXPECT_NEAR(designs[1].bytes_to, 16e6, 1);
  EXPECT_EQ(designs[2].bytes_to, std::numeric_limits<double>::infinity());
}

// The best directed circulants with two ports, N = 4..16, are bandwidth-optimal.
TEST(Finder, DirectedCirculantsOfTwoPorts) {
  const std::vector<int32_t> steps = {2, 2, 3, 3, 3, 4, 4, 4, 5, 5, 5, 5, 5};
  for (int32_t n = 4; n <= 16; ++n) {
    int32_t best = n;
    for (const Family& family : FamiliesOf(n, 2)) {
      if (!family.recipe.starts_with("dC(")) continue;
      const StatusOr<StepsAndBandwidth> cost = CostOf(family.build());
      if (cost.ok() && cost->bandwidth == Rational(n - 1, n)) best = std::min(best, cost->steps);
    }
    EXPECT_EQ(best, steps[static_cast<size_t>(n) - 4]) << n;
    EXPECT_EQ(Found(n, 2).back().design.cost.bandwidth, Rational(n - 1, n));
    EXPECT_LE(Found(n, 2).back().design.cost.steps, best);
  }
}

// Nothing on any small frontier beats Moore's bound or the bandwidth of all links, every graph has the ports it may
// have, and no design is dominated.
TEST(Finder, FrontiersAreSound) {
  for (int32_t ranks = 2; ranks <= 28; ++ranks) {
    for (int32_t degree = 1; degree < std::min(ranks, 7); ++degree) {
      SCOPED_TRACE(std::to_string(ranks) + " ranks, degree " + std::to_string(degree));
      const std::vector<RankedDesign> designs = Found(ranks, degree);
      ASSERT_FALSE(designs.empty());
      for (size_t i = 0; i < designs.size(); ++i) {
        const StepsAndBandwidth& cost = designs[i].design.cost;
        EXPECT_GE(cost.steps, MooreSteps(ranks, degree));
        EXPECT_GE(cost.bandwidth, Rational(ranks - 1, ranks));
        EXPECT_EQ(designs[i].graph.rank_count, ranks);
        EXPECT_EQ(designs[i].graph.degree, degree);
        EXPECT_GE(designs[i].graph.UnusedPorts(), 0);
        EXPECT_EQ(*CostOf(designs[i].graph), cost);
        if (i == 0) continue;
        EXPECT_GT(cost.steps, designs[i - 1].design.cost.steps);
        EXPECT_LT(cost.bandwidth, designs[i - 1].design.cost.bandwidth);
      }
    }
  }
}

// At every size the design whose range holds it has the least time.
TEST(Finder, RangesAreTheLowerEnvelope) {
  const std::vector<RankedDesign> designs = Found(36, 4);
  ASSERT_GE(designs.size(), 2U);
  for (double bytes = 100; bytes < 1e11; bytes *= 1.7) {
    double best = std::numeric_limits<double>::infinity(), chosen = 0;
    int owners = 0;
    for (const RankedDesign& ranked : designs) {
      const double us = StepsUs(kSwitch100G, ranked.design.cost.steps, ranked.design.cost.bandwidth, bytes);
      best = std::min(best, us);
      if (bytes < ranked.bytes_from || bytes >= ranked.bytes_to) continue;
      chosen = us;
      ++owners;
    }
    EXPECT_EQ(owners, 1) << bytes;
    EXPECT_DOUBLE_EQ(chosen, best) << bytes;
  }
}

TEST(Finder, ExpansionsFillTheTable) {
  EXPECT_THAT(Found(32, 4).front().design.recipe, HasSubstr("Line("));
  std::string all;
  for (const auto& [ranks, degree] : std::vector<std::pair<int32_t, int32_t>>{{64, 4}, {16, 6}, {36, 4}, {30, 6}}) {
    for (const RankedDesign& ranked : Found(ranks, degree)) all += ranked.design.recipe + "\n";
  }
  EXPECT_THAT(all, HasSubstr(" x "));
}

TEST(Finder, BadArgumentsSayWhatIsPossible) {
  const auto refusal = [](int32_t ranks, int32_t degree) {
    const Status status = FindDesigns(ranks, degree, {}).status();
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    return StatusMessage(status);
  };
  EXPECT_THAT(refusal(1, 1), HasSubstr("2..4096 ranks, not 1"));
  EXPECT_THAT(refusal(5000, 4), HasSubstr("not 5000"));
  EXPECT_THAT(refusal(8, 0), HasSubstr("1..7 ports"));
  EXPECT_THAT(refusal(8, 8), HasSubstr("degree 8: 8 ranks can use 1..7 ports each"));
}

TEST(Finder, TopologiesComeBackFromTheirFiles) {
  for (const RankedDesign& ranked : Found(20, 4)) {
    const StatusOr<Topology> topology = ToTopology(ranked.graph, ranked.design.recipe, "a note", Rational(25, 8), 2.5);
    ASSERT_TRUE(topology.ok()) << topology.status();
    EXPECT_TRUE(CheckConnected(*topology).ok());
    const StatusOr<Topology> again = ReadTopologyText(WriteTopology(*topology), "x.json");
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ(*again, *topology);
    for (const Link& link : topology->links()) EXPECT_EQ(link.latency_us, 2.5);
  }
}

TEST(MooreSteps, IsTheDirectedBound) {
  EXPECT_EQ(MooreSteps(2, 1), 1);
  EXPECT_EQ(MooreSteps(12, 1), 11);
  EXPECT_EQ(MooreSteps(5, 4), 1);
  EXPECT_EQ(MooreSteps(21, 4), 2);
  EXPECT_EQ(MooreSteps(22, 4), 3);
  EXPECT_EQ(MooreSteps(1024, 4), 5);
}

// Eight ranks of 150 GB/s and 2 us: breadth-first (2 steps, 9/8) until 112 alpha of bandwidth, then trees (3 hops,
// 7/8).
TEST(StepTime, TreesOvertakeSteps) {
  const Machine dgx1{2, 150};
  const double bytes = TreesWinFromBytes(dgx1, Rational(9, 8), 3, Rational(7, 8));
  EXPECT_NEAR(bytes, 224 * 150e3, 1);
  // Where both begin with the same latency, that is where they meet.
  const auto steps_us = [&](double size) { return StepsUs(dgx1, 2, Rational(9, 8), size); };
  EXPECT_NEAR(PipelinedTreesUs(dgx1, 3, Rational(7, 8), bytes), steps_us(bytes), 1e-6);
  EXPECT_LT(steps_us(bytes / 2), PipelinedTreesUs(dgx1, 3, Rational(7, 8), bytes / 2));
  EXPECT_GT(steps_us(bytes * 2), PipelinedTreesUs(dgx1, 3, Rational(7, 8), bytes * 2));
}

// Twelve ranks of four ports: a shifted ring (11 steps) against C(12,{2,3}) (2 steps), both with 11/12.
TEST(StepTime, FewerStepsWinUntilBandwidthDecides) {
  const Rational optimal(11, 12);
  struct Row {
    double bytes, ring, circulant;
  };
  for (const Row& row : {Row{1e3, 110.07, 20.07}, Row{1e6, 183.3, 93.3}, Row{16e6, 1283.3, 1193.3}}) {
    EXPECT_NEAR(StepsUs(kSwitch100G, 11, optimal, row.bytes), row.ring, 0.05);
    EXPECT_NEAR(StepsUs(kSwitch100G, 2, optimal, row.bytes), row.circulant, 0.05);
  }
  EXPECT_NEAR(StepsUs(kSwitch100G, 11, optimal, 1e9) / StepsUs(kSwitch100G, 2, optimal, 1e9), 1.001, 0.0005);
}

}  // namespace
}  // namespace mycel::design
