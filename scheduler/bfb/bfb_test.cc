// Planner bfb: plans verified and run, and loads against an independent answer. That one tries every set of
// in-neighbours: no step is shorter than the sources that can come only over the set need on its capacity (a lower
// bound for any schedule of shortest ways), and the trees' own loads, recounted, show that it is reached.
#include "scheduler/bfb/bfb.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/base/rng.h"
#include "core/plan/interpret.h"
#include "core/plan/run_check.h"
#include "core/plan/verify.h"
#include "core/topo/gallery.h"
#include "scheduler/bfb/hall_ratio.h"
#include "scheduler/bfb/share_trees.h"
#include "scheduler/bfb/step_cost.h"
#include "scheduler/bfb/step_loads.h"
#include "scheduler/lower/lower.h"

namespace mycel {
namespace {

using ::testing::HasSubstr;

constexpr Collective kServed[] = {Collective::kAllGather, Collective::kReduceScatter, Collective::kAllReduce};

Topology Named(const std::string& name) {
  StatusOr<Topology> topology = GalleryTopology(name);
  EXPECT_TRUE(topology.ok()) << topology.status();
  return *std::move(topology);
}

/// capacity[i][j] GB/s from rank i to rank j; 0: no link.
using Matrix = std::vector<std::vector<int64_t>>;

Topology FromMatrix(const Matrix& capacity) {
  TopologyBuilder builder("matrix");
  const auto n = static_cast<int32_t>(capacity.size());
  for (const Rank r : Ids<Rank>(n)) builder.AddRank("r" + std::to_string(r.value()), r);
  for (int32_t i = 0; i < n; ++i) {
    for (int32_t j = 0; j < n; ++j) {
      const int64_t c = capacity[static_cast<size_t>(i)][static_cast<size_t>(j)];
      if (c > 0) builder.AddLink(NodeId(i), NodeId(j), c);
    }
  }
  return *std::move(builder).Build();
}

Matrix Turned(const Matrix& capacity) {
  Matrix turned = capacity;
  for (size_t i = 0; i < capacity.size(); ++i) {
    for (size_t j = 0; j < capacity.size(); ++j) turned[j][i] = capacity[i][j];
  }
  return turned;
}

/// Hops from i to j; n where there is no way.
std::vector<std::vector<size_t>> Hops(const Matrix& capacity) {
  const size_t n = capacity.size();
  std::vector<std::vector<size_t>> hops(n, std::vector<size_t>(n, n));
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = 0; j < n; ++j) {
      if (capacity[i][j] > 0) hops[i][j] = 1;
    }
    hops[i][i] = 0;
  }
  for (size_t k = 0; k < n; ++k) {
    for (size_t i = 0; i < n; ++i) {
      for (size_t j = 0; j < n; ++j) hops[i][j] = std::min(hops[i][j], hops[i][k] + hops[k][j]);
    }
  }
  return hops;
}

/// ns per byte of a shard in every step, by trying all sets of in-neighbours. Empty when ranks are cut off.
std::vector<Rational> LoadsByAllSets(const Matrix& capacity) {
  const size_t n = capacity.size();
  const auto hops = Hops(capacity);
  std::vector<Rational> loads;
  for (size_t u = 0; u < n; ++u) {
    std::vector<size_t> ways;
    for (size_t w = 0; w < n; ++w) {
      if (capacity[w][u] > 0) ways.push_back(w);
    }
    for (size_t v = 0; v < n; ++v) {
      if (hops[v][u] >= n) return {};
    }
    for (size_t set = 1; set < size_t{1} << ways.size(); ++set) {
      int64_t width = 0;
      for (size_t i = 0; i < ways.size(); ++i) width += (set >> i & 1) != 0 ? capacity[ways[i]][u] : 0;
      std::vector<int64_t> captive(n);  // by step: sources that can only come over the set
      for (size_t v = 0; v < n; ++v) {
        bool only = v != u;
        for (size_t i = 0; i < ways.size(); ++i) {
          if (hops[v][ways[i]] + 1 == hops[v][u] && (set >> i & 1) == 0) only = false;
        }
        if (only) ++captive[hops[v][u]];
      }
      for (size_t step = 1; step < n; ++step) {
        if (captive[step] == 0) continue;
        if (loads.size() < step) loads.resize(step);
        loads[step - 1] = std::max(loads[step - 1], Rational(captive[step], width));
      }
    }
  }
  return loads;
}

struct Made {
  Schedule schedule;
  Plan plan;
  StepCost cost;
};

Made MakeAndVerify(const Topology& topology, Collective collective, int32_t lanes = 1, const char* variant = "") {
  PlanRequest request;
  request.collective = collective;
  request.variant = variant;
  const StatusOr<Schedule> schedule = BfbPlanner().MakeSchedule(topology, request);
  EXPECT_TRUE(schedule.ok()) << schedule.status();
  if (!schedule.ok()) return {};
  LowerOptions options;
  options.lanes = lanes;
  options.slice_bytes = 128;
  StatusOr<Plan> plan = Lower(*schedule, topology, options);
  EXPECT_TRUE(plan.ok()) << plan.status();
  if (!plan.ok()) return {};
  const Status verified = Verify(*plan, {true});
  EXPECT_TRUE(verified.ok()) << verified;
  StatusOr<StepCost> cost = StepCostOf(*schedule, topology);
  EXPECT_TRUE(cost.ok()) << cost.status();
  return {*schedule, *std::move(plan), *std::move(cost)};
}

void ExpectRight(const Plan& plan, int64_t count) {
  for (const bool in_place : {false, true}) {
    InterpretRequest request;
    request.type = DataType::kInt64;
    request.count = count;
    request.in_place = in_place;
    request.seed = static_cast<uint64_t>(count);
    const Status met = CheckByRunning(plan, request);
    EXPECT_TRUE(met.ok()) << "count " << count << (in_place ? " in place: " : ": ") << met;
  }
}

/// Plans all collectives and compares their steps with LoadsByAllSets; returns whether the graph is connected.
bool CheckMatrix(const Matrix& capacity, bool run) {
  const std::vector<Rational> down = LoadsByAllSets(capacity);
  const Topology topology = FromMatrix(capacity);
  if (down.empty()) {
    EXPECT_FALSE(BfbPlanner().Serves(topology, {}).ok());
    return false;
  }
  std::vector<Rational> up = LoadsByAllSets(Turned(capacity));
  std::reverse(up.begin(), up.end());
  std::vector<Rational> both = up;
  both.insert(both.end(), down.begin(), down.end());
  for (const Collective collective : kServed) {
    SCOPED_TRACE(NameOf(collective));
    const Made made = MakeAndVerify(topology, collective);
    EXPECT_EQ(made.cost.loads, collective == Collective::kAllGather       ? down
                               : collective == Collective::kReduceScatter ? up
                                                                          : both);
    if (run) ExpectRight(made.plan, 7);
  }
  return true;
}

std::string Text(const Matrix& capacity) {
  std::string text;
  for (const std::vector<int64_t>& row : capacity) {
    for (const int64_t c : row) text += std::to_string(c) + " ";
    text += "\n";
  }
  return text;
}

TEST(Bfb, AllDigraphsUpToFourRanks) {
  int connected = 0;
  for (size_t n = 2; n <= 4; ++n) {
    const size_t pairs = n * (n - 1);
    for (size_t links = 0; links < size_t{1} << pairs; ++links) {
      Matrix capacity(n, std::vector<int64_t>(n));
      for (size_t i = 0, bit = 0; i < n; ++i) {
        for (size_t j = 0; j < n; ++j) {
          if (i != j) capacity[i][j] = static_cast<int64_t>(links >> bit++ & 1);
        }
      }
      SCOPED_TRACE(Text(capacity));
      connected += CheckMatrix(capacity, links % 16 == 15) ? 1 : 0;
      if (HasFailure()) return;
    }
  }
  EXPECT_EQ(connected, 1 + 18 + 1606);  // labelled strongly connected digraphs
}

TEST(Bfb, RandomDigraphsOfUnequalLinks) {
  const uint64_t first_seed = 1;
  int connected = 0;
  for (uint64_t seed = first_seed; seed < first_seed + 120; ++seed) {
    Rng rng(seed);
    const size_t n = 3 + rng.Below(6);
    const uint64_t density = 25 + rng.Below(60);
    Matrix capacity(n, std::vector<int64_t>(n));
    for (size_t i = 0; i < n; ++i) {
      for (size_t j = 0; j < n; ++j) {
        if (i != j && rng.Below(100) < density) capacity[i][j] = rng.Between(1, 4);
      }
    }
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + Text(capacity));
    connected += CheckMatrix(capacity, true) ? 1 : 0;
    if (HasFailure()) return;
  }
  EXPECT_GT(connected, 40);
}

// Sparse, so that there are many steps and many groups of sources in each.
TEST(Bfb, LargerRandomDigraphs) {
  const uint64_t first_seed = 500;
  for (uint64_t seed = first_seed; seed < first_seed + 8; ++seed) {
    Rng rng(seed);
    const size_t n = 20 + rng.Below(20);
    const size_t degree = 2 + rng.Below(4);
    Matrix capacity(n, std::vector<int64_t>(n));
    for (size_t i = 0; i < n; ++i) {
      capacity[i][(i + 1) % n] = 1;
      for (size_t k = 1; k < degree; ++k) {
        const size_t j = rng.Below(n);
        if (i != j) capacity[i][j] = rng.Between(1, 3);
      }
    }
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + Text(capacity));
    EXPECT_TRUE(CheckMatrix(capacity, false));
    if (HasFailure()) return;
  }
}

// In-degree 70 with two steps: more in-neighbours than a machine word has bits for them.
TEST(Bfb, ManyInNeighbours) {
  constexpr size_t kRanks = 74;
  Matrix capacity(kRanks, std::vector<int64_t>(kRanks, 1));
  for (size_t i = 0; i < kRanks; ++i) {
    for (const size_t gap : {size_t{0}, size_t{1}, size_t{5}, size_t{6}}) capacity[i][(i + gap) % kRanks] = 0;
  }
  const Made made = MakeAndVerify(FromMatrix(capacity), Collective::kAllGather);
  // Every rank still lacks three shards that all but a few of its 70 links can bring.
  ASSERT_EQ(made.cost.loads.size(), 2U);
  EXPECT_EQ(made.cost.loads[0], Rational(1));
  EXPECT_EQ(made.cost.loads[1], Rational(3, 70));
}

TEST(Bfb, IsOptimalOnSymmetricMachines) {
  struct Row {
    const char* name;
    size_t steps;
    Rational inv_x;
  };
  for (const Row& row : {Row{"hypercube-3", 3, Rational(7, 75)}, Row{"ring8", 4, Rational(7, 50)},
                         Row{"torus-4x4", 4, Rational(15, 100)}, Row{"torus-3x4", 3, Rational(11, 100)},
                         Row{"mesh-3x3", 4, Rational(4)}, Row{"fullmesh-5", 1, Rational(1, 25)}}) {
    SCOPED_TRACE(row.name);
    const Topology topology = Named(row.name);
    for (const Collective collective : {Collective::kAllGather, Collective::kReduceScatter}) {
      const Made made = MakeAndVerify(topology, collective, 2);
      EXPECT_EQ(made.cost.loads.size(), row.steps);
      EXPECT_EQ(made.cost.inv_x, row.inv_x);
      EXPECT_EQ(ComputeLinkLoads(made.plan, topology)->inv_x, row.inv_x);
      ExpectRight(made.plan, 11);
    }
    const Made made = MakeAndVerify(topology, Collective::kAllReduce, 2);
    EXPECT_EQ(made.cost.loads.size(), 2 * row.steps);
    EXPECT_EQ(made.cost.inv_x, row.inv_x + row.inv_x);
    ExpectRight(made.plan, 11);
  }
}

// Two steps, 3/2 of the time of a 25 GB/s link; trees of three hops reach 7/6.
TEST(Bfb, TradesBandwidthForStepsOnDgx1) {
  const Topology dgx1 = Named("dgx1-v100");
  const Made made = MakeAndVerify(dgx1, Collective::kAllGather);
  EXPECT_EQ(made.cost.loads, (std::vector<Rational>{Rational(1, 25), Rational(1, 50)}));
  EXPECT_EQ(ComputeLinkLoads(made.plan, dgx1)->inv_x, Rational(3, 50));
}

TEST(Bfb, ThroughSwitches) {
  for (const char* name : {"dgx-a100", "dgx-a100-x2", "servers-2x3", "mi250-8plus8", "mixed-14", "random-1-6r2s",
                           "fat-tree-2x4-oversub", "host-3"}) {
    SCOPED_TRACE(name);
    const Topology topology = Named(name);
    for (const Collective collective : kServed) {
      const Made made = MakeAndVerify(topology, collective);
      EXPECT_GE(made.cost.inv_x, ComputeLinkLoads(made.plan, topology)->inv_x);
      ExpectRight(made.plan, 5);
    }
  }
}

/// Whole loads: the least that a search over all ways to assign whole shards finds.
std::vector<Rational> WholeLoadsBySearch(const Matrix& capacity) {
  const size_t n = capacity.size();
  const auto hops = Hops(capacity);
  std::vector<Rational> loads;
  for (size_t u = 0; u < n; ++u) {
    for (size_t step = 1; step < n; ++step) {
      std::vector<std::vector<size_t>> ways;  // of each source
      for (size_t v = 0; v < n; ++v) {
        if (hops[v][u] != step) continue;
        ways.emplace_back();
        for (size_t w = 0; w < n; ++w) {
          if (capacity[w][u] > 0 && hops[v][w] + 1 == step) ways.back().push_back(w);
        }
      }
      if (ways.empty()) continue;
      Rational best(static_cast<int64_t>(n));
      std::vector<size_t> pick(ways.size());
      for (bool more = true; more;) {
        std::vector<int64_t> shards(n);
        for (size_t i = 0; i < ways.size(); ++i) ++shards[ways[i][pick[i]]];
        Rational worst;
        for (size_t w = 0; w < n; ++w) {
          if (shards[w] > 0) worst = std::max(worst, Rational(shards[w], capacity[w][u]));
        }
        best = std::min(best, worst);
        more = false;
        for (size_t i = 0; i < ways.size() && !more; ++i) {
          more = ++pick[i] < ways[i].size();
          if (!more) pick[i] = 0;
        }
      }
      if (loads.size() < step) loads.resize(step);
      loads[step - 1] = std::max(loads[step - 1], best);
    }
  }
  return loads;
}

TEST(Bfb, WholeShardsAreSpreadAsWellAsTheyCanBe) {
  const uint64_t first_seed = 1000;
  int cut_is_better = 0;
  for (uint64_t seed = first_seed; seed < first_seed + 100; ++seed) {
    Rng rng(seed);
    const size_t n = 4 + rng.Below(4);
    Matrix capacity(n, std::vector<int64_t>(n));
    for (size_t i = 0; i < n; ++i) {
      capacity[i][(i + 1) % n] = 1;
      for (size_t j = 0; j < n; ++j) {
        if (i != j && rng.Below(100) < 40) capacity[i][j] = rng.Between(1, 3);
      }
    }
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + Text(capacity));
    const Made whole = MakeAndVerify(FromMatrix(capacity), Collective::kAllGather, 1, "whole");
    ASSERT_EQ(whole.schedule.trees.size(), n);
    EXPECT_EQ(whole.schedule.units_per_block, 1);
    EXPECT_EQ(whole.cost.loads, WholeLoadsBySearch(capacity));
    ExpectRight(whole.plan, 5);
    cut_is_better += MakeAndVerify(FromMatrix(capacity), Collective::kAllGather).cost.inv_x < whole.cost.inv_x ? 1 : 0;
  }
  EXPECT_GT(cut_is_better, 20);
}

TEST(Bfb, OneTreePerRootMeansWholeShards) {
  PlanRequest request;
  request.collective = Collective::kAllReduce;
  request.trees_per_root = 1;
  const StatusOr<Schedule> schedule = BfbPlanner().MakeSchedule(Named("hypercube-3"), request);
  ASSERT_TRUE(schedule.ok());
  EXPECT_EQ(schedule->planner, "bfb/whole");
  EXPECT_EQ(schedule->trees.size(), 8U);
}

TEST(Bfb, OneRank) {
  for (const Collective collective : kServed) {
    const Made made = MakeAndVerify(Named("fullmesh-1"), collective);
    EXPECT_TRUE(made.cost.loads.empty());
    ExpectRight(made.plan, 3);
  }
}

// Every rank makes its own plan; they must be the same one.
TEST(Bfb, EqualInputsGiveEqualSchedules) {
  for (const char* name : {"dgx1-v100", "torus-3x4", "random-2-9r3s"}) {
    PlanRequest request;
    request.collective = Collective::kAllReduce;
    const StatusOr<Schedule> first = BfbPlanner().MakeSchedule(Named(name), request);
    const StatusOr<Schedule> second = BfbPlanner().MakeSchedule(Named(name), request);
    ASSERT_TRUE(first.ok() && second.ok());
    EXPECT_EQ(ToText(*first), ToText(*second));
  }
}

TEST(Bfb, RefusesWhatItCannotServe) {
  const auto refusal = [](const Topology& topology, const PlanRequest& request) {
    Status status = BfbPlanner().MakeSchedule(topology, request).status();
    EXPECT_EQ(status, BfbPlanner().Serves(topology, request));
    return status;
  };
  PlanRequest request;
  request.collective = Collective::kAllToAll;
  EXPECT_EQ(refusal(Named("ring4"), request).code(), StatusCode::kUnimplemented);
  EXPECT_THAT(StatusMessage(refusal(Named("ring4"), request)),
              HasSubstr("serve allgather, reduce_scatter and allreduce, not alltoall"));
  request.collective = Collective::kAllGather;
  EXPECT_THAT(StatusMessage(refusal(FromMatrix({{0, 1, 0}, {1, 0, 0}, {0, 1, 0}}), request)), HasSubstr("r2"));
  request.variant = "wide";
  EXPECT_THAT(StatusMessage(refusal(Named("ring4"), request)), HasSubstr("bfb has no variant 'wide'"));
}

TEST(Bfb, RefusesWhatDoesNotFit) {
  TopologyBuilder builder("fine");
  for (const Rank r : Ids<Rank>(3)) builder.AddRank("r" + std::to_string(r.value()), r);
  builder.AddDuplex(NodeId(0), NodeId(1), Rational(1));
  builder.AddDuplex(NodeId(1), NodeId(2), Rational(1, (int64_t{1} << 41) - 1));
  const StatusOr<Topology> fine = std::move(builder).Build();
  ASSERT_TRUE(fine.ok()) << fine.status();
  PlanRequest request;
  request.collective = Collective::kAllGather;
  EXPECT_THAT(StatusMessage(BfbPlanner().MakeSchedule(*fine, request).status()),
              HasSubstr("round them in the topology file"));
  EXPECT_THAT(StatusMessage(bfb::CheckHops(4900, 4900)), HasSubstr("trees of 4900 ranks have at least 24005100 hops"));
}

TEST(Bfb, StaysOutOfContestsItCannotWin) {
  PlanRequest request;
  request.collective = Collective::kAllGather;
  EXPECT_TRUE(BfbPlanner().Contends(Named("hypercube-3"), request).ok());
  EXPECT_THAT(StatusMessage(BfbPlanner().Contends(Named("dgx-a100"), request)), HasSubstr("switches"));
  EXPECT_THAT(StatusMessage(BfbPlanner().Contends(Named("fullmesh-4"), request)), HasSubstr("direct"));
  EXPECT_THAT(StatusMessage(BfbPlanner().Contends(Named("torus-18x18"), request)), HasSubstr("256 ranks"));
  EXPECT_THAT(StatusMessage(BfbPlanner().Contends(Named("ring8"), request)), HasSubstr("planner ring's"));
  EXPECT_TRUE(
      BfbPlanner().Contends(FromMatrix({{0, 2, 0, 1}, {2, 0, 1, 0}, {0, 1, 0, 1}, {1, 0, 1, 0}}), request).ok());
}

/// The busiest edge's load in every step, from the trees alone.
std::vector<Rational> LoadsOf(const bfb::ShareTrees& shares, const bfb::RankGraph& graph,
                              const std::vector<uint16_t>& distances) {
  const auto n = static_cast<size_t>(graph.rank_count);
  std::map<std::pair<size_t, std::pair<int32_t, int32_t>>, int64_t> units;  // by step, then edge
  for (const bfb::ShareTree& tree : shares.trees) {
    for (const bfb::ShareTree::Hop& hop : tree.hops) {
      const size_t step = distances[static_cast<size_t>(hop.target) * n + static_cast<size_t>(tree.root)];
      units[{step, {hop.source, hop.target}}] += tree.end - tree.begin;
    }
  }
  std::vector<Rational> loads;
  for (const auto& entry : units) {
    const auto& key = entry.first;
    const auto edge = std::find_if(graph.edges.begin(), graph.edges.end(), [&](const bfb::RankGraph::Edge& e) {
      return std::make_pair(e.source, e.target) == key.second;
    });
    if (loads.size() < key.first) loads.resize(key.first);
    loads[key.first - 1] = std::max(loads[key.first - 1], Rational(entry.second, shares.units) / edge->capacity);
  }
  return loads;
}

// Unequal links: the parts that each rank would like best have a common unit of a billionth. Those of the steps' loads
// do as well for the busiest links.
TEST(ShareTrees, UnequalLinksKeepTheLoadsInFewParts) {
  const uint64_t first_seed = 1;
  for (uint64_t seed = first_seed; seed < first_seed + 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed);
    const auto n = static_cast<int32_t>(12 + rng.Below(20));
    std::vector<bfb::RankGraph::Edge> edges;
    for (int32_t i = 0; i < n; ++i) {
      for (const int32_t gap : {1, 2, 3, 5, 7}) edges.push_back({i, (i + gap) % n, rng.Between(3, 7)});
    }
    const bfb::RankGraph graph = bfb::MakeRankGraph(n, edges);
    const StatusOr<std::vector<uint16_t>> distances = bfb::DistancesOf(graph);
    ASSERT_TRUE(distances.ok());
    const std::vector<Rational> loads = bfb::StepLoads(graph, *distances);
    const auto shares = bfb::MakeShareTrees(graph, *distances, bfb::Cutting::kExact, int64_t{1} << 40);
    ASSERT_TRUE(shares.ok()) << shares.status();
    EXPECT_EQ(LoadsOf(*shares, graph, *distances), loads);
    EXPECT_LE(shares->units, 2520);
    EXPECT_LE(std::ssize(shares->trees), 10 * n);
    const Status refusal = bfb::MakeShareTrees(graph, *distances, bfb::Cutting::kExact, 1).status();
    EXPECT_THAT(StatusMessage(refusal), HasSubstr("round them in the topology file"));
  }
}

TEST(StepCost, SchedulesWithStagesHaveNoSteps) {
  Schedule schedule;
  schedule.rank_count = 2;
  schedule.trees.emplace_back();
  schedule.trees.back().stage = 1;
  EXPECT_THAT(StatusMessage(StepCostOf(schedule, Named("fullmesh-2")).status()), HasSubstr("has stages"));
}

TEST(HallRatio, FindsTheTightSet) {
  // Four sources only over way 0, one over both, of equal capacity: the tight set is way 0's own.
  bfb::HallProblem problem;
  problem.capacities = {1, 1};
  problem.groups = {{4, {0}}, {1, {0, 1}}};
  EXPECT_EQ(bfb::LeastLoad(problem), Rational(4));
  EXPECT_TRUE(bfb::Assign(problem, 1, {4, 1}).has_value());
  EXPECT_FALSE(bfb::Assign(problem, 1, {3, 9}).has_value());
  // Neither all groups, nor one, but two of three.
  problem.capacities = {1, 1, 1, 3};
  problem.groups = {{2, {0, 1}}, {2, {1, 2}}, {2, {0, 2}}, {1, {0, 3}}};
  EXPECT_EQ(bfb::LeastLoad(problem), Rational(2));
  EXPECT_EQ(bfb::LeastLoad({}), Rational(0));
}

}  // namespace
}  // namespace mycel
