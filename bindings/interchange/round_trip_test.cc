// Plans written in another format and read back: still right, with the same load on every link, and right when run.
#include <gtest/gtest.h>

#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "bindings/interchange/fold.h"
#include "bindings/interchange/plan_file.h"
#include "core/plan/random_plans.h"
#include "core/plan/run_check.h"
#include "core/plan/sample_plans.h"
#include "core/plan/verify.h"
#include "core/topo/gallery.h"
#include "scheduler/graph/edge_list_testing.h"
#include "scheduler/lower/lower.h"
#include "scheduler/select/planners.h"

namespace mycel {
namespace {

constexpr Collective kServed[] = {Collective::kAllGather, Collective::kReduceScatter, Collective::kAllReduce,
                                  Collective::kAllToAll};
constexpr PlanFormat kForeign[] = {PlanFormat::kMscclXml, PlanFormat::kMscclppJson};

bool IsServed(Collective collective) {
  return std::find(std::begin(kServed), std::end(kServed), collective) != std::end(kServed);
}

/// Runs the plan on exact data, in place and out of place, in slices small enough that there are several.
void ExpectRunsRight(Plan plan) {
  if (plan.rank_count > 16) return;
  plan.slice_bytes = 128;
  for (const bool in_place : {false, true}) {
    InterpretRequest request;
    request.type = DataType::kInt32;
    request.count = 333;
    request.in_place = in_place;
    request.seed = 7;
    const Status met = CheckByRunning(plan, request);
    EXPECT_TRUE(met.ok()) << (in_place ? "in place: " : "") << met;
  }
}

/// `plan` in `format` and back; nothing where the format's limits forbid it.
std::optional<Plan> ThereAndBack(const Plan& plan, PlanFormat format) {
  const StatusOr<std::string> text = WritePlanAs(plan, format);
  if (!text.ok()) {
    EXPECT_EQ(text.status().code(), StatusCode::kUnimplemented) << text.status();
    return std::nullopt;
  }
  const StatusOr<LoadedPlan> loaded = JudgePlanText(*text, "back");
  EXPECT_TRUE(loaded.ok()) << loaded.status();
  if (!loaded.ok()) return std::nullopt;
  EXPECT_TRUE(loaded->verdict.ok()) << loaded->verdict;
  EXPECT_EQ(loaded->format, format);
  EXPECT_EQ(loaded->plan.collective, plan.collective);
  EXPECT_EQ(loaded->plan.planner, plan.planner);
  EXPECT_EQ(loaded->plan.topology_hash, plan.topology_hash);
  return loaded->plan;
}

void ExpectSameLoads(const Plan& plan, const Plan& back, const Topology& topology) {
  const StatusOr<LinkLoads> before = ComputeLinkLoads(plan, topology);
  const StatusOr<LinkLoads> after = ComputeLinkLoads(back, topology);
  ASSERT_TRUE(before.ok()) << before.status();
  ASSERT_TRUE(after.ok()) << after.status();
  EXPECT_EQ(after->inv_x, before->inv_x);
  for (size_t link = 0; link < before->blocks.size(); ++link) {
    EXPECT_EQ(after->blocks[link], before->blocks[link]) << "link " << link;
  }
}

StatusOr<Plan> MakePlan(const Topology& topology, Collective collective, std::string_view planner, int32_t lanes) {
  PlanRequest request;
  request.collective = collective;
  request.bytes = 1 << 20;
  request.lanes = lanes;
  MYCEL_ASSIGN_OR_RETURN(const Planner* const found, FindPlanner(planner));
  MYCEL_RETURN_IF_ERROR(found->Serves(topology, request));
  MYCEL_ASSIGN_OR_RETURN(const Schedule schedule, found->MakeSchedule(topology, request));
  LowerOptions options;
  options.lanes = lanes;
  return Lower(schedule, topology, options);
}

TEST(RoundTrip, PlannersPlansKeepTheirLinkLoads) {
  int trips = 0;
  for (const char* name : {"dgx1-v100", "dgx-a100-x2", "mesh-3x3", "ring5", "fullmesh-4", "mi250",
                           "tests/topologies/random-1-6r2s.json", "tests/topologies/random-2-9r3s.json"}) {
    const StatusOr<Topology> topology = LoadTopology(name);
    ASSERT_TRUE(topology.ok()) << topology.status();
    for (const Collective collective : kServed) {
      for (const char* planner : {"forest", "ring", "direct"}) {
        for (const int32_t lanes : {1, 3}) {
          if (lanes == 3 && topology->rank_count() > 9) continue;
          const StatusOr<Plan> plan = MakePlan(*topology, collective, planner, lanes);
          if (!plan.ok()) continue;
          for (const PlanFormat format : kForeign) {
            SCOPED_TRACE(std::string(name) + " " + std::string(NameOf(collective)) + " " + planner + " lanes " +
                         std::to_string(lanes) + " " + std::string(NameOf(format)));
            const std::optional<Plan> back = ThereAndBack(*plan, format);
            if (!back) continue;
            ++trips;
            ExpectSameLoads(*plan, *back, *topology);
            ExpectRunsRight(*back);
          }
        }
      }
    }
  }
  EXPECT_GT(trips, 120);
}

// Forests are what is exported above all: the three collectives must not only keep what they carry, but be there.
TEST(RoundTrip, ForestsFitMscclOnTheNamedMachines) {
  for (const char* name : {"dgx1-v100", "dgx-a100-x2", "mesh-3x3"}) {
    const StatusOr<Topology> topology = LoadTopology(name);
    ASSERT_TRUE(topology.ok()) << topology.status();
    for (const Collective collective : {Collective::kAllGather, Collective::kReduceScatter, Collective::kAllReduce}) {
      SCOPED_TRACE(std::string(name) + " " + std::string(NameOf(collective)));
      const StatusOr<Plan> plan = MakePlan(*topology, collective, "forest", 1);
      ASSERT_TRUE(plan.ok()) << plan.status();
      for (const PlanFormat format : kForeign) EXPECT_TRUE(ThereAndBack(*plan, format).has_value());
    }
  }
}

TEST(RoundTrip, ForestsOfRandomTopologies) {
  int trips = 0;
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    Rng random(seed);
    RandomShape shape;
    shape.node_count_max = 7;
    shape.one_way_one_in = 8;
    const Topology topology = RandomTopology(random, shape);
    if (topology.rank_count() < 2 || !CheckConnected(topology).ok()) continue;
    for (const Collective collective : {Collective::kAllGather, Collective::kReduceScatter, Collective::kAllReduce}) {
      const StatusOr<Plan> plan = MakePlan(topology, collective, "forest", 1 + static_cast<int32_t>(seed % 3));
      if (!plan.ok()) continue;
      for (const PlanFormat format : kForeign) {
        SCOPED_TRACE("seed " + std::to_string(seed) + " " + std::string(NameOf(collective)) + " " +
                     std::string(NameOf(format)));
        const std::optional<Plan> back = ThereAndBack(*plan, format);
        if (!back) continue;
        ++trips;
        ExpectSameLoads(*plan, *back, topology);
        ExpectRunsRight(*back);
      }
    }
  }
  EXPECT_GT(trips, 60);
}

TEST(RoundTrip, RandomPlans) {
  int trips = 0;
  for (uint64_t seed = 1; seed <= 400; ++seed) {
    Rng rng(seed);
    const Plan plan = RandomTreePlan(rng, 6);
    if (!IsServed(plan.collective)) continue;
    for (const PlanFormat format : kForeign) {
      SCOPED_TRACE("seed " + std::to_string(seed) + " " + std::string(NameOf(format)));
      const std::optional<Plan> back = ThereAndBack(plan, format);
      if (!back) continue;
      ++trips;
      ExpectRunsRight(*back);
    }
  }
  EXPECT_GT(trips, 250);
}

TEST(RoundTrip, SamplePlansOfEveryProtocol) {
  int trips = 0;
  for (const Protocol protocol : {Protocol::kInline, Protocol::kSlot, Protocol::kDirect}) {
    SampleOptions options;
    options.protocol = protocol;
    options.lanes = 2;
    for (const SamplePlan& sample : AllSamplePlans(options)) {
      // What is wrong in place is refused before it is written.
      if (!sample.in_place) continue;
      for (const PlanFormat format : kForeign) {
        SCOPED_TRACE(sample.name + " " + std::string(NameOf(format)));
        const std::optional<Plan> back = ThereAndBack(sample.plan, format);
        EXPECT_EQ(back.has_value(), IsServed(sample.plan.collective));
        if (!back) continue;
        ++trips;
        ExpectRunsRight(*back);
      }
    }
  }
  EXPECT_GT(trips, 15);
}

// Sums must not depend on who writes the file: one-shot reductions add in the same order on every rank.
TEST(RoundTrip, ReductionsKeepTheirOrder) {
  SampleOptions options;
  options.ranks = 5;
  const Plan plan = OneShotAllReduce(options);
  std::vector<std::vector<std::byte>> results[2];
  for (const bool exported : {false, true}) {
    const std::optional<Plan> run = exported ? ThereAndBack(plan, PlanFormat::kMscclXml) : plan;
    ASSERT_TRUE(run.has_value());
    InterpretRequest request;
    request.type = DataType::kFloat32;
    request.count = 64;
    std::vector<std::vector<std::byte>> send(5, std::vector<std::byte>(256));
    std::vector<std::vector<std::byte>> recv = send;
    Rng rng(11);
    for (std::vector<std::byte>& buffer : send) {
      for (size_t i = 0; i < 64; ++i) {
        const auto value = static_cast<float>(rng.Unit());
        std::memcpy(buffer.data() + 4 * i, &value, 4);
      }
    }
    ASSERT_TRUE(Interpret(*run, request, send, recv).ok());
    results[exported ? 1 : 0] = recv;
  }
  EXPECT_EQ(results[0], results[1]);
  for (const std::vector<std::byte>& recv : results[1]) EXPECT_EQ(recv, results[1][0]);
}

TEST(Fold, PlansOnOneLaneStayRight) {
  int folded = 0;
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    Rng rng(seed);
    const Plan plan = RandomTreePlan(rng, 6);
    SCOPED_TRACE("seed " + std::to_string(seed));
    const StatusOr<Plan> one = FoldLanes(plan);
    ASSERT_TRUE(one.ok()) << one.status();
    EXPECT_EQ(ChannelLanesOf(*one), 1);
    folded += ChannelLanesOf(plan) > 1 ? 1 : 0;
    ExpectRunsRight(*one);
  }
  EXPECT_GT(folded, 50);
}

TEST(Fold, PartsOfATreeBecomeOneAgain) {
  const StatusOr<Topology> topology = LoadTopology("dgx1-v100");
  ASSERT_TRUE(topology.ok());
  const auto ops_of = [](const Plan& plan) {
    size_t ops = 0;
    for (const RankPlan& rank : plan.ranks) {
      for (const Lane& lane : rank.lanes) ops += lane.ops.size();
    }
    return ops;
  };
  for (const Collective collective : {Collective::kAllReduce, Collective::kAllGather, Collective::kReduceScatter}) {
    SCOPED_TRACE(NameOf(collective));
    const StatusOr<Plan> narrow = MakePlan(*topology, collective, "forest", 1);
    const StatusOr<Plan> wide = MakePlan(*topology, collective, "forest", 32);
    ASSERT_TRUE(narrow.ok() && wide.ok());
    EXPECT_EQ(ChannelLanesOf(*wide), 32);
    const StatusOr<Plan> one = FoldLanes(*wide);
    ASSERT_TRUE(one.ok()) << one.status();
    EXPECT_EQ(ChannelLanesOf(*one), 1);
    EXPECT_GT(ops_of(*wide), 8 * ops_of(*one));
    EXPECT_LE(ops_of(*one), 2 * ops_of(*narrow));  // those set aside, and reads that fed several channels at once
    ExpectSameLoads(*wide, *one, *topology);
    ExpectRunsRight(*one);
  }
}

TEST(Fold, ForeignPlansOfManyChannels) {
  const StatusOr<Topology> topology = LoadTopology("dgx1-v100");
  ASSERT_TRUE(topology.ok());
  const StatusOr<Plan> plan = MakePlan(*topology, Collective::kAllReduce, "forest", 4);
  ASSERT_TRUE(plan.ok()) << plan.status();
  for (const PlanFormat format : kForeign) {
    const std::optional<Plan> back = ThereAndBack(*plan, format);
    ASSERT_TRUE(back.has_value());
    EXPECT_GT(ChannelLanesOf(*back), 1);
    const StatusOr<Plan> one = FoldLanes(*back);
    ASSERT_TRUE(one.ok()) << one.status();
    EXPECT_EQ(ChannelLanesOf(*one), 1);
    ExpectSameLoads(*plan, *one, *topology);
    ExpectRunsRight(*one);
  }
}

}  // namespace
}  // namespace mycel
