#include "scheduler/graph/alltoall_bound.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "core/topo/gallery.h"
#include "scheduler/graph/edge_list_testing.h"

namespace mycel {
namespace {

using ::testing::HasSubstr;

Rational Bound(const Topology& topology) {
  const auto bound = AllToAllBound(topology);
  EXPECT_TRUE(bound.ok()) << bound.status();
  EXPECT_EQ(bound->kind, BoundKind::kLowerBound);
  EXPECT_EQ(bound->inv_x, Rational(bound->cut_demand) / bound->cut_bandwidth);
  EXPECT_THAT(bound->proof, HasSubstr("not an optimum"));
  return bound->inv_x;
}

TEST(AllToAllBoundTest, FindsTheTellingSets) {
  // A port each: n - 1 blocks leave over it.
  EXPECT_EQ(Bound(*GalleryTopology("dgx-a100")), Rational(7, 300));
  EXPECT_EQ(Bound(*GalleryTopology("host-4")), Rational(3, 8));
  // Servers: 8 * 8 blocks over the network of one.
  EXPECT_EQ(Bound(*GalleryTopology("dgx-a100-x2")), Rational(8 * 8, 8 * 25));
  EXPECT_EQ(Bound(*GalleryTopology("servers-4x8")), Rational(8 * 24, 8 * 5));
  // Half of a ring, half of an oversubscribed tree.
  EXPECT_EQ(Bound(*GalleryTopology("ring8")), Rational(4 * 4, 50));
  EXPECT_EQ(Bound(*GalleryTopology("fat-tree-2x4-oversub")), Rational(4 * 4, 50));
  // Switches go to the side that narrows the cut: here the two with the wide link between them stay together.
  EXPECT_EQ(Bound(EdgeList("0-v:9 1-v:9 v-u:100 u-w:1 2-w:9 3-w:9")), Rational(2 * 2, 1));
  // One direction counts when it is the narrow one.
  EXPECT_EQ(Bound(EdgeList("0>1:4 1>0:1")), Rational(1));
}

TEST(AllToAllBoundTest, ACutOffRankIsImpossible) {
  EXPECT_EQ(AllToAllBound(EdgeList("0-w:1 1-w:1 w>2:1")).status().code(), StatusCode::kUnimplemented);
}

// Never above the best cut of all, and on graphs of up to three ranks equal to it (every set of ranks is then tried).
TEST(AllToAllBoundTest, NeverExceedsTheBestCut) {
  const uint64_t seed = 19;
  SCOPED_TRACE("seed " + std::to_string(seed));
  Rng random(seed);
  int compared = 0;
  int equal = 0;
  for (int round = 0; round < 1000; ++round) {
    const Topology topology = RandomTopology(random, {8, 9, 2, 2, 4});
    const auto bound = AllToAllBound(topology);
    if (!bound.ok() || topology.rank_count() == 1) continue;
    Rational best;
    for (uint32_t set = 1; set < 1U << topology.node_count(); ++set) {
      const auto inside = [set](NodeId node) { return (set >> node.value() & 1) != 0; };
      int64_t ranks = 0;
      for (const Rank rank : Ids<Rank>(topology.rank_count())) ranks += inside(topology.NodeOf(rank)) ? 1 : 0;
      Rational leaving;
      for (const Link& link : topology.links()) {
        if (inside(link.source) && !inside(link.target)) leaving += link.bandwidth;
      }
      const int64_t demand = ranks * (topology.rank_count() - ranks);
      if (demand > 0) best = std::max(best, Rational(demand) / leaving);
    }
    ASSERT_LE(bound->inv_x, best) << "round " << round;
    if (topology.rank_count() <= 3) {
      ASSERT_EQ(bound->inv_x, best) << "round " << round;
    }
    ++compared;
    equal += bound->inv_x == best ? 1 : 0;
  }
  EXPECT_GT(compared, 200);
  EXPECT_GT(equal, compared * 3 / 4);
}

TEST(AllToAllBoundTest, LargeMachinesAreQuick) {
  EXPECT_EQ(Bound(*GalleryTopology("dgx-h100-x64")), Rational(8 * 504, 8 * 50));
}

}  // namespace
}  // namespace mycel
