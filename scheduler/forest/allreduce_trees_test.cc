// Allreduce with unequal roots: the oracle's optima through planning, lowering, verification, link loads and a run on
// exact data; random graphs; rates that must be rounded.
#include "scheduler/forest/allreduce_trees.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "core/base/rng.h"
#include "core/plan/run_check.h"
#include "core/plan/verify.h"
#include "core/topo/gallery.h"
#include "core/topo/topology_json.h"
#include "scheduler/bound/bound.h"
#include "scheduler/forest/forest.h"
#include "scheduler/graph/edge_list_testing.h"
#include "scheduler/lower/lower.h"

namespace mycel {
namespace {

Topology Gallery(const std::string& name) {
  StatusOr<Topology> topology = GalleryTopology(name);
  EXPECT_TRUE(topology.ok()) << name << ": " << topology.status();
  return *std::move(topology);
}

PlanRequest AllReduce() {
  PlanRequest request;
  request.collective = Collective::kAllReduce;
  request.bytes = 1 << 26;
  return request;
}

/// Plans, verifies, and (up to 16 ranks) runs; inv_x as `mycel plan` counts it, 0 after a failure.
Rational Achieved(const Topology& topology, Pipelining pipelined = Pipelining::kOff) {
  const StatusOr<Schedule> schedule = ForestPlanner().MakeSchedule(topology, AllReduce());
  EXPECT_TRUE(schedule.ok()) << schedule.status();
  if (!schedule.ok()) return Rational(0);
  LowerOptions options;
  options.pipelined = pipelined;
  const StatusOr<Plan> plan = Lower(*schedule, topology, options);
  EXPECT_TRUE(plan.ok()) << plan.status();
  if (!plan.ok()) return Rational(0);
  EXPECT_TRUE(Verify(*plan).ok()) << Verify(*plan);
  if (topology.rank_count() <= 16) {
    for (const int64_t count : {1, 17, 1000}) {
      InterpretRequest run;
      run.type = DataType::kInt32;
      run.count = count;
      const Status ran = CheckByRunning(*plan, run);
      EXPECT_TRUE(ran.ok()) << "count " << count << ": " << ran;
    }
  }
  const StatusOr<LinkLoads> loads = ComputeLinkLoads(*plan, topology);
  EXPECT_TRUE(loads.ok()) << loads.status();
  return loads.ok() ? loads->inv_x * Rational(topology.rank_count()) : Rational(0);
}

Rational Algbw(const Topology& topology, Pipelining pipelined = Pipelining::kOff) {
  const Rational inv_x = Achieved(topology, pipelined);
  return inv_x == Rational(0) ? inv_x : Rational(topology.rank_count()) / inv_x;
}

TEST(AllReduceTrees, ReachTheLinearProgramOnTheOracleTable) {
  EXPECT_EQ(Algbw(Gallery("mesh-2x3")), Rational(7, 5));
  EXPECT_EQ(Algbw(Gallery("mesh-3x3")), Rational(3, 2));
  EXPECT_EQ(Algbw(Gallery("mesh-3x3"), Pipelining::kOn), Rational(3, 2));
  EXPECT_EQ(Algbw(EdgeList("0-w:10 1-w:10 2-w:1")), Rational(1));
  EXPECT_EQ(Algbw(Gallery("star-4-4-2-2")), Rational(2));
  EXPECT_EQ(Algbw(Gallery("star-4-4-2-2"), Pipelining::kOn), Rational(2));
  EXPECT_EQ(Algbw(EdgeList("0-nvs:300 1-nvs:300 2-nvs:300 3-nvs:300 0-ib:25 1-ib:25 2-ib:25 3-ib:25 "
                           "4-pcie:32 5-pcie:32 6-pcie:32 7-pcie:32 pcie-ib:25")),
            Rational(153, 8));
  EXPECT_EQ(Algbw(EdgeList("0-1:2 0-2:2 0-3:2 1-2:2 1-3:2 2-3:2 4-5:3 0-ib:2 2-ib:2 4-ib:1 5-ib:1")), Rational(2));
  EXPECT_EQ(Algbw(Gallery("mi250-8plus8")), Rational(128));
}

TEST(AllReduceTrees, EqualRootsStayWhereTheyAreTheBest) {
  EXPECT_EQ(Algbw(Gallery("ring8")), Rational(200, 7));
  EXPECT_EQ(Algbw(Gallery("dgx-a100-x2")), Rational(520, 3));
  EXPECT_EQ(Algbw(Gallery("dgx-h100-x2")), Rational(800, 3));
  EXPECT_EQ(Algbw(Gallery("mi250")), Rational(1200, 7));
  EXPECT_EQ(Algbw(Gallery("dgx1-v100")), Rational(600, 7));
}

TEST(AllReduceTrees, ARankBehindASlowLinkIsNoRoot) {
  const StatusOr<Schedule> schedule = ForestPlanner().MakeSchedule(EdgeList("0-w:10 1-w:10 2-w:1"), AllReduce());
  ASSERT_TRUE(schedule.ok()) << schedule.status();
  std::map<int32_t, int64_t> units;
  int64_t next = 0;  // the roots' chunks cover the vector without a gap
  for (const Tree& tree : schedule->trees) {
    EXPECT_EQ(tree.chunk.begin, next);
    next = tree.chunk.end;
    units[tree.root.value()] += tree.chunk.units();
  }
  EXPECT_EQ(next, schedule->units_per_block);
  EXPECT_EQ(units.count(2), 0U);
}

TEST(AllReduceTrees, PassASwitchThatLetsMoreOutThanIn) {
  const Topology topology = EdgeList("0>w:4 w>1:3 w>2:2 1>w:1 1>2:2 2>0:4");
  EXPECT_EQ(Achieved(topology), BoundOf(topology, AllReduce())->inv_x);
}

TEST(AllReduceTrees, RandomGraphsReachTheirOptimum) {
  const uint64_t seed = 20250302;
  SCOPED_TRACE("seed " + std::to_string(seed));
  Rng rng(seed);
  int unequal = 0;
  for (int round = 0; round < 400 && !::testing::Test::HasFailure(); ++round) {
    RandomShape shape;
    shape.node_count_max = 8;
    const Topology topology = RandomTopology(rng, shape);
    if (topology.rank_count() < 2 || !CheckConnected(topology).ok()) continue;
    SCOPED_TRACE("round " + std::to_string(round) + "\n" + WriteTopology(topology));
    const StatusOr<AllReduceBound> known = AllReduceBoundOf(topology);
    ASSERT_TRUE(known.ok()) << known.status();
    EXPECT_EQ(known->optimum.kind, BoundKind::kOptimum);
    EXPECT_EQ(Achieved(topology), known->optimum.inv_x);
    if (known->rates) ++unequal;
  }
  EXPECT_GT(unequal, 50);
}

TEST(AllReduceTrees, RoundedRatesStayWithinTheirWord) {
  for (const std::string name : {"mesh-2x3", "mesh-3x3", "star-4-4-2-2", "mi250-8plus8"}) {
    SCOPED_TRACE(name);
    const Topology topology = Gallery(name);
    StatusOr<AllReduceRates> rates = FindAllReduceRates(topology);
    ASSERT_TRUE(rates.ok()) << rates.status();
    const StatusOr<AllReduceTrees> exact = PackAllReduceTrees(topology, *rates);
    ASSERT_TRUE(exact.ok()) << exact.status();
    EXPECT_LE(exact->inv_x, rates->inv_x);
    rates->exact = false;
    for (const int64_t trees_max : {int64_t{3}, int64_t{100}, int64_t{1} << 16}) {
      const StatusOr<AllReduceTrees> rounded = PackAllReduceTrees(topology, *rates, trees_max);
      ASSERT_TRUE(rounded.ok()) << rounded.status();
      EXPECT_EQ(rounded->count, trees_max);
      EXPECT_GE(rounded->inv_x, rates->inv_x);
      if (trees_max > 1000) {
        EXPECT_LE(rounded->inv_x, rates->inv_x * Rational(1001, 1000));
      }
      for (const auto* trees : {&rounded->up, &rounded->down}) {
        int64_t count = 0;
        for (const ForestTree& tree : *trees) count += tree.multiplicity;
        EXPECT_EQ(count, trees_max);
      }
    }
  }
}

}  // namespace
}  // namespace mycel
