// Forests on thousands of random graphs against the best of all cuts, found by trying every node set.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "core/base/rng.h"
#include "core/plan/verify.h"
#include "core/topo/topology_json.h"
#include "scheduler/forest/forest.h"
#include "scheduler/forest/forest_testing.h"
#include "scheduler/forest/spanning_forest.h"
#include "scheduler/lower/lower.h"

namespace mycel {
namespace {

struct Walks {
  int64_t ranks_max = 5;
  int64_t switches_max = 3;
  int64_t amount_max = 4;
  bool closed = true;     // every node balanced; otherwise walks begin and end at ranks, and only switches are
  bool mirrored = false;  // every link both ways
};

/// A union of random walks, each a bundle of links of its own, so that many links are parallel and most one-way. May
/// not be connected.
Topology RandomWalks(Rng& random, const Walks& walks) {
  const int64_t ranks = random.Between(2, walks.ranks_max);
  const int64_t nodes = ranks + random.Between(0, walks.switches_max);
  TopologyBuilder builder("walks");
  for (int64_t i = 0; i < nodes; ++i) {
    if (i < ranks) {
      builder.AddRank("r" + std::to_string(i), Rank(i), random.OneIn(2) ? "s" + std::to_string(i / 2) : "");
    } else {
      builder.AddSwitch("w" + std::to_string(i));
    }
  }
  for (int64_t count = random.Between(2, nodes + 2); count > 0; --count) {
    std::vector<int64_t> stops;
    for (int64_t i = random.Between(2, nodes); i > 0; --i) stops.push_back(random.Between(0, nodes - 1));
    if (walks.closed) {
      stops.push_back(stops.front());
    } else {
      stops.front() = random.Between(0, ranks - 1);
      stops.back() = random.Between(0, ranks - 1);
    }
    const Rational amount(random.Between(1, walks.amount_max));
    for (size_t i = 1; i < stops.size(); ++i) {
      if (stops[i - 1] == stops[i]) continue;
      builder.AddLink(NodeId(stops[i - 1]), NodeId(stops[i]), amount);
      if (walks.mirrored) builder.AddLink(NodeId(stops[i]), NodeId(stops[i - 1]), amount);
    }
  }
  StatusOr<Topology> topology = std::move(builder).Build();
  EXPECT_TRUE(topology.ok()) << topology.status();
  return *std::move(topology);
}

/// inv_x of the forest planner's plan, verified, from its link loads; 0 after a failure.
Rational OfPlan(const Topology& topology, const PlanRequest& request) {
  const StatusOr<Schedule> schedule = ForestPlanner().MakeSchedule(topology, request);
  EXPECT_TRUE(schedule.ok()) << schedule.status();
  if (!schedule.ok()) return Rational(0);
  const StatusOr<Plan> plan = Lower(*schedule, topology);
  EXPECT_TRUE(plan.ok()) << plan.status();
  if (!plan.ok()) return Rational(0);
  EXPECT_TRUE(Verify(*plan).ok()) << Verify(*plan);
  const StatusOr<LinkLoads> loads = ComputeLinkLoads(*plan, topology);
  EXPECT_TRUE(loads.ok()) << loads.status();
  return loads.ok() ? loads->inv_x : Rational(0);
}

TEST(ForestRandom, MeetTheBestOfAllCuts) {
  const uint64_t seed = 20250320;
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  Rng rng(seed);
  constexpr int kGraphs = 5000;
  int packed = 0;
  int planned = 0;
  int one_way = 0;
  int many_trees = 0;
  int refused = 0;
  while (packed < kGraphs && !::testing::Test::HasFailure()) {
    Walks walks;
    walks.closed = rng.OneIn(2);
    walks.mirrored = rng.OneIn(4);
    walks.amount_max = rng.OneIn(4) ? 1'000'000'000 : rng.Between(1, 8);
    const Topology topology = RandomWalks(rng, walks);
    const bool reversed = rng.OneIn(3);
    const Topology asked = reversed ? Reversed(topology) : topology;
    std::vector<int64_t> weights(static_cast<size_t>(topology.rank_count()), 1);
    const int64_t kind = rng.Between(0, 3);  // alike, uneven, some empty, only one
    for (int64_t& weight : weights) {
      if (kind == 1) weight = rng.Between(1, 5);
      if (kind == 2) weight = rng.Between(0, 2);
      if (kind == 3) weight = 0;
    }
    if (kind == 3) weights[rng.Below(weights.size())] = 1;
    SCOPED_TRACE("graph " + std::to_string(packed) + (reversed ? ", reversed" : "") + "\n" + WriteTopology(topology));
    const Rational best = BestCutByBruteForce(asked, weights);
    const StatusOr<SpanningForest> forest = PackSpanningForest(topology, weights, 0, reversed);
    if (best <= Rational(0)) {
      const StatusCode expected = best < Rational(0) ? StatusCode::kUnimplemented : StatusCode::kInvalidArgument;
      EXPECT_EQ(forest.status().code(), expected) << forest.status();
      ++refused;
      continue;
    }
    ASSERT_TRUE(forest.ok()) << forest.status();
    EXPECT_EQ(forest->optimum, best);
    EXPECT_EQ(forest->inv_x, best);
    CheckForest(topology, weights, *forest, reversed);
    ++packed;
    many_trees += forest->trees_per_weight > 64 ? 1 : 0;
    one_way += std::any_of(topology.links().begin(), topology.links().end(),
                           [&](const Link& link) { return !topology.FindLink(link.target, link.source).valid(); });
    if (rng.OneIn(4)) {
      const int64_t trees = rng.Between(1, 5);
      const StatusOr<SpanningForest> few = PackSpanningForest(topology, weights, trees, reversed);
      ASSERT_TRUE(few.ok()) << few.status();
      EXPECT_EQ(few->trees_per_weight, trees);
      CheckForest(topology, weights, *few, reversed);
      if (trees % forest->trees_per_weight == 0) {
        EXPECT_EQ(few->inv_x, best);
      }
    }
    // Whole plans, where a request can say these weights.
    if ((kind == 0 || kind == 3) && rng.OneIn(3) && CheckConnected(topology).ok()) {
      PlanRequest request;
      request.bytes = 1 << 20;
      request.collective = kind == 0 ? (reversed ? Collective::kReduceScatter : Collective::kAllGather)
                                     : (reversed ? Collective::kReduce : Collective::kBroadcast);
      if (kind == 3) request.root = Rank(std::find(weights.begin(), weights.end(), 1) - weights.begin());
      EXPECT_EQ(OfPlan(topology, request), best);
      ++planned;
    }
  }
  std::printf("%d forests (%d on one-way links, %d with more than 64 trees a root), %d plans, %d refused\n", packed,
              one_way, many_trees, planned, refused);
  EXPECT_GT(one_way, kGraphs / 2);
  EXPECT_GT(many_trees, kGraphs / 20);
  EXPECT_GT(planned, kGraphs / 20);
  EXPECT_GT(refused, kGraphs / 20);
}

}  // namespace
}  // namespace mycel
