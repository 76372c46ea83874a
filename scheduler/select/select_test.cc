#include "scheduler/select/select.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "core/base/rng.h"
#include "core/plan/verify.h"
#include "core/topo/gallery.h"
#include "scheduler/sim/sim.h"

namespace mycel {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

Topology Named(const std::string& name) {
  StatusOr<Topology> topology = GalleryTopology(name);
  EXPECT_TRUE(topology.ok()) << topology.status();
  return *std::move(topology);
}

PlanRequest Request(Collective collective, int64_t bytes) {
  PlanRequest request;
  request.collective = collective;
  request.bytes = bytes;
  if (InfoOf(collective).rooted) request.root = Rank(0);
  return request;
}

Choice Chosen(const Topology& topology, const PlanRequest& request, const CostModel& cost) {
  StatusOr<Choice> choice = ChoosePlan(topology, request, cost);
  EXPECT_TRUE(choice.ok()) << choice.status();
  return choice.ok() ? *std::move(choice) : Choice();
}

TEST(Select, TwoRanksOneShotThenTwoShot) {
  const Topology mesh = Named("fullmesh-2");
  const CostModel host = HostCostModel(2, 2);
  for (const int64_t bytes : {0, 8, 1024, 4096, 8192}) {
    const Choice choice = Chosen(mesh, Request(Collective::kAllReduce, bytes), host);
    EXPECT_EQ(choice.plan.planner, "direct/one-shot") << bytes;
    EXPECT_EQ(choice.plan.protocol, bytes <= 4096 ? Protocol::kInline : Protocol::kSlot) << bytes;
  }
  for (const int64_t bytes : {64 << 10, 256 << 10, 1 << 20, 64 << 20}) {
    EXPECT_EQ(Chosen(mesh, Request(Collective::kAllReduce, bytes), host).plan.planner, "direct/two-shot") << bytes;
  }
}

TEST(Select, ReproducibleRequestsGetPlansInRankOrder) {
  for (int32_t n = 1; n <= 6; ++n) {
    const Topology mesh = Named("fullmesh-" + std::to_string(n));
    for (const CollectiveInfo& info : AllCollectives()) {
      if (!info.reduces) continue;
      for (const int64_t bytes : {0, 100, 70'000, 5'000'000}) {
        PlanRequest request = Request(info.collective, bytes);
        request.reproducible = true;
        const Choice choice = Chosen(mesh, request, HostCostModel(n, 2));
        EXPECT_EQ(CheckRankOrder(choice.plan), OkStatus()) << choice.reason;
      }
    }
  }
}

TEST(Select, SchedulesInRankOrderAreThoseWhosePlansAre) {
  const Topology mesh = Named("fullmesh-4");
  int in_order = 0;
  int refused = 0;
  for (const Planner* planner : AllPlanners()) {
    for (const CollectiveInfo& info : AllCollectives()) {
      PlanRequest request = Request(info.collective, 1 << 20);
      request.planner = planner->name();
      if (!info.reduces || !planner->Serves(mesh, request).ok()) continue;
      for (const std::string& variant : planner->VariantsFor(mesh, request)) {
        request.variant = variant;
        const Choice choice = Chosen(mesh, request, HostCostModel(4, 2));
        const bool kept = CheckRankOrder(choice.plan).ok();
        EXPECT_EQ(ReducesInRankOrder(choice.schedule), kept) << choice.reason << "\n" << ToText(choice.plan);
        (kept ? in_order : refused) += 1;
        PlanRequest reproducible = request;
        reproducible.reproducible = true;
        const bool served = ChoosePlan(mesh, reproducible, HostCostModel(4, 2)).ok();
        // Asked for no variant, a planner that has several may have another one that is in order.
        if (variant.empty() && planner->VariantsFor(mesh, request).size() > 1) {
          EXPECT_TRUE(served || !kept);
        } else {
          EXPECT_EQ(served, kept);
        }
      }
    }
  }
  EXPECT_GE(in_order, 3);
  EXPECT_GE(refused, 3);
}

TEST(Select, ATopologyThatForcesRelaysHasNoReproducibleReduction) {
  PlanRequest request = Request(Collective::kAllReduce, 1 << 20);
  request.reproducible = true;
  const Status status = ChoosePlan(Named("ring4"), request, CostModel()).status();
  EXPECT_EQ(status.code(), StatusCode::kUnimplemented);
  EXPECT_THAT(StatusMessage(status), HasSubstr("no planner serves reproducible allreduce on topology"));
}

TEST(Select, EveryChoiceOnAHostIsRight) {
  for (int32_t n = 1; n <= 8; ++n) {
    const Topology mesh = Named("fullmesh-" + std::to_string(n));
    for (const CollectiveInfo& info : AllCollectives()) {
      for (const int64_t bytes : {0, 100, 70'000, 5'000'000}) {
        for (const bool direct : {false, true}) {
          PlanRequest request = Request(info.collective, bytes);
          if (info.collective == Collective::kAllToAllV) {
            request.demand.assign(static_cast<size_t>(n) * static_cast<size_t>(n), bytes);
          }
          CostModel host = HostCostModel(n, 2);
          host.allow_direct = direct;
          const Choice choice = Chosen(mesh, request, host);
          const Status verified = Verify(choice.plan, {info.collective != Collective::kAllToAllV});
          EXPECT_TRUE(verified.ok()) << choice.reason << ": " << verified;
          EXPECT_THAT(choice.reason, StartsWith(choice.plan.planner + ", slices of "));
          const auto before = [](const Candidate& a, const Candidate& b) {  // refused ones come last
            return std::make_pair(!a.refused.empty(), a.estimated_us) <
                   std::make_pair(!b.refused.empty(), b.estimated_us);
          };
          EXPECT_TRUE(std::is_sorted(choice.contest.begin(), choice.contest.end(), before));
        }
      }
    }
  }
}

// The choice sits on the path of a first call: under 1 ms for 8 local ranks is wanted (tens of microseconds on a quiet
// machine). Reported, not asserted: the clock of a busy machine proves nothing.
TEST(Select, HostChoiceTimeIsReported) {
  const Topology mesh = Named("fullmesh-8");
  for (const Collective collective : {Collective::kAllReduce, Collective::kAllToAll}) {
    double best_us = 1e9;
    for (int i = 0; i < 20; ++i) {
      const auto start = std::chrono::steady_clock::now();
      Chosen(mesh, Request(collective, 1 << 20), HostCostModel(8, 2));
      const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
      best_us = std::min(best_us, took.count());
    }
    RecordProperty(std::string(NameOf(collective)) + "_best_us", std::to_string(best_us));
  }
}

TEST(Select, FabricChoiceIsSimulatedAndNearTheBound) {
  const Topology machine = Named("dgx-a100");
  PlanRequest request = Request(Collective::kAllGather, 1 << 30);
  request.lanes = 32;
  const Choice choice = Chosen(machine, request, FabricCostModel());
  EXPECT_GE(choice.contest[0].simulated_us, 0);
  EXPECT_THAT(choice.reason, HasSubstr("simulated"));
  // The shard's optimum is 7/300 ns per byte.
  EXPECT_LT(choice.contest[0].simulated_us, (1 << 27) * 7.0 / 300 / 1e3 * 1.05);
  EXPECT_TRUE(Verify(choice.plan).ok());
}

TEST(Select, RingTopologyGetsTheRing) {
  const Choice choice = Chosen(Named("ring8"), Request(Collective::kAllGather, 64 << 20), FabricCostModel());
  EXPECT_EQ(choice.plan.planner, "ring/two-way");
  const auto refused = std::find_if(choice.contest.begin(), choice.contest.end(),
                                    [](const Candidate& candidate) { return candidate.planner.starts_with("direct"); });
  ASSERT_NE(refused, choice.contest.end());
  EXPECT_THAT(refused->refused, HasSubstr("neither directly nor through switches"));
}

// Fewest steps win until bandwidth decides; where they are bandwidth-optimal they keep up for long.
TEST(Select, BreadthFirstOnDirectConnectMachines) {
  const auto winner = [](const char* name, Collective collective, int64_t bytes) {
    PlanRequest request = Request(collective, bytes);
    request.lanes = 32;
    const std::string planner = Chosen(Named(name), request, FabricCostModel()).plan.planner;
    return planner.substr(0, planner.find('/'));
  };
  // On up to 12 ranks a timed schedule of as many steps may be a little faster.
  const auto few_steps = AnyOf("bfb", "timeflow");
  for (const Collective collective : {Collective::kAllGather, Collective::kReduceScatter, Collective::kAllReduce}) {
    EXPECT_EQ(winner("torus-4x4", collective, 1 << 20), "bfb");
    EXPECT_THAT(winner("hypercube-3", collective, 1 << 20), few_steps);
    EXPECT_THAT(winner("dgx1-v100", collective, 64 << 10), few_steps);
    EXPECT_EQ(winner("dgx1-v100", collective, 1 << 30), "forest");
  }
}

TEST(Select, BreadthFirstStaysOutWhereOthersDrawTheSameTrees) {
  for (const char* name : {"ring8", "fullmesh-4", "dgx-a100"}) {
    PlanRequest request = Request(Collective::kAllGather, 1 << 20);
    const Choice choice = Chosen(Named(name), request, FabricCostModel());
    const auto bfb = std::find_if(choice.contest.begin(), choice.contest.end(),
                                  [](const Candidate& candidate) { return candidate.planner.starts_with("bfb"); });
    ASSERT_NE(bfb, choice.contest.end());
    EXPECT_FALSE(bfb->refused.empty()) << name;
    request.planner = "bfb";
    EXPECT_THAT(Chosen(Named(name), request, FabricCostModel()).plan.planner, StartsWith("bfb"));
  }
}

TEST(Select, FlowExchangesOverRelays) {
  for (const char* name : {"torus-4x4", "hypercube-3", "dgx1-v100", "mesh-3x3"}) {
    PlanRequest request = Request(Collective::kAllToAll, 16 << 20);
    request.lanes = 32;
    // On up to 12 ranks, whole blocks that are timed as well as they can be are as fast.
    EXPECT_THAT(Chosen(Named(name), request, FabricCostModel()).plan.planner,
                AnyOf(StartsWith("flow"), StartsWith("timeflow")))
        << name;
  }
  // Nothing to relay, or nothing that relays would be good for.
  for (const char* name : {"fullmesh-4", "dgx-a100", "servers-2x4"}) {
    const Choice choice = Chosen(Named(name), Request(Collective::kAllToAll, 1 << 20), FabricCostModel());
    const auto flow = std::find_if(choice.contest.begin(), choice.contest.end(),
                                   [](const Candidate& candidate) { return candidate.planner == "flow"; });
    ASSERT_NE(flow, choice.contest.end());
    EXPECT_THAT(flow->refused, HasSubstr("--planner flow asks for it")) << name;
  }
}

TEST(Select, EqualRequestsGetEqualPlans) {
  const Topology machine = Named("dgx-a100");
  PlanRequest request = Request(Collective::kAllReduce, 3 << 20);
  request.lanes = 4;
  const Choice first = Chosen(machine, request, FabricCostModel());
  const Choice second = Chosen(machine, request, FabricCostModel());
  EXPECT_EQ(HashOf(first.plan), HashOf(second.plan));
  EXPECT_EQ(first.reason, second.reason);
}

TEST(Select, HonoursPlannerVariantAndLanes) {
  const Topology mesh = Named("fullmesh-4");
  PlanRequest request = Request(Collective::kAllReduce, 100);
  request.planner = "ring";
  request.variant = "two-way";
  EXPECT_EQ(Chosen(mesh, request, HostCostModel(4, 4)).plan.planner, "ring/two-way");
  for (const Candidate& candidate : Chosen(mesh, request, HostCostModel(4, 4)).contest) EXPECT_EQ(candidate.lanes, 1);
}

double SimulatedUs(const Plan& plan, const Topology& topology, int64_t bytes) {
  const CostModel cost = FabricCostModel();
  SimOptions options;
  options.bytes = bytes;
  options.op_overhead_us = cost.op_us;
  options.lane_GBps = cost.lane_GBps;
  const StatusOr<SimResult> result = Simulate(plan, topology, options);
  EXPECT_TRUE(result.ok()) << result.status();
  return result.ok() ? result->time_us : 0;
}

// Even and skewed demand, a hot sender, a hot receiver; from a kilobyte to megabytes a rank.
TEST(Select, AllToAllVGoesToTheFasterOfDirectAndFast) {
  int fast_wins = 0, direct_wins = 0;
  for (const char* name : {"servers-2x4", "servers-4x4", "servers-3x2", "dgx-h200-x2"}) {
    const Topology topology = Named(name);
    const auto n = static_cast<size_t>(topology.rank_count());
    for (const int kind : {0, 1, 2, 3, 4}) {
      for (const int64_t mean : {1'000, 30'000, 3'000'000}) {
        SCOPED_TRACE(std::string(name) + ", kind " + std::to_string(kind) + ", mean " + std::to_string(mean));
        Rng rng(static_cast<uint64_t>(kind));
        PlanRequest request = Request(Collective::kAllToAllV, 0);
        request.demand.resize(n * n);
        for (int64_t& bytes : request.demand) {
          const auto u = static_cast<int64_t>(rng.Below(1000));
          bytes = mean / static_cast<int64_t>(n);
          if (kind == 1) bytes = bytes * u / 500;
          if (kind == 2) bytes = bytes * u / 1000 * u / 1000 * u / 1000 * u / 200;
        }
        for (size_t i = 0; i < n; ++i) {
          if (kind == 3) request.demand[n + i] *= 12;
          if (kind == 4) request.demand[i * n + 1] *= 12;
        }
        for (const int64_t bytes : request.demand) request.bytes += bytes;
        request.bytes /= static_cast<int64_t>(n);
        request.lanes = 32;
        double best_us = 0;
        for (const char* planner : {"direct", "fast"}) {
          request.planner = planner;
          const Choice alone = Chosen(topology, request, FabricCostModel());
          const double us = SimulatedUs(alone.plan, topology, request.bytes);
          best_us = best_us == 0 ? us : std::min(best_us, us);
        }
        request.planner = "auto";
        const Choice choice = Chosen(topology, request, FabricCostModel());
        EXPECT_LE(SimulatedUs(choice.plan, topology, request.bytes), 1.05 * best_us) << choice.reason;
        ++(choice.plan.planner == "fast" ? fast_wins : direct_wins);
      }
    }
  }
  EXPECT_GT(fast_wins, 15);
  EXPECT_GT(direct_wins, 10);
}

// Between servers of a network all ranks at once are a crowd, which stages are not.
TEST(Select, ExchangesOverANetworkGoInStages) {
  const Topology topology = Named("servers-4x2");
  PlanRequest request = Request(Collective::kAllToAllV, 8 << 20);
  request.demand.assign(64, 1 << 20);
  const Choice network = Chosen(topology, request, NetworkCostModel());
  EXPECT_EQ(network.plan.planner, "fast") << network.reason;
  CostModel roomy = NetworkCostModel();
  roomy.crowd = 1;
  EXPECT_EQ(Chosen(topology, request, roomy).plan.planner.substr(0, 6), "direct");
}

// Lanes of one core are no faster: only an allreduce takes them, for what they keep apart.
TEST(Select, BetweenServersLanesAreForAllReduce) {
  TopologyBuilder builder("slow links");
  const NodeId network = builder.AddSwitch("network");
  for (int32_t server = 0; server < 3; ++server) {
    const std::string name = "s" + std::to_string(server);
    const NodeId memory = builder.AddSwitch(name + ".memory", name);
    for (int32_t place = 0; place < 2; ++place) {
      const Rank r(2 * server + place);
      const NodeId rank = builder.AddRank("rank" + std::to_string(r.value()), r, name);
      builder.AddDuplex(rank, memory, Rational(4));
      builder.AddDuplex(rank, network, Rational(1, 20), 50);
    }
  }
  const Topology topology = std::move(builder).Build().value();
  const auto lanes = [&](Collective collective) {
    PlanRequest request = Request(collective, 8 << 20);
    request.lanes = 4;
    size_t most = 0;
    for (const RankPlan& rank : Chosen(topology, request, NetworkCostModel()).plan.ranks)
      most = std::max(most, rank.lanes.size());
    return most;
  };
  EXPECT_EQ(lanes(Collective::kAllReduce), 4U);
  EXPECT_EQ(lanes(Collective::kAllGather), 1U);
  EXPECT_EQ(lanes(Collective::kReduceScatter), 1U);
}

// 64 MiB a rank on 4 servers of 8 with rails: even, random and Zipf 0.8 flows.
TEST(Select, FastIsNearTheBound) {
  const Topology topology = Named("dgx-h200-x4-rails");
  std::vector<double> cumulated;
  double sum = 0;
  for (int k = 1; k <= 1024; ++k) cumulated.push_back(sum += std::pow(k, -0.8));
  for (const int kind : {0, 1, 2}) {
    Rng rng(7);
    PlanRequest request = Request(Collective::kAllToAllV, 0);
    request.demand.resize(32 * 32);
    std::vector<double> weights(request.demand.size());
    double total = 0;
    for (size_t i = 0; i < weights.size(); ++i) {
      if (i / 32 == i % 32) continue;
      const double u = rng.Unit();
      const auto zipf = std::lower_bound(cumulated.begin(), cumulated.end(), u * sum) - cumulated.begin() + 1;
      total += weights[i] = kind == 0 ? 1 : kind == 1 ? u : static_cast<double>(zipf);
    }
    int64_t out[4] = {}, in[4] = {};
    for (size_t i = 0; i < weights.size(); ++i) {
      request.demand[i] = static_cast<int64_t>(weights[i] / total * 32 * (64 << 20));
      request.bytes += request.demand[i];
      if (i / 32 / 8 == i % 32 / 8) continue;
      out[i / 32 / 8] += request.demand[i];
      in[i % 32 / 8] += request.demand[i];
    }
    request.bytes /= 32;
    request.lanes = 32;
    const Choice choice = Chosen(topology, request, FabricCostModel());
    EXPECT_EQ(choice.plan.planner, "fast");
    const auto busiest = static_cast<double>(std::max(*std::max_element(out, out + 4), *std::max_element(in, in + 4)));
    const double bound_us = busiest / (8 * 50e3);
    const double us = SimulatedUs(choice.plan, topology, request.bytes);
    EXPECT_GE(us, bound_us);
    EXPECT_LE(us, 1.035 * bound_us) << "kind " << kind;
  }
}

// Eight servers, random flows: what relays hold beyond the channels' slots is at most a tenth of what a rank sends,
// also where peers could read each other's memory.
TEST(Select, StagingIsBounded) {
  const Topology topology = Named("servers-8x4");
  const auto n = static_cast<size_t>(topology.rank_count());
  PlanRequest request = Request(Collective::kAllToAllV, 0);
  Rng rng(9);
  for (size_t i = 0; i < n * n; ++i) {
    request.demand.push_back(i / n == i % n ? 0 : rng.Between(0, 1 << 16));
    request.bytes += request.demand.back();
  }
  request.bytes /= static_cast<int64_t>(n);
  request.planner = "fast";
  request.lanes = 8;
  for (const bool fabric : {true, false}) {
    CostModel cost = fabric ? FabricCostModel() : HostCostModel(topology.rank_count(), 4);
    cost.allow_direct = true;
    const Choice choice = Chosen(topology, request, cost);
    const StatusOr<Plan> back = PlanWayBack(choice, topology, request, cost);
    ASSERT_TRUE(back.ok()) << back.status();
    bool relays = false;
    for (const Tree& tree : choice.schedule.trees) relays = relays || tree.down.size() > 1;
    EXPECT_TRUE(relays);
    for (const Plan* plan : {&choice.plan, &*back}) {
      for (const RankPlan& rank : plan->ranks) {
        int64_t staging = 0;
        for (const ScratchCell& cell : rank.scratch) staging += cell.chunk.units();
        EXPECT_LE(staging * 10, request.bytes) << (fabric ? "fabric" : "host") << ", seed 9";
      }
    }
  }
}

TEST(Select, SaysWhyNobodyServes) {
  const auto refusal = [](const Topology& topology, const PlanRequest& request) {
    return ChoosePlan(topology, request, FabricCostModel()).status();
  };
  PlanRequest uneven = Request(Collective::kAllToAllV, 9);
  uneven.demand.assign(81, 1);
  const Status nobody = refusal(Named("mesh-3x3"), uneven);
  EXPECT_EQ(nobody.code(), StatusCode::kUnimplemented);
  EXPECT_THAT(StatusMessage(nobody), HasSubstr("no planner serves alltoallv on topology 'mesh-3x3'; ring/one-way: "));
  EXPECT_THAT(StatusMessage(nobody), HasSubstr("--planner flow asks for it"));
  PlanRequest request = Request(Collective::kBroadcast, 100);
  request.root = Rank(9);
  const Status bad_root = refusal(Named("mesh-3x3"), request);
  EXPECT_EQ(bad_root.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(StatusMessage(bad_root), HasSubstr("needs a root in 0..8, not 9"));
  request.planner = "rings";
  EXPECT_THAT(StatusMessage(refusal(Named("ring4"), request)), HasSubstr("unknown planner 'rings'"));
}

TEST(Select, MoreRanksThanCoresWantFewRounds) {
  // Sixteen ranks on two cores: a ring allreduce passes the cores around 31 times, one-shot twice.
  const Choice choice = Chosen(Named("fullmesh-16"), Request(Collective::kAllReduce, 64), HostCostModel(16, 2));
  EXPECT_EQ(choice.plan.planner, "direct/one-shot");
}

}  // namespace
}  // namespace mycel
