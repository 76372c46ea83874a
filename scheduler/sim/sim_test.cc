#include "scheduler/sim/sim.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "core/base/rng.h"
#include "core/topo/gallery.h"
#include "scheduler/direct/direct.h"
#include "scheduler/lower/lower.h"
#include "scheduler/ring/ring.h"

namespace mycel {
namespace {

using ::testing::HasSubstr;

Topology Named(const std::string& name) {
  StatusOr<Topology> topology = GalleryTopology(name);
  EXPECT_TRUE(topology.ok()) << topology.status();
  return *std::move(topology);
}

/// n ranks around one switch; rank r's cable has bandwidths[r], both ways, and 1 us each side.
Topology Star(const std::vector<Rational>& bandwidths) {
  TopologyBuilder builder("star");
  std::vector<NodeId> nodes;
  for (size_t r = 0; r < bandwidths.size(); ++r) {
    nodes.push_back(builder.AddRank("r" + std::to_string(r), Rank(static_cast<int64_t>(r))));
  }
  const NodeId center = builder.AddSwitch("s");
  for (size_t r = 0; r < bandwidths.size(); ++r) builder.AddDuplex(nodes[r], center, bandwidths[r], 1);
  return *std::move(builder).Build();
}

Plan MakePlan(const Planner& planner, const Topology& topology, Collective collective, const LowerOptions& options = {},
              const std::string& variant = "") {
  PlanRequest request;
  request.collective = collective;
  if (InfoOf(collective).rooted) request.root = Rank(0);
  request.variant = variant;
  StatusOr<Schedule> schedule = planner.MakeSchedule(topology, request);
  EXPECT_TRUE(schedule.ok()) << schedule.status();
  StatusOr<Plan> plan = Lower(*schedule, topology, options);
  EXPECT_TRUE(plan.ok()) << plan.status();
  return *std::move(plan);
}

SimResult Simulated(const Plan& plan, const Topology& topology, const SimOptions& options) {
  StatusOr<SimResult> result = Simulate(plan, topology, options);
  EXPECT_TRUE(result.ok()) << result.status();
  return result.ok() ? *std::move(result) : SimResult();
}

SimOptions Bytes(int64_t bytes) {
  SimOptions options;
  options.bytes = bytes;
  options.op_overhead_us = 0.5;
  return options;
}

// One message: 0.5 to send it, 1000 bytes at 10 GB/s = 0.1, two hops of 1, 0.5 to take it.
TEST(Sim, OneMessage) {
  const Topology star = Star({10, 10});
  const Plan plan = MakePlan(DirectPlanner(), star, Collective::kBroadcast);
  const SimResult result = Simulated(plan, star, Bytes(1000));
  EXPECT_DOUBLE_EQ(result.time_us, 0.5 + 0.1 + 2 + 0.5);
  EXPECT_DOUBLE_EQ(result.bound_us, 0.1);
  EXPECT_DOUBLE_EQ(result.algbw_GBps, 1.0 / 3.1);
}

// Rank 0 feeds two ranks over its cable of 10 GB/s; the cable of rank 2 carries only 2 GB/s. Max-min: 8 and 2. Rank 1
// has its 8000 bytes after 1 us, rank 2 after 4 us.
TEST(Sim, FlowsShareLinksMaxMin) {
  const Topology star = Star({10, 10, 2});
  const Plan plan = MakePlan(DirectPlanner(), star, Collective::kBroadcast);
  SimOptions options = Bytes(8000);
  options.record = true;
  const SimResult result = Simulated(plan, star, options);
  ASSERT_EQ(result.messages.size(), 2u);
  EXPECT_DOUBLE_EQ(result.messages[0].end_us, 0.5 + 1);
  EXPECT_DOUBLE_EQ(result.messages[1].end_us, 0.5 + 4);
  EXPECT_DOUBLE_EQ(result.time_us, 0.5 + 4 + 2 + 0.5);
}

// Two halves of a message take turns in one channel but go different ways: each link carries what its ops say, and the
// second half leaves when the first has left.
TEST(Sim, MessagesOfAChannelTakeTheirOwnWays) {
  TopologyBuilder builder("two ways");
  const NodeId a = builder.AddRank("a", Rank(0));
  const NodeId b = builder.AddRank("b", Rank(1));
  const NodeId fast = builder.AddSwitch("fast");
  const NodeId slow = builder.AddSwitch("slow");
  for (const auto& [node, bandwidth, latency] : {std::tuple(fast, 10, 1.0), std::tuple(slow, 1, 0.25)}) {
    builder.AddDuplex(a, node, Rational(bandwidth), latency);
    builder.AddDuplex(node, b, Rational(bandwidth), latency);
  }
  const StatusOr<Topology> topology = std::move(builder).Build();
  ASSERT_TRUE(topology.ok()) << topology.status();
  Schedule schedule;
  schedule.collective = Collective::kBroadcast;
  schedule.rank_count = 2;
  schedule.root = Rank(0);
  schedule.units_per_block = 2;
  schedule.routes = {{a, slow, b}, {a, fast, b}};
  for (int32_t half = 0; half < 2; ++half) {
    Tree tree;
    tree.chunk = {0, half, half + 1};
    tree.root = Rank(0);
    tree.down = {{Rank(0), Rank(1), half}};
    schedule.trees.push_back(tree);
  }
  const StatusOr<Plan> plan = Lower(schedule, *topology);
  ASSERT_TRUE(plan.ok()) << plan.status();
  ASSERT_EQ(plan->channels.size(), 1u);
  SimOptions options = Bytes(2000);
  options.record = true;
  const SimResult result = Simulated(*plan, *topology, options);
  EXPECT_EQ(result.link_bytes[topology->FindLink(a, slow).index()], 1000);
  EXPECT_EQ(result.link_bytes[topology->FindLink(a, fast).index()], 1000);
  ASSERT_EQ(result.messages.size(), 2u);
  EXPECT_DOUBLE_EQ(result.messages[0].end_us - result.messages[0].start_us, 1);    // 1000 bytes at 1 GB/s
  EXPECT_DOUBLE_EQ(result.messages[1].end_us, result.messages[1].start_us + 0.1);  // and at 10 GB/s
  EXPECT_DOUBLE_EQ(result.messages[1].start_us, result.messages[0].end_us);
}

// With one slot each slice waits for the word that the one before was read: 0.5 + 0.1 + 2 + 0.5 + 2 back.
TEST(Sim, SlotsLimitWhatIsUnderWay) {
  const Topology star = Star({10, 10});
  LowerOptions lower;
  lower.slot_count = 1;
  lower.slice_bytes = 1024;
  Plan plan = MakePlan(DirectPlanner(), star, Collective::kBroadcast, lower);
  ASSERT_EQ(plan.slot_count, 1);
  const double slice_us = 1024 / 1e4;
  const double round_us = 0.5 + slice_us + 2 + 0.5 + 2;
  EXPECT_NEAR(Simulated(plan, star, Bytes(4096)).time_us, 3 * round_us + 0.5 + slice_us + 2 + 0.5, 1e-9);
  plan.slot_count = 8;
  EXPECT_NEAR(Simulated(plan, star, Bytes(4096)).time_us, 4 * 0.5 + slice_us + 2 + 0.5, 1e-9);
}

TEST(Sim, LaneSpeedLimitsOps) {
  const Topology star = Star({10, 10});
  const Plan plan = MakePlan(DirectPlanner(), star, Collective::kBroadcast);
  SimOptions options = Bytes(1000);
  options.lane_GBps = 1;  // 1 us for each op; the root also writes its own copy: two outputs
  EXPECT_DOUBLE_EQ(Simulated(plan, star, options).time_us, 0.5 + 2 + 0.1 + 2 + 0.5 + 1);
}

// The optimum of ring8 is 7/50 ns per byte of a shard: 18.79 ms for 1 GiB.
TEST(Sim, RingAllGatherReachesItsBound) {
  const Topology ring = Named("ring8");
  const Plan plan = MakePlan(RingPlanner(), ring, Collective::kAllGather);
  SimOptions options;
  options.bytes = 1 << 30;
  const SimResult result = Simulated(plan, ring, options);
  EXPECT_NEAR(result.bound_us, (1 << 27) * 7.0 / 50 / 1e3, 1e-6);
  EXPECT_LT(result.time_us, result.bound_us * 1.02);
  EXPECT_NEAR(result.algbw_GBps, 57.1, 1.2);
  EXPECT_NEAR(result.busbw_GBps, result.algbw_GBps * 7 / 8, 1e-9);
  EXPECT_LT(result.slices_simulated, result.slices);
  for (size_t i = 0; i < ring.links().size(); ++i) EXPECT_NEAR(result.link_utilisation[i], 1, 0.02);
}

// Cutting a run short must not change the answer: compare with the whole run.
TEST(Sim, ShortenedRunsAgreeWithWholeOnes) {
  for (const auto& [name, collective] :
       std::vector<std::pair<std::string, Collective>>{{"ring5", Collective::kAllReduce},
                                                       {"ring8", Collective::kBroadcast},
                                                       {"dgx-a100", Collective::kAllReduce}}) {
    SCOPED_TRACE(name);
    const Topology topology = Named(name);
    const Planner& planner = name[0] == 'r' ? RingPlanner() : DirectPlanner();
    const Plan plan = MakePlan(planner, topology, collective);
    SimOptions options = Bytes(64 << 20);
    const double shortened = Simulated(plan, topology, options).time_us;
    options.slices_max = 1 << 30;
    const SimResult whole = Simulated(plan, topology, options);
    EXPECT_EQ(whole.slices, whole.slices_simulated);
    EXPECT_NEAR(shortened, whole.time_us, whole.time_us * 0.02);
  }
}

/// A plan and whether lanes are expected to stand for others.
struct FoldCase {
  std::string topology;
  const Planner& planner;
  Collective collective;
  int64_t bytes;
  bool folds;
};

// One lane for all that are alike must not change the answer, nor may it be taken for others that are not alike.
TEST(Sim, AlikeLanesAreSimulatedOnce) {
  const FoldCase cases[] = {{"ring8", RingPlanner(), Collective::kAllGather, 8 << 20, false},
                            {"ring5", RingPlanner(), Collective::kAllReduce, 5 << 20, true},
                            {"dgx-a100-x2", DirectPlanner(), Collective::kAllToAll, 16 << 20, true},
                            {"fullmesh-6", DirectPlanner(), Collective::kAllReduce, 6 << 20, true},
                            {"dgx-a100", DirectPlanner(), Collective::kBroadcast, 4 << 20, false},
                            {"ring5", RingPlanner(), Collective::kBroadcast, 9 << 20, false}};
  for (const FoldCase& c : cases) {
    SCOPED_TRACE(c.topology + " " + std::string(NameOf(c.collective)));
    const Topology topology = Named(c.topology);
    const Plan plan = MakePlan(c.planner, topology, c.collective);
    SimOptions options = Bytes(c.bytes);
    options.record = true;
    const SimResult folded = Simulated(plan, topology, options);
    options.fold = false;
    const SimResult whole = Simulated(plan, topology, options);
    EXPECT_EQ(whole.lanes, whole.lanes_simulated);
    EXPECT_EQ(folded.lanes_simulated < folded.lanes, c.folds);
    EXPECT_NEAR(folded.time_us, whole.time_us, whole.time_us * 1e-9);
    // Message by message: the same times on the channel that stands for each.
    std::vector<std::vector<double>> ends(plan.channels.size());
    for (const MessageInterval& at : folded.messages) ends[at.channel.index()].push_back(at.end_us);
    std::vector<size_t> seen(plan.channels.size());
    for (const MessageInterval& at : whole.messages) {
      const std::vector<double>& alike = ends[folded.channel_alike[at.channel.index()].index()];
      ASSERT_LT(seen[at.channel.index()], alike.size());
      EXPECT_NEAR(at.end_us, alike[seen[at.channel.index()]++], 1e-6);
    }
  }
}

// One cable of a ring is slower, or one rank's chunk is wider: nothing but what stays alike may be folded.
TEST(Sim, WhatIsNotAlikeIsNotFolded) {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed);
    const int64_t n = rng.Between(3, 7);
    std::vector<Rational> cables(static_cast<size_t>(n), Rational(8));
    if (rng.OneIn(2)) cables[rng.Below(cables.size())] = Rational(rng.Between(1, 12));
    const Topology star = Star(cables);
    LowerOptions lower;
    lower.lanes = static_cast<int32_t>(rng.Between(1, 3));
    const Planner& planner = rng.OneIn(2) ? RingPlanner() : DirectPlanner();
    const Plan plan = MakePlan(planner, star, Collective::kAllReduce, lower);
    SimOptions options = Bytes(rng.Between(1, 1 << 20));
    const double folded_us = Simulated(plan, star, options).time_us;
    options.fold = false;
    const double whole_us = Simulated(plan, star, options).time_us;
    EXPECT_NEAR(folded_us, whole_us, whole_us * 1e-9);
  }
}

TEST(Sim, UnevenDemandIsCoarsenedNotCut) {
  const Topology mesh = Named("fullmesh-3");
  PlanRequest request;
  request.collective = Collective::kAllToAllV;
  request.demand = {0, 50 << 20, 10, 0, 0, 0, 70000, 0, 0};
  const StatusOr<Schedule> schedule = DirectPlanner().MakeSchedule(mesh, request);
  ASSERT_TRUE(schedule.ok());
  const StatusOr<Plan> plan = Lower(*schedule, mesh);
  ASSERT_TRUE(plan.ok()) << plan.status();
  SimOptions options;
  options.op_overhead_us = 0.5;
  const SimResult result = Simulated(*plan, mesh, options);
  EXPECT_GE(result.time_us, result.bound_us);
  EXPECT_LT(result.time_us, result.bound_us * 1.3);
  EXPECT_LE(result.slices_simulated, 64);
}

TEST(Sim, NamesTheDeadlock) {
  const Topology mesh = Named("fullmesh-2");
  Plan plan = MakePlan(DirectPlanner(), mesh, Collective::kAllReduce, {}, "two-shot");
  for (RankPlan& rank : plan.ranks) std::reverse(rank.lanes[0].ops.begin(), rank.lanes[0].ops.end());
  for (RankPlan& rank : plan.ranks) {
    for (Op& op : rank.lanes[0].ops) op.skew = 0;
  }
  const Status status = Simulate(plan, mesh, Bytes(1000)).status();
  EXPECT_EQ(status.code(), StatusCode::kInternal);
  EXPECT_THAT(StatusMessage(status), HasSubstr("deadlocks: rank 0 lane 0 waits at op 0, slice 0;"));
}

TEST(Sim, RefusesAForeignTopology) {
  const Plan plan = MakePlan(DirectPlanner(), Named("fullmesh-4"), Collective::kAllGather);
  EXPECT_THAT(StatusMessage(Simulate(plan, Named("ring5"), {}).status()), HasSubstr("the plan has 4 ranks"));
  EXPECT_THAT(StatusMessage(Simulate(plan, Named("ring4"), {}).status()),
              HasSubstr("has no route in topology 'ring4'"));
}

TEST(Sim, TraceHasEveryOpAndMessage) {
  const Topology ring = Named("ring3");
  const Plan plan = MakePlan(RingPlanner(), ring, Collective::kAllGather);
  SimOptions options = Bytes(3000);
  options.record = true;
  const SimResult result = Simulated(plan, ring, options);
  const ChromeTrace whole = ToChromeTrace(plan, result);
  const std::string& trace = whole.json;
  EXPECT_EQ(whole.ranks, 3);
  const auto complete = [](const std::string& text) {
    size_t count = 0;
    for (size_t at = 0; (at = text.find("\"ph\":\"X\"", at)) != std::string::npos; ++at) ++count;
    return count;
  };
  const size_t ops_of_rank = plan.ranks[0].lanes[0].ops.size();
  EXPECT_EQ(complete(trace), 3 * ops_of_rank + 6);  // two hops for each of three blocks
  // Too many events: fewer ranks, and of one rank only what comes first.
  const ChromeTrace two = ToChromeTrace(plan, result, static_cast<int64_t>(2 * (ops_of_rank + 2)));
  EXPECT_EQ(two.ranks, 2);
  EXPECT_EQ(complete(two.json), 2 * (ops_of_rank + 2));
  const ChromeTrace begin = ToChromeTrace(plan, result, 2);
  EXPECT_EQ(begin.ranks, 1);
  EXPECT_LT(begin.until_us, result.time_us);
  EXPECT_LE(complete(begin.json), 2U);
  EXPECT_GE(complete(begin.json), 1U);
  EXPECT_EQ(std::count(trace.begin(), trace.end(), '{'), std::count(trace.begin(), trace.end(), '}'));
  EXPECT_THAT(trace, HasSubstr("\"name\":\"0 to 1 #0\""));
  EXPECT_THAT(trace, ::testing::EndsWith("\n]}\n"));
}

// A random machine, plan and size: never faster than the busiest link, never slower when every cable gets better. One
// better cable alone may shift fair shares to messages that nobody waits for, hence the tolerance (README.md, Limits).
TEST(Sim, BoundsAndMonotony) {
  const std::vector<Collective> collectives = {Collective::kAllGather, Collective::kReduceScatter,
                                               Collective::kAllReduce, Collective::kBroadcast,
                                               Collective::kAllToAll,  Collective::kGather};
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed);
    std::vector<Rational> slow, fast;
    const int64_t n = rng.Between(2, 6);
    for (int64_t r = 0; r < n; ++r) {
      slow.push_back(Rational(rng.Between(1, 20)));
      fast.push_back(slow.back() * Rational(3, 2));
    }
    LowerOptions lower;
    lower.lanes = static_cast<int32_t>(rng.Between(1, 2));
    lower.slice_bytes = 4096 << rng.Between(0, 4);
    const Planner& planner = rng.OneIn(2) ? RingPlanner() : DirectPlanner();
    const Collective collective = collectives[rng.Below(collectives.size())];
    const Topology slow_star = Star(slow);
    const Plan plan = MakePlan(planner, slow_star, collective, lower);
    const SimOptions options = Bytes(rng.Between(0, 4 << 20));
    const SimResult result = Simulated(plan, slow_star, options);
    EXPECT_GE(result.time_us, result.bound_us);
    EXPECT_LE(Simulated(plan, Star(fast), options).time_us, result.time_us * (1 + 1e-9));
    std::vector<Rational> one_faster = slow;
    Rational& better = one_faster[rng.Below(slow.size())];
    better = better * Rational(rng.Between(5, 16), 4);
    EXPECT_LE(Simulated(plan, Star(one_faster), options).time_us, result.time_us * 1.01);
  }
}

}  // namespace
}  // namespace mycel
