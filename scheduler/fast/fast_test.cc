// Plans of planner fast: verified, run on bytes, reversed, mutated; bounds on what each way out carries.
#include "scheduler/fast/fast.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "core/base/rng.h"
#include "core/plan/interpret.h"
#include "core/plan/run_check.h"
#include "core/plan/verify.h"
#include "core/topo/gallery.h"
#include "scheduler/fast/cluster.h"
#include "scheduler/fast/expand.h"
#include "scheduler/fast/stages.h"
#include "scheduler/lower/lower.h"

namespace mycel {
namespace {

using ::testing::HasSubstr;

Topology Named(const std::string& name) {
  StatusOr<Topology> topology = GalleryTopology(name);
  EXPECT_TRUE(topology.ok()) << topology.status();
  return *std::move(topology);
}

/// Servers of different sizes behind one switch; `rates` by rank, in GB/s.
Topology Uneven(const std::vector<int32_t>& sizes, const std::vector<int64_t>& rates) {
  TopologyBuilder builder("uneven");
  std::vector<NodeId> ranks;
  for (size_t s = 0; s < sizes.size(); ++s) {
    const std::string server = "s" + std::to_string(s);
    const size_t first = ranks.size();
    for (int32_t i = 0; i < sizes[s]; ++i) {
      const auto r = static_cast<int64_t>(ranks.size());
      ranks.push_back(builder.AddRank("gpu" + std::to_string(r), Rank(r), server));
    }
    const NodeId inside = builder.AddSwitch("sw" + std::to_string(s), server);
    for (size_t r = first; r < ranks.size(); ++r) builder.AddDuplex(ranks[r], inside, Rational(450), 0.7);
  }
  const NodeId fabric = builder.AddSwitch("fabric");
  for (size_t r = 0; r < ranks.size(); ++r) builder.AddDuplex(ranks[r], fabric, Rational(rates[r]), 3);
  StatusOr<Topology> topology = std::move(builder).Build();
  EXPECT_TRUE(topology.ok()) << topology.status();
  return *std::move(topology);
}

/// Servers of different sizes with two networks: place p of a server is on network p modulo 2, and a rank alone on
/// both.
Topology TwoNetworks(const std::vector<int32_t>& sizes) {
  TopologyBuilder builder("two networks");
  const NodeId networks[] = {builder.AddSwitch("network0"), builder.AddSwitch("network1")};
  int64_t r = 0;
  for (size_t s = 0; s < sizes.size(); ++s) {
    const std::string server = "s" + std::to_string(s);
    const NodeId inside = builder.AddSwitch("inside" + std::to_string(s), server);
    for (int32_t i = 0; i < sizes[s]; ++i, ++r) {
      const NodeId rank = builder.AddRank("gpu" + std::to_string(r), Rank(r), server);
      builder.AddDuplex(rank, inside, Rational(450), 0.7);
      for (int32_t k = i % 2; k < 2; k += sizes[s]) builder.AddDuplex(rank, networks[k], Rational(50), 3);
    }
  }
  StatusOr<Topology> topology = std::move(builder).Build();
  EXPECT_TRUE(topology.ok()) << topology.status();
  return *std::move(topology);
}

PlanRequest Request(std::vector<int64_t> demand, const std::string& variant = "") {
  PlanRequest request;
  request.collective = Collective::kAllToAllV;
  request.demand = std::move(demand);
  request.variant = variant;
  return request;
}

/// Half of the pairs silent, and now and then a rank that sends, or gets, far more than the others.
std::vector<int64_t> SomeDemand(Rng* rng, int32_t n, int64_t most) {
  std::vector<int64_t> demand(static_cast<size_t>(n) * static_cast<size_t>(n));
  for (int64_t& bytes : demand) bytes = rng->OneIn(2) ? 0 : rng->Between(0, most);
  const auto hot = static_cast<size_t>(rng->Below(static_cast<uint64_t>(n)));
  const uint64_t kind = rng->Below(3);
  for (size_t i = 0; kind < 2 && i < static_cast<size_t>(n); ++i) {
    demand[kind == 0 ? hot * static_cast<size_t>(n) + i : i * static_cast<size_t>(n) + hot] += 7 * most;
  }
  return demand;
}

StatusOr<Plan> PlanOf(const Topology& topology, const PlanRequest& request, const LowerOptions& options = {}) {
  MYCEL_ASSIGN_OR_RETURN(const Schedule schedule, FastPlanner().MakeSchedule(topology, request));
  return Lower(schedule, topology, options);
}

void ExpectRuns(const Plan& plan) {
  const Status verified = Verify(plan, {false});
  ASSERT_TRUE(verified.ok()) << verified;
  InterpretRequest run;
  run.type = DataType::kInt64;
  run.count = 1;
  for (const uint64_t seed : {1, 2}) {
    run.seed = seed;
    const Status met = CheckByRunning(plan, run);
    ASSERT_TRUE(met.ok()) << met;
  }
}

TEST(Fast, RandomMatricesRunByteForByte) {
  Rng rng(21);
  int plans = 0;
  for (int32_t servers = 1; servers <= 6; ++servers) {
    for (int32_t ranks = 1; ranks <= 6; ++ranks) {
      if (servers * ranks > 16) continue;  // what CheckByRunning can tell apart
      const Topology topology = Named("servers-" + std::to_string(servers) + "x" + std::to_string(ranks));
      for (const char* variant : {"", "exact", "lazy", "quantised", "grouped"}) {
        SCOPED_TRACE(topology.name() + " " + std::string(variant) + ", seed 21, plan " + std::to_string(plans));
        const PlanRequest request = Request(SomeDemand(&rng, servers * ranks, rng.Between(1, 60)), variant);
        for (const int32_t lanes : {1, 3}) {
          for (const Pipelining pipelined : {Pipelining::kOff, Pipelining::kOn}) {
            LowerOptions options;
            options.lanes = lanes;
            options.pipelined = pipelined;
            options.slice_bytes = 64;
            const StatusOr<Plan> plan = PlanOf(topology, request, options);
            ASSERT_TRUE(plan.ok()) << plan.status();
            ExpectRuns(*plan);
            ++plans;
          }
        }
      }
    }
  }
  EXPECT_GT(plans, 400);
}

TEST(Fast, RailsUnevenServersAndDirectReading) {
  Rng rng(22);
  const Topology machines[] = {
      Named("dgx-h200-x2-rails"),
      Uneven({4, 2, 1}, {50, 50, 50, 50, 50, 50, 50}),
      Uneven({3, 3, 3}, {50, 50, 25, 50, 50, 50, 10, 50, 50}),
      Uneven({2, 5, 3}, {100, 25, 50, 50, 50, 50, 50, 40, 30, 7}),
      TwoNetworks({1, 2, 3, 2}),
      TwoNetworks({4, 1, 3}),
  };
  for (const Topology& topology : machines) {
    for (int round = 0; round < 5; ++round) {
      SCOPED_TRACE(topology.name() + " of " + std::to_string(topology.rank_count()) + ", seed 22");
      const PlanRequest request = Request(SomeDemand(&rng, topology.rank_count(), 100));
      for (const Protocol protocol : {Protocol::kSlot, Protocol::kDirect}) {
        LowerOptions options;
        options.protocol = protocol;
        options.slice_bytes = 128;
        const StatusOr<Plan> plan = PlanOf(topology, request, options);
        ASSERT_TRUE(plan.ok()) << plan.status();
        ExpectRuns(*plan);
      }
    }
  }
}

/// Bytes over each link whose two ends do not belong to one server.
std::map<std::pair<int32_t, int32_t>, int64_t> OutsideBytes(const Schedule& schedule, const Topology& topology) {
  std::map<std::pair<int32_t, int32_t>, int64_t> bytes;
  for (const Tree& tree : schedule.trees) {
    for (const TreeEdge& edge : tree.down) {
      const Route direct = {topology.NodeOf(edge.source), topology.NodeOf(edge.target)};
      const Route& route = edge.route < 0 ? direct : schedule.routes[static_cast<size_t>(edge.route)];
      for (size_t i = 0; i + 1 < route.size(); ++i) {
        if (topology.node(route[i]).server == topology.node(route[i + 1]).server) continue;
        bytes[{route[i].value(), route[i + 1].value()}] += tree.chunk.units();
      }
    }
  }
  return bytes;
}

// The lower bound of fast.md (LB1), in time: what leaves or enters a server over all its ways out at once. Quotas miss
// it by at most a unit for each server.
TEST(Fast, WaysOutCarryWhatTheBoundSays) {
  Rng rng(23);
  for (int round = 0; round < 20; ++round) {
    const Topology topology =
        round % 2 == 0 ? Named("servers-4x3") : Uneven({4, 2, 3}, {50, 50, 50, 50, 100, 50, 25, 75, 50});
    const int32_t n = topology.rank_count();
    const std::vector<int64_t> demand = SomeDemand(&rng, n, 1 << 20);
    const StatusOr<Schedule> schedule = FastPlanner().MakeSchedule(topology, Request(demand));
    ASSERT_TRUE(schedule.ok()) << schedule.status();
    const StatusOr<fast::Cluster> cluster = fast::ClusterOf(topology);
    ASSERT_TRUE(cluster.ok()) << cluster.status();
    const StageMatrix traffic = fast::TrafficOf(*cluster, demand.data());
    const int32_t servers = cluster->server_count();
    double bound_us = 0;
    for (int32_t a = 0; a < servers; ++a) {
      int64_t out = 0, in = 0, rate = 0;
      for (int32_t b = 0; b < servers; ++b) out += traffic.At(a, b), in += traffic.At(b, a);
      for (const int64_t r : cluster->at(a).rates) rate += r;
      bound_us =
          std::max(bound_us, static_cast<double>(std::max(out, in)) / (static_cast<double>(rate) * cluster->unit_MBps));
    }
    const double slack_bytes = 16.0 * servers * 16;
    for (const auto& [ends, bytes] : OutsideBytes(*schedule, topology)) {
      const LinkId link = topology.FindLink(NodeId(ends.first), NodeId(ends.second));
      const double rate = topology.link(link).bandwidth.ToDouble() * 1e3;
      EXPECT_LE(static_cast<double>(bytes) / rate, bound_us + slack_bytes / rate) << "seed 23, round " << round;
    }
  }
}

// Property 1 at rank level, and rail alignment: between servers a rank sends to one server a stage, on its own rail.
TEST(Fast, StagesAreOneToOneAlongRails) {
  Rng rng(24);
  const Topology topology = Named("dgx-h200-x4-rails");
  const StatusOr<Schedule> schedule =
      FastPlanner().MakeSchedule(topology, Request(SomeDemand(&rng, topology.rank_count(), 1 << 16)));
  ASSERT_TRUE(schedule.ok()) << schedule.status();
  std::map<std::pair<int32_t, int32_t>, std::set<int32_t>> to, from;  // (stage, rank) -> servers
  for (const Tree& tree : schedule->trees) {
    for (size_t hop = 0; hop < tree.down.size(); ++hop) {
      const int32_t a = tree.down[hop].source.value(), b = tree.down[hop].target.value();
      if (a / 8 == b / 8) continue;
      EXPECT_EQ(a % 8, b % 8);
      EXPECT_EQ(static_cast<int32_t>(hop), tree.stage_hop);
      to[{tree.stage, a}].insert(b / 8);
      from[{tree.stage, b}].insert(a / 8);
    }
  }
  for (const auto& [at, servers] : to) EXPECT_EQ(servers.size(), 1u) << "stage " << at.first << " rank " << at.second;
  for (const auto& [at, servers] : from) EXPECT_EQ(servers.size(), 1u) << "stage " << at.first << " rank " << at.second;
}

TEST(Fast, TheWayBackRunsToo) {
  Rng rng(25);
  for (const char* name : {"servers-1x4", "servers-3x3", "servers-4x4", "dgx-h200-x2-rails"}) {
    const Topology topology = Named(name);
    const int32_t n = topology.rank_count();
    const std::vector<int64_t> demand = SomeDemand(&rng, n, 80);
    const StatusOr<Schedule> there = FastPlanner().MakeSchedule(topology, Request(demand));
    ASSERT_TRUE(there.ok()) << there.status();
    const StatusOr<Schedule> back = ReversedAllToAllV(*there, topology);
    ASSERT_TRUE(back.ok()) << back.status();
    for (int32_t i = 0; i < n; ++i) {
      for (int32_t j = 0; j < n; ++j) {
        EXPECT_EQ(back->block_units[static_cast<size_t>(j * n + i)], demand[static_cast<size_t>(i * n + j)]);
      }
    }
    for (const Pipelining pipelined : {Pipelining::kOff, Pipelining::kOn}) {
      LowerOptions options;
      options.lanes = 2;
      options.slice_bytes = 128;
      options.pipelined = pipelined;
      const StatusOr<Plan> plan = Lower(*back, topology, options);
      ASSERT_TRUE(plan.ok()) << plan.status();
      ExpectRuns(*plan);
    }
    // There and back again: the same paths.
    const StatusOr<Schedule> again = ReversedAllToAllV(*back, topology);
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ(again->block_units, there->block_units);
    EXPECT_EQ(again->trees.size(), there->trees.size());
  }
  Schedule other;
  other.collective = Collective::kAllToAll;
  EXPECT_THAT(StatusMessage(ReversedAllToAllV(other, Named("servers-1x1")).status()), HasSubstr("only those of"));
}

TEST(Fast, HugeEntriesArePlanned) {
  const Topology topology = Named("dgx-h200-x2-rails");
  std::vector<int64_t> demand(256, 1);
  demand[9] = int64_t{1} << 40;
  demand[200] = (int64_t{1} << 40) - 12345;
  const StatusOr<Plan> plan = PlanOf(topology, Request(demand));
  ASSERT_TRUE(plan.ok()) << plan.status();
  const Status verified = Verify(*plan, {false});
  EXPECT_TRUE(verified.ok()) << verified;
  const StatusOr<LinkLoads> loads = ComputeLinkLoads(*plan, topology);
  ASSERT_TRUE(loads.ok());
  // An eighth of 2^40 bytes over each rail of 50 GB/s.
  EXPECT_NEAR(loads->inv_x.ToDouble(), static_cast<double>(int64_t{1} << 37) / 50, 1e6);
}

TEST(Fast, AdversaryStaysWithinTheTheorem) {
  // O18: one hot source and one hot target per tile. The ways out carry the optimum, 3w; what moves inside is 28w at
  // most at one rank, so the time is at most 3w / out + 28w / in = 2.04 times the optimum at 9 : 1.
  const Topology topology = Named("dgx-h200-x4");
  constexpr int64_t kW = 1 << 20;
  std::vector<int64_t> demand(32 * 32);
  for (size_t a = 0; a < 4; ++a) {
    for (size_t b = 0; b < 4; ++b) demand[a * 8 * 32 + b * 8 + (a == b ? 1 : 0)] = a == b ? 6 * kW : 8 * kW;
  }
  const StatusOr<Schedule> schedule = FastPlanner().MakeSchedule(topology, Request(demand));
  ASSERT_TRUE(schedule.ok()) << schedule.status();
  for (const auto& [ends, bytes] : OutsideBytes(*schedule, topology)) EXPECT_EQ(bytes, 3 * kW);
  std::vector<int64_t> sent(32), received(32);
  for (const Tree& tree : schedule->trees) {
    for (const TreeEdge& edge : tree.down) {
      if (edge.source.value() / 8 != edge.target.value() / 8) continue;
      sent[edge.source.index()] += tree.chunk.units();
      received[edge.target.index()] += tree.chunk.units();
    }
  }
  EXPECT_LE(*std::max_element(sent.begin(), sent.end()), 28 * kW);
  EXPECT_LE(*std::max_element(received.begin(), received.end()), 28 * kW);
}

TEST(Fast, OracleO17RoundingRaisesTheLongestLine) {
  // Bytes 7, 4 / 9, 9 / 5, 3 over two ways out: 18 / 2 = 9 at least, 10 in whole units.
  const StatusOr<fast::Cluster> cluster = fast::ClusterOf(Named("servers-3x2"));
  ASSERT_TRUE(cluster.ok()) << cluster.status();
  StageMatrix traffic(3);
  traffic.entries = {0, 7, 4, 9, 0, 9, 5, 3, 0};
  fast::StageOptions options;
  options.unit_bytes = 1;
  for (const fast::Method method : {fast::Method::kExact, fast::Method::kLazy}) {
    options.method = method;
    const fast::Stages stages = fast::ChooseStages(*cluster, traffic, options);
    EXPECT_EQ(stages.matrix.entries, (std::vector<int64_t>{0, 4, 2, 5, 0, 5, 3, 2, 0}));
    EXPECT_EQ(stages.list.TotalLength(), 10);
  }
}

TEST(Fast, MutatedPlansAreRefused) {
  Rng rng(26);
  const Topology topology = Named("servers-3x3");
  const StatusOr<Plan> plan = PlanOf(topology, Request(SomeDemand(&rng, 9, 50)));
  ASSERT_TRUE(plan.ok()) << plan.status();
  int mutants = 0;
  for (size_t rank = 0; rank < plan->ranks.size(); ++rank) {
    const size_t count = plan->ranks[rank].lanes[0].ops.size();
    for (size_t at = 0; at < count; at += 3) {
      for (int kind = 0; kind < 4; ++kind) {
        Plan mutant = *plan;
        std::vector<Op>& ops = mutant.ranks[rank].lanes[0].ops;
        if (kind == 0) ops.erase(ops.begin() + static_cast<int64_t>(at));
        if (kind == 1) ops[at].chunk.end -= 1;
        if (kind == 2) ops[at].chunk.block = (ops[at].chunk.block + 1) % 81;
        if (kind == 3) ops.push_back(ops[at]);
        const Status verified = Verify(mutant, {false});
        if (kind == 3 && verified.ok()) {  // a copy within a rank may be made twice
          InterpretRequest run;
          run.type = DataType::kInt64;
          run.count = 1;
          EXPECT_TRUE(CheckByRunning(mutant, run).ok()) << "rank " << rank << " op " << at;
          continue;
        }
        EXPECT_FALSE(verified.ok()) << "rank " << rank << " op " << at << " kind " << kind;
        ++mutants;
      }
    }
  }
  EXPECT_GT(mutants, 150);
}

TEST(Fast, EqualInputsGiveEqualPlans) {
  Rng rng(27);
  const Topology topology = Named("dgx-h200-x2-rails");
  const PlanRequest request = Request(SomeDemand(&rng, 16, 1 << 20));
  const StatusOr<Plan> first = PlanOf(topology, request), second = PlanOf(topology, request);
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(HashOf(*first), HashOf(*second));
}

// Ranks may run builds of other compilers and options: all must find these very paths. Change the number when the
// planner changes its mind on purpose.
TEST(Fast, EveryBuildFindsTheSamePaths) {
  std::vector<int64_t> demand(32 * 32);
  for (size_t i = 0; i < demand.size(); ++i) demand[i] = static_cast<int64_t>(i * i * 2654435761U % 1'000'003);
  const StatusOr<Schedule> schedule = FastPlanner().MakeSchedule(Named("dgx-h200-x4-rails"), Request(demand));
  ASSERT_TRUE(schedule.ok()) << schedule.status();
  uint64_t hash = 0xcbf29ce484222325U;  // FNV-1a
  for (const char c : ToText(*schedule)) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  EXPECT_EQ(hash, 1541005690782803380U);
}

// Rails of unequal servers that nothing but ranks joins.
TEST(Fast, LegsKeepToTheirNetworks) {
  const Topology topology = TwoNetworks({1, 2, 3});
  const fast::Cluster cluster = fast::ClusterOf(topology).value();
  for (int32_t a = 0; a < 3; ++a) {
    for (int32_t b = 0; b < 3; ++b) {
      if (a == b) continue;
      fast::Pair pair;
      fast::JoinServers(cluster, a, b, &pair);
      int64_t shares = 0;
      for (const fast::Leg& leg : pair.legs) {
        const Rank source = cluster.at(a).ranks[static_cast<size_t>(leg.sender)];
        const Rank target = cluster.at(b).ranks[static_cast<size_t>(leg.receiver)];
        EXPECT_FALSE(ShortestRoute(topology, source, target).empty()) << a << " " << b;
        EXPECT_GT(leg.share, 0);
        shares += leg.share;
      }
      EXPECT_EQ(shares, pair.shares);
      EXPECT_GT(pair.rate, 0);
    }
  }
}

TEST(Fast, UnequalServersWithoutACommonNetworkAreRefused) {
  TopologyBuilder builder("apart");
  const NodeId alone = builder.AddRank("a", Rank(0), "a");
  const NodeId between = builder.AddRank("b0", Rank(1), "b");
  const NodeId behind = builder.AddRank("b1", Rank(2), "b");
  const NodeId beyond = builder.AddRank("c", Rank(3), "c");
  builder.AddDuplex(alone, between, Rational(1));
  builder.AddDuplex(between, behind, Rational(1));
  builder.AddDuplex(between, beyond, Rational(1));
  const Topology topology = std::move(builder).Build().value();
  const Status status = FastPlanner().MakeSchedule(topology, Request(std::vector<int64_t>(16, 1))).status();
  EXPECT_THAT(StatusMessage(status), HasSubstr("rank 2 reaches rank 3 neither directly nor through switches alone"));
}

TEST(Fast, RefusesBadRequests) {
  const Topology topology = Named("servers-2x2");
  const auto refusal = [&](const PlanRequest& request) {
    return StatusMessage(FastPlanner().MakeSchedule(topology, request).status());
  };
  EXPECT_THAT(refusal(Request({1, 2})), HasSubstr("needs 16 demands, got 2"));
  std::vector<int64_t> demand(16, 1);
  demand[7] = -1;
  EXPECT_THAT(refusal(Request(demand)), HasSubstr("from rank 1 to rank 3 is negative"));
  demand[7] = int64_t{1} << 60;
  EXPECT_THAT(refusal(Request(demand)), HasSubstr("from rank 1 to rank 3 come to more than 2^60"));
  EXPECT_THAT(refusal(Request(std::vector<int64_t>(16, 1), "quick")), HasSubstr("use one of: exact, lazy"));
  PlanRequest reduce;
  EXPECT_THAT(refusal(reduce), HasSubstr("serves alltoallv, not allreduce"));
  // ring4: neighbours are joined, opposite ranks are not.
  EXPECT_EQ(FastPlanner().Serves(Named("ring4"), Request(std::vector<int64_t>(16, 1))).code(),
            StatusCode::kUnimplemented);
}

}  // namespace
}  // namespace mycel
