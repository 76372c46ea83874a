// Planner flow: optima against published and independently computed values, flows against the exact linear program and
// against duality, plans verified and run.
#include "scheduler/flow/flow.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "core/base/rng.h"
#include "core/plan/interpret.h"
#include "core/plan/run_check.h"
#include "core/plan/verify.h"
#include "core/topo/gallery.h"
#include "scheduler/design/digraph.h"
#include "scheduler/flow/concurrent_flow.h"
#include "scheduler/flow/exact_flow.h"
#include "scheduler/flow/path_rounding.h"
#include "scheduler/flow/weights.h"
#include "scheduler/lower/lower.h"
#include "scheduler/lp/lp_solver.h"

namespace mycel::flow {
namespace {

using design::Digraph;
using ::testing::HasSubstr;

PlanRequest AllToAll() {
  PlanRequest request;
  request.collective = Collective::kAllToAll;
  return request;
}

PlanRequest AllToAllV(std::vector<int64_t> demand) {
  PlanRequest request;
  request.collective = Collective::kAllToAllV;
  request.demand = std::move(demand);
  return request;
}

Topology Unit(const Digraph& graph, const std::string& name) {
  StatusOr<Topology> topology = ToTopology(graph, name, "", Rational(1), 1);
  EXPECT_TRUE(topology.ok()) << topology.status();
  return *std::move(topology);
}

Topology Named(const std::string& name) {
  StatusOr<Topology> topology = GalleryTopology(name);
  EXPECT_TRUE(topology.ok()) << topology.status();
  return *std::move(topology);
}

/// The time of one block for each pair: 1/F of the reference, capacity 1 a link.
struct Oracle {
  const char* name;
  Digraph graph;
  Rational time;
};
std::ostream& operator<<(std::ostream& out, const Oracle& oracle) { return out << oracle.name; }

class Oracles : public testing::TestWithParam<Oracle> {};

TEST_P(Oracles, TheOptimumLiesBetweenProofAndFlow) {
  const Oracle& oracle = GetParam();
  const Topology topology = Unit(oracle.graph, oracle.name);
  const auto facts = FlowFactsOf(topology, AllToAll());
  ASSERT_TRUE(facts.ok()) << facts.status();
  EXPECT_LE(facts->bound, oracle.time);
  EXPECT_GE(facts->inv_x, oracle.time);
  if (facts->method == FlowMethod::kWeights) {
    EXPECT_LE(facts->gap(), 0.0101) << NameOf(facts->method);
  } else {
    EXPECT_EQ(facts->inv_x, oracle.time) << NameOf(facts->method);
  }
  if (facts->method != FlowMethod::kTranslations) return;
  // What a build without CLP would do.
  const auto flow = ConcurrentFlow::Make(topology, AllToAll());
  ASSERT_TRUE(flow.ok()) << flow.status();
  const FlowSolution near = SolveByWeights((*flow)->problem(), {});
  EXPECT_LE(near.bound, oracle.time);
  EXPECT_GE(near.time, oracle.time);
  EXPECT_LE(near.time.ToDouble(), near.bound.ToDouble() * 1.0101);
}

// C1, C2.
INSTANTIATE_TEST_SUITE_P(Rings, Oracles,
                         testing::Values(Oracle{"one-way 4", design::OneWayRing(4), 6},
                                         Oracle{"one-way 5", design::OneWayRing(5), 10},
                                         Oracle{"one-way 8", design::OneWayRing(8), 28},
                                         Oracle{"ring 4", design::Ring(4), 2}, Oracle{"ring 5", design::Ring(5), 3},
                                         Oracle{"ring 6", design::Ring(6), {9, 2}},
                                         Oracle{"ring 8", design::Ring(8), 8}, Oracle{"ring 9", design::Ring(9), 10}));
// C3, C4, C5.
INSTANTIATE_TEST_SUITE_P(
    Tori, Oracles,
    testing::Values(Oracle{"3x3", design::Torus({3, 3}), 3}, Oracle{"4x4", design::Torus({4, 4}), 8},
                    Oracle{"6x6", design::Torus({6, 6}), 27}, Oracle{"8x8", design::Torus({8, 8}), 64},
                    Oracle{"16x16", design::Torus({16, 16}), 512}, Oracle{"32x32", design::Torus({32, 32}), 4096},
                    Oracle{"3x4", design::Torus({3, 4}), 6}, Oracle{"4x8", design::Torus({4, 8}), 32},
                    Oracle{"3x3x2", design::Torus({3, 3, 2}), 9}, Oracle{"3x3x3", design::Torus({3, 3, 3}), 9},
                    Oracle{"8x8x16", design::Torus({8, 8, 16}), 2048},
                    Oracle{"4^5", design::Torus({4, 4, 4, 4, 4}), 512}, Oracle{"3-cube", design::Hamming(3, 2), 4},
                    Oracle{"4-cube", design::Hamming(4, 2), 8}, Oracle{"5-cube", design::Hamming(5, 2), 16},
                    Oracle{"6-cube", design::Hamming(6, 2), 32}, Oracle{"10-cube", design::Hamming(10, 2), 512}));
// C6, C15, C16; 3858.6047 is 165920/43.
INSTANTIATE_TEST_SUITE_P(Symmetric, Oracles,
                         testing::Values(Oracle{"K4", design::Complete(4), 1}, Oracle{"K8", design::Complete(8), 1},
                                         Oracle{"K2,2", design::CompleteBipartite(2), 2},
                                         Oracle{"K4,4", design::CompleteBipartite(4), {5, 2}},
                                         Oracle{"H(2,3)", design::Hamming(2, 3), 3},
                                         Oracle{"H(2,4)", design::Hamming(2, 4), 4},
                                         Oracle{"Petersen", design::Petersen(), 5},
                                         Oracle{"C(12,{2,3})", design::Circulant(12, {2, 3}), {14, 3}},
                                         Oracle{"C(10,{2,3})", design::Circulant(10, {2, 3}), {7, 2}},
                                         Oracle{"C(16,{2,3})", design::Circulant(16, {2, 3}), {29, 4}},
                                         Oracle{"C(1024,{22,23})", design::Circulant(1024, {22, 23}), {165920, 43}}));
// C7, C8, C14, C17: not symmetric, or not in their numbering. Where only decimals are known they are tested below.
INSTANTIATE_TEST_SUITE_P(Others, Oracles,
                         testing::Values(Oracle{"Kautz(2,2)", design::Kautz(2, 2), {13, 3}},
                                         Oracle{"Kautz(2,3)", design::Kautz(2, 3), {43, 3}},
                                         Oracle{"Kautz(3,2)", design::Kautz(3, 2), {33, 5}},
                                         Oracle{"Kautz(4,2)", design::Kautz(4, 2), {61, 7}},
                                         Oracle{"GK(2,8)", design::GeneralizedKautz(2, 8), 9},
                                         Oracle{"GK(2,16)", design::GeneralizedKautz(2, 16), {77, 3}},
                                         Oracle{"GK(3,16)", design::GeneralizedKautz(3, 16), 12},
                                         Oracle{"GK(4,8)", design::GeneralizedKautz(4, 8), {7, 2}},
                                         Oracle{"GK(4,12)", design::GeneralizedKautz(4, 12), {13, 2}},
                                         Oracle{"GK(4,16)", design::GeneralizedKautz(4, 16), {53, 7}},
                                         Oracle{"GK(4,27)", design::GeneralizedKautz(4, 27), {761, 51}},
                                         Oracle{"GK(4,32)", design::GeneralizedKautz(4, 32), {85, 4}},
                                         Oracle{"mesh 3x3", design::Mesh(3, 3), 6},
                                         Oracle{"mesh 4x4", design::Mesh(4, 4), 16},
                                         Oracle{"de Bruijn(2,3)", design::DeBruijn(2, 3), 9},
                                         Oracle{"de Bruijn(2,4)", design::DeBruijn(2, 4), {77, 3}},
                                         Oracle{"de Bruijn(4,2)", design::DeBruijn(4, 2), {53, 7}}));

// C7, C8: known as decimals.
TEST(Flow, OptimaKnownAsDecimals) {
  struct Row {
    Digraph graph;
    double time;
  };
  for (const Row& row : {Row{design::Kautz(2, 4), 38.9}, Row{design::GeneralizedKautz(4, 64), 46.0667},
                         Row{design::GeneralizedKautz(4, 128), 116.0625}}) {
    const auto facts = FlowFactsOf(Unit(row.graph, "kautz"), AllToAll());
    ASSERT_TRUE(facts.ok()) << facts.status();
    EXPECT_LE(facts->bound.ToDouble(), row.time * 1.001);
    EXPECT_GE(facts->inv_x.ToDouble(), row.time * 0.999);
    EXPECT_LE(facts->gap(), 0.0101);
  }
  // C14: the links of dgx1-v100 have 25 or 50 GB/s.
  const auto dgx = FlowFactsOf(Named("dgx1-v100"), AllToAll());
  ASSERT_TRUE(dgx.ok()) << dgx.status();
  EXPECT_LE(dgx->bound, Rational(8, 75));
  EXPECT_GE(dgx->inv_x, Rational(8, 75));
}

/// A random digraph of unequal links that is a circle and more, some ranks joined through a switch.
Topology RandomTopology(Rng* rng, int32_t n, bool with_switch) {
  TopologyBuilder builder("random");
  std::vector<NodeId> nodes;
  for (const Rank r : Ids<Rank>(n)) nodes.push_back(builder.AddRank("r" + std::to_string(r.value()), r));
  if (with_switch) nodes.push_back(builder.AddSwitch("w"));
  for (size_t i = 0; i < nodes.size(); ++i) {
    for (size_t j = 0; j < nodes.size(); ++j) {
      if (i == j || (j != (i + 1) % nodes.size() && rng->Below(3) > 0)) continue;
      builder.AddLink(nodes[i], nodes[j], Rational(static_cast<int64_t>(1 + rng->Below(4))));
    }
  }
  return *std::move(builder).Build();
}

std::vector<int64_t> RandomDemand(Rng* rng, int32_t n) {
  std::vector<int64_t> demand;
  for (int32_t i = 0; i < n * n; ++i) demand.push_back(static_cast<int64_t>(rng->Below(3) == 0 ? 0 : rng->Below(5000)));
  demand[1] = 77;
  return demand;
}

/// The plan of a request: verified, run, and no faster than what is proved.
void ExpectRight(const Topology& topology, const PlanRequest& request, Rational* inv_x) {
  const StatusOr<Schedule> schedule = FlowPlanner().MakeSchedule(topology, request);
  ASSERT_TRUE(schedule.ok()) << schedule.status();
  for (const Pipelining pipelined : {Pipelining::kOff, Pipelining::kOn}) {
    LowerOptions options;
    options.lanes = 2;
    options.pipelined = pipelined;
    options.slice_bytes = 256;
    const StatusOr<Plan> plan = Lower(*schedule, topology, options);
    ASSERT_TRUE(plan.ok()) << plan.status();
    const bool in_place = request.collective == Collective::kAllToAll;
    const Status verified = Verify(*plan, {in_place});
    ASSERT_TRUE(verified.ok()) << verified;
    InterpretRequest run;
    run.type = DataType::kInt32;
    run.count = 101;
    run.in_place = in_place;
    const Status met = CheckByRunning(*plan, run);
    EXPECT_TRUE(met.ok()) << met;
    const auto loads = ComputeLinkLoads(*plan, topology);
    ASSERT_TRUE(loads.ok()) << loads.status();
    *inv_x = loads->inv_x;
  }
  const auto facts = FlowFactsOf(topology, request);
  ASSERT_TRUE(facts.ok()) << facts.status();
  EXPECT_GE(facts->inv_x, facts->bound);
  EXPECT_GE(*inv_x, facts->bound);
}

// Weights against the exact program: flow >= optimum >= bound, within the gap; and plans of both variants.
TEST(Flow, RandomDigraphs) {
  const uint64_t seed = 20261130;
  Rng rng(seed);
  for (int i = 0; i < 40; ++i) {
    const auto n = static_cast<int32_t>(2 + rng.Below(6));
    SCOPED_TRACE("seed " + std::to_string(seed) + " case " + std::to_string(i));
    const Topology topology = RandomTopology(&rng, n, i % 3 == 0);
    const PlanRequest request = i % 2 == 0 ? AllToAll() : AllToAllV(RandomDemand(&rng, n));
    const auto flow = ConcurrentFlow::Make(topology, request);
    ASSERT_TRUE(flow.ok()) << flow.status();
    const FlowProblem problem = GeneralProblem((*flow)->graph(), (*flow)->demand());
    const FlowSolution near = SolveByWeights(problem, {});
    EXPECT_GE(near.time, near.bound);
    EXPECT_EQ(near.time, TimeOf(problem, near.flow, near.amount));
    EXPECT_LE(near.time.ToDouble(), near.bound.ToDouble() * 1.0101);
    if (LpSolver::Available()) {
      const auto exact = SolveExactly(problem);
      ASSERT_TRUE(exact.ok()) << exact.status();
      EXPECT_EQ(exact->time, exact->bound);
      EXPECT_LE(near.bound, exact->time);
      EXPECT_GE(near.time, exact->time);
    }
    for (const char* variant : {"", "whole"}) {
      PlanRequest wanted = request;
      wanted.variant = variant;
      Rational inv_x;
      ExpectRight(topology, wanted, &inv_x);
    }
  }
}

TEST(Flow, PlansReachTheOptimum) {
  for (const auto& [name, inv_x] : std::vector<std::pair<std::string, Rational>>{{"torus-4x4", {8, 25}},
                                                                                 {"hypercube-3", {4, 25}},
                                                                                 {"ring5", {3, 25}},
                                                                                 {"mesh-3x3", 6},
                                                                                 {"fullmesh-4", {1, 25}}}) {
    SCOPED_TRACE(name);
    Rational reached;
    ExpectRight(Named(name), AllToAll(), &reached);
    if (LpSolver::Available()) {
      EXPECT_EQ(reached, inv_x);
    } else {
      EXPECT_LE(reached.ToDouble(), inv_x.ToDouble() * 1.1);
    }
  }
}

TEST(Flow, FindsTranslationsOnlyWhereTheyAre) {
  const auto found = [](const Topology& topology) {
    const auto graph = FlowGraphOf(topology);
    EXPECT_TRUE(graph.ok()) << graph.status();
    const auto translations = Translations::Find(*graph);
    return translations ? translations->radixes() : std::vector<int32_t>();
  };
  using testing::ElementsAre;
  EXPECT_THAT(found(Named("ring7")), ElementsAre(7));
  EXPECT_THAT(found(Named("torus-4x6")), ElementsAre(6, 4));
  EXPECT_THAT(found(Unit(design::CompleteBipartite(3), "K3,3")), testing::Not(testing::IsEmpty()));
  for (const char* name : {"mesh-3x3", "dgx1-v100", "dgx-a100"}) EXPECT_THAT(found(Named(name)), testing::IsEmpty());
  TopologyBuilder builder("one link is wider");
  for (const Rank r : Ids<Rank>(4)) builder.AddRank("r" + std::to_string(r.value()), r);
  for (int32_t i = 0; i < 4; ++i) builder.AddDuplex(NodeId(i), NodeId((i + 1) % 4), i == 2 ? 2 : 1);
  EXPECT_THAT(found(*std::move(builder).Build()), testing::IsEmpty());
}

TEST(Flow, RoundsToWholeUnits) {
  const Topology topology = Unit(design::GeneralizedKautz(4, 12), "kautz");
  const auto flow = ConcurrentFlow::Make(topology, AllToAll());
  ASSERT_TRUE(flow.ok()) << flow.status();
  const std::vector<PairPaths> exact = PeelPaths((*flow)->problem(), (*flow)->solution());
  ASSERT_EQ(std::ssize(exact), 12 * 11);
  for (const int64_t units : {1, 3, 8}) {
    std::vector<PairPaths> pairs = exact;
    const Rational time = RoundPaths((*flow)->problem(), units, &pairs);
    EXPECT_GE(time, (*flow)->solution().bound);
    std::vector<std::vector<int64_t>> loads(1, std::vector<int64_t>((*flow)->graph().edges.size()));
    for (const PairPaths& pair : pairs) {
      int64_t sum = 0;
      for (const WeightedPath& path : pair.paths) {
        sum += path.weight;
        for (const int32_t e : path.edges) loads[0][static_cast<size_t>(e)] += path.weight;
      }
      EXPECT_EQ(sum, units);
    }
    EXPECT_EQ(time, TimeOf((*flow)->problem(), loads, units));
  }
}

TEST(Flow, RefusesWhatItCannotServe) {
  const Topology ring = Named("ring4");
  const auto refused = [](const Topology& topology, const PlanRequest& request, const std::string& text) {
    const Status serves = FlowPlanner().Serves(topology, request);
    EXPECT_FALSE(serves.ok());
    EXPECT_EQ(FlowPlanner().MakeSchedule(topology, request).status(), serves);
    EXPECT_THAT(StatusMessage(serves), HasSubstr(text));
  };
  PlanRequest request;
  request.collective = Collective::kAllReduce;
  refused(ring, request, "serves alltoall and alltoallv, not allreduce");
  request = AllToAll();
  request.variant = "half";
  refused(ring, request, "no variant 'half'; leave it out, or use whole");
  refused(ring, AllToAllV({1, 2}), "needs 16 demands, got 2");
  std::vector<int64_t> demand(16, 1);
  demand[6] = -1;
  refused(ring, AllToAllV(demand), "from rank 1 to rank 2 is negative");
  demand[6] = int64_t{1} << 48;
  refused(ring, AllToAllV(demand), "more than 2^48 bytes");
  TopologyBuilder builder("one way");
  for (const Rank r : Ids<Rank>(3)) builder.AddRank("r" + std::to_string(r.value()), r);
  builder.AddLink(NodeId(0), NodeId(1), 1);
  builder.AddLink(NodeId(1), NodeId(2), 1);
  const Topology one_way = *std::move(builder).Build();
  refused(one_way, AllToAll(), "no way leads from rank 1 to rank 0");
  Rational inv_x;
  ExpectRight(one_way, AllToAllV({5, 3, 4, 0, 0, 2, 0, 0, 0}), &inv_x);
  EXPECT_EQ(inv_x, Rational(7));
}

}  // namespace
}  // namespace mycel::flow
