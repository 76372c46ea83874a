// The linear program over root shares against known optima, against an independent formulation with one flow for each
// rank, and against what no schedule can beat.
#include "scheduler/bound/allreduce_rates.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/base/rng.h"
#include "core/topo/gallery.h"
#include "core/topo/topology_json.h"
#include "scheduler/bound/bound.h"
#include "scheduler/bound/rate_cuts.h"
#include "scheduler/bound/symmetry.h"
#include "scheduler/graph/edge_list_testing.h"
#include "scheduler/graph/scaled_graph.h"
#include "scheduler/graph/throughput_bound.h"
#include "scheduler/lp/lp_solver.h"

namespace mycel {
namespace {

Topology Gallery(const std::string& name) {
  StatusOr<Topology> topology = GalleryTopology(name);
  EXPECT_TRUE(topology.ok()) << name << ": " << topology.status();
  return *std::move(topology);
}

/// Whether the rates keep every bandwidth, every switch and every cut, in integers.
void CheckRates(const Topology& topology, const AllReduceRates& rates, const RateOptions& options = {}) {
  const ScaledGraph graph = *ScaleCapacities(topology);
  std::vector<int64_t> spread_surplus(static_cast<size_t>(graph.node_count), 0);
  std::vector<int64_t> reduce_surplus(spread_surplus);
  for (size_t link = 0; link < graph.edges.size(); ++link) {
    const auto [source, target, capacity] = graph.edges[link];
    EXPECT_GE(rates.spread[link], 0);
    EXPECT_GE(rates.reduce[link], 0);
    EXPECT_LE(rates.spread[link] + rates.reduce[link], capacity * rates.denominator);
    spread_surplus[static_cast<size_t>(target)] += rates.spread[link];
    spread_surplus[static_cast<size_t>(source)] -= rates.spread[link];
    reduce_surplus[static_cast<size_t>(target)] += rates.reduce[link];
    reduce_surplus[static_cast<size_t>(source)] -= rates.reduce[link];
  }
  std::vector<int32_t> spread_terminals = graph.ranks;
  std::vector<int32_t> reduce_terminals = graph.ranks;
  for (const NodeId node : Ids<NodeId>(topology.node_count())) {
    if (topology.node(node).type == NodeType::kRank) continue;
    const bool copies = !options.copies.empty() && options.copies[node.index()];
    const bool reduces = !options.reduces.empty() && options.reduces[node.index()];
    if (copies) spread_terminals.push_back(node.value());
    if (reduces) reduce_terminals.push_back(node.value());
    EXPECT_TRUE(copies || spread_surplus[node.index()] == 0) << topology.node(node).id;
    EXPECT_TRUE(reduces || reduce_surplus[node.index()] == 0) << topology.node(node).id;
  }
  EXPECT_TRUE(bound::RateCuts(graph, false, spread_terminals).Broken(rates.roots, rates.spread, 0, 0).empty());
  EXPECT_TRUE(bound::RateCuts(graph, true, reduce_terminals).Broken(rates.roots, rates.reduce, 0, 0).empty());
}

/// algbw of the exact optimum.
Rational Algbw(const Topology& topology, const RateOptions& options = {}) {
  const StatusOr<AllReduceRates> rates = FindAllReduceRates(topology, options);
  EXPECT_TRUE(rates.ok()) << topology.name() << ": " << rates.status();
  if (!rates.ok()) return Rational(0);
  EXPECT_TRUE(rates->exact && rates->optimal) << topology.name();
  CheckRates(topology, *rates, options);
  return Rational(topology.rank_count()) / rates->inv_x;
}

TEST(AllReduceRates, OptimaOfTheOracleTable) {
  // From a linear program with explicit flows, solved elsewhere (HiGHS).
  EXPECT_EQ(Algbw(EdgeList("0>1:1 1>2:1 2>3:1 3>0:1")), Rational(2, 3));
  EXPECT_EQ(Algbw(EdgeList("0-1:1 1-2:1 2-3:1 3-4:1 4-0:1")), Rational(5, 4));
  EXPECT_EQ(Algbw(Gallery("ring8")) / Rational(25), Rational(8, 7));
  EXPECT_EQ(Algbw(EdgeList("0-1:1 0-2:1 0-3:1 1-2:1 1-3:1 2-3:1")), Rational(2));
  EXPECT_EQ(Algbw(Gallery("fullmesh-8")) / Rational(25), Rational(4));
  EXPECT_EQ(Algbw(Gallery("hypercube-3")) / Rational(25), Rational(12, 7));
  EXPECT_EQ(Algbw(Gallery("torus-3x3")) / Rational(25), Rational(9, 4));
  EXPECT_EQ(Algbw(Gallery("torus-4x4")) / Rational(25), Rational(32, 15));
  EXPECT_EQ(Algbw(Gallery("mesh-2x3")), Rational(7, 5));
  EXPECT_EQ(Algbw(Gallery("mesh-3x3")), Rational(3, 2));
  EXPECT_EQ(Algbw(EdgeList("0-w:1 1-w:1 2-w:1 3-w:1")), Rational(2, 3));
  EXPECT_EQ(Algbw(EdgeList("0-w:10 1-w:10 2-w:1")), Rational(1));
  EXPECT_EQ(Algbw(EdgeList("0-w:4 1-w:4 2-w:2 3-w:2")), Rational(2));
  EXPECT_EQ(Algbw(Gallery("dgx1-v100")) / Rational(25), Rational(24, 7));
  EXPECT_EQ(Algbw(EdgeList("0-va:10 1-va:10 2-va:10 3-va:10 4-vb:10 5-vb:10 6-vb:10 7-vb:10 "
                           "0-ib:1 1-ib:1 2-ib:1 3-ib:1 4-ib:1 5-ib:1 6-ib:1 7-ib:1")),
            Rational(4));
  EXPECT_EQ(Algbw(Gallery("dgx-a100")), Rational(1200, 7));
  EXPECT_EQ(Algbw(Gallery("dgx-a100-x2")), Rational(520, 3));
  EXPECT_EQ(Algbw(Gallery("dgx-h100-x2")), Rational(800, 3));
  EXPECT_EQ(Algbw(EdgeList("0-la:2 1-la:2 2-la:2 3-la:2 4-lb:2 5-lb:2 6-lb:2 7-lb:2 8-lc:2 9-lc:2 10-lc:2 11-lc:2 "
                           "la-s:1 lb-s:1 lc-s:1")),
            Rational(3, 4));
  EXPECT_EQ(Algbw(EdgeList("0-nvs:300 1-nvs:300 2-nvs:300 3-nvs:300 0-ib:25 1-ib:25 2-ib:25 3-ib:25 "
                           "4-pcie:32 5-pcie:32 6-pcie:32 7-pcie:32 pcie-ib:25")),
            Rational(153, 8));
  EXPECT_EQ(Algbw(EdgeList("0-1:2 0-2:2 0-3:2 1-2:2 1-3:2 2-3:2 4-5:3 0-ib:2 2-ib:2 4-ib:1 5-ib:1")), Rational(2));
  EXPECT_EQ(Algbw(Gallery("mi250")), Rational(1200, 7));
  EXPECT_EQ(Algbw(Gallery("mi250-8plus8")), Rational(128));
  EXPECT_EQ(Algbw(Gallery("mi250-x2")), Rational(2656, 15));
  EXPECT_EQ(Algbw(Gallery("dgx-a100-x4")), Rational(400, 3));
  EXPECT_EQ(Algbw(Gallery("dgx-h100-x4")), Rational(8000, 31));
}

/// The same optimum by the formulation with a flow to and from every terminal instead of cuts: about |V| times as many
/// variables, no separation, solved in one go.
double ByExplicitFlows(const Topology& topology, const RateOptions& options) {
  const ScaledGraph graph = *ScaleCapacities(topology);
  const auto ranks = static_cast<int32_t>(graph.ranks.size());
  const auto links = static_cast<int32_t>(graph.edges.size());
  LinearProgram program;
  program.objective.assign(static_cast<size_t>(ranks + 2 * links), 0);
  std::fill_n(program.objective.begin(), ranks, 1);
  for (int32_t link = 0; link < links; ++link) {
    program.rows.push_back(
        {{{ranks + link, 1}, {ranks + links + link, 1}}, graph.edges[static_cast<size_t>(link)].capacity, false});
  }
  for (const bool reduce : {false, true}) {
    const int32_t shares = ranks + (reduce ? links : 0);
    const std::vector<bool>& promoted = reduce ? options.reduces : options.copies;
    // Data run from the roots along the links; when reduced, against them.
    const auto source = [&](size_t link) { return reduce ? graph.edges[link].target : graph.edges[link].source; };
    const auto target = [&](size_t link) { return reduce ? graph.edges[link].source : graph.edges[link].target; };
    for (int32_t terminal = 0; terminal < graph.node_count; ++terminal) {
      const bool is_rank = topology.node(NodeId(terminal)).type == NodeType::kRank;
      if (!is_rank && (promoted.empty() || !promoted[static_cast<size_t>(terminal)])) {
        LinearProgram::Row balance{{}, 0, true};
        for (size_t link = 0; link < graph.edges.size(); ++link) {
          const auto variable = shares + static_cast<int32_t>(link);
          if (source(link) == terminal) balance.terms.push_back({variable, -1});
          if (target(link) == terminal) balance.terms.push_back({variable, 1});
        }
        program.rows.push_back(balance);
        continue;
      }
      const int32_t flow = program.variable_count();  // of each link
      const int32_t start = flow + links;             // of each root
      program.objective.resize(static_cast<size_t>(start + ranks), 0);
      for (int32_t link = 0; link < links; ++link)
        program.rows.push_back({{{flow + link, 1}, {shares + link, -1}}, 0, false});
      for (int32_t rank = 0; rank < ranks; ++rank) program.rows.push_back({{{start + rank, 1}, {rank, -1}}, 0, false});
      for (int32_t node = 0; node < graph.node_count; ++node) {
        LinearProgram::Row conserved{{}, 0, true};
        for (size_t link = 0; link < graph.edges.size(); ++link) {
          const auto variable = flow + static_cast<int32_t>(link);
          if (source(link) == node) conserved.terms.push_back({variable, -1});
          if (target(link) == node) conserved.terms.push_back({variable, 1});
        }
        for (int32_t rank = 0; rank < ranks; ++rank) {
          if (graph.ranks[static_cast<size_t>(rank)] == node) conserved.terms.push_back({start + rank, 1});
          if (node == terminal) conserved.terms.push_back({rank, -1});
        }
        program.rows.push_back(conserved);
      }
    }
  }
  const StatusOr<LpSolution> solution = LpSolver(program).Solve(1'000'000);
  EXPECT_TRUE(solution.ok()) << solution.status();
  return solution.ok() ? solution->objective * graph.Bandwidth(1)->ToDouble() : 0;
}

TEST(AllReduceRates, RandomGraphsAgreeWithExplicitFlowsAndLieBetweenTheBounds) {
  const uint64_t seed = 20250303;
  SCOPED_TRACE("seed " + std::to_string(seed));
  Rng rng(seed);
  int asked = 0;
  int better = 0;
  for (int round = 0; round < 400 && !::testing::Test::HasFailure(); ++round) {
    RandomShape shape;
    shape.node_count_max = 7;
    shape.denominator = rng.Between(1, 3);
    const Topology topology = RandomTopology(rng, shape);
    if (topology.rank_count() < 2 || !CheckConnected(topology).ok()) continue;
    SCOPED_TRACE("round " + std::to_string(round) + "\n" + WriteTopology(topology));
    const Rational algbw = Algbw(topology);
    EXPECT_NEAR(ByExplicitFlows(topology, {}), algbw.ToDouble(), 1e-6 * algbw.ToDouble());
    const Optimum in_turn = *AllReduceOptimum(topology);
    const Rational n(topology.rank_count());
    EXPECT_LE(algbw, n / in_turn.lower_bound);
    if (ScaleCapacities(topology)->SwitchesBalanced()) {
      EXPECT_GE(algbw, n / in_turn.inv_x);
      better += algbw > n / in_turn.inv_x ? 1 : 0;
    }
    // Every switch copies, or reduces, or neither, or both.
    RateOptions promoted;
    for (const Node& node : topology.nodes()) {
      promoted.copies.push_back(node.type == NodeType::kSwitch && rng.OneIn(2));
      promoted.reduces.push_back(node.type == NodeType::kSwitch && rng.OneIn(2));
    }
    const StatusOr<AllReduceRates> rates = FindAllReduceRates(topology, promoted);
    if (!rates.ok()) continue;  // a promoted switch that cannot be reached
    CheckRates(topology, *rates, promoted);
    const double expected = topology.rank_count() / rates->inv_x.ToDouble();
    EXPECT_NEAR(ByExplicitFlows(topology, promoted), expected, 1e-6 * expected);
    ++asked;
  }
  EXPECT_GT(asked, 100);
  EXPECT_GT(better, 30);
}

// Where cuts and groups leave a gap, the linear program closes it, and its rates come along.
TEST(AllReduceRates, CloseTheGapThatBoundsLeave) {
  const Topology mixed = *ReadTopologyFile("tests/topologies/mixed-14.json");
  const StatusOr<AllReduceBound> known = AllReduceBoundOf(mixed);
  ASSERT_TRUE(known.ok()) << known.status();
  EXPECT_EQ(known->optimum.inv_x, Rational(112, 89));
  EXPECT_EQ(known->optimum.kind, BoundKind::kOptimum);
  EXPECT_NE(known->optimum.proof.find("linear program"), std::string::npos) << known->optimum.proof;
  EXPECT_FALSE(known->optimum.cut.empty());
  EXPECT_GT(known->in_turn, known->optimum.inv_x);
  ASSERT_TRUE(known->rates.has_value());
  EXPECT_EQ(known->rates->inv_x, Rational(112, 89));
  EXPECT_TRUE(known->unsolved.empty());

  // Groups prove 3/2 GB/s; the program shows that it is reached.
  const StatusOr<AllReduceBound> mesh = AllReduceBoundOf(Gallery("mesh-3x3"));
  EXPECT_EQ(mesh->optimum.kind, BoundKind::kOptimum);
  EXPECT_NE(mesh->optimum.proof.find("root shares of a linear program reach that"), std::string::npos);
}

TEST(AllReduceRates, CopiesInSwitches) {
  const auto algbw = [](const Topology& topology, bool fabric_too) {
    RateOptions options;
    for (const Node& node : topology.nodes()) {
      options.copies.push_back(node.type == NodeType::kSwitch && (fabric_too || !node.server.empty()));
    }
    options.reduces = options.copies;
    return Algbw(topology, options);
  };
  EXPECT_EQ(algbw(Gallery("dgx-h100"), false), Rational(450));
  EXPECT_EQ(algbw(Gallery("dgx-h100-x2"), false), Rational(400));
  EXPECT_EQ(algbw(Gallery("dgx-h100-x2"), true), Rational(400));
  EXPECT_EQ(algbw(Gallery("dgx-h100-x4"), false), Rational(800, 3));
  EXPECT_EQ(algbw(Gallery("dgx-h100-x4"), true), Rational(400));
  EXPECT_EQ(algbw(Gallery("dgx-a100-x2"), true), Rational(200));
  EXPECT_EQ(algbw(EdgeList("0-w:1 1-w:1 2-w:1 3-w:1"), true), Rational(1));
  EXPECT_EQ(algbw(EdgeList("0-w:1 1-w:1 2-w:1 3-w:1 4-w:1 5-w:1 6-w:1 7-w:1"), true), Rational(1));
}

TEST(AllReduceRates, NumbersBeyondExactFractionsAreSaidToBeInexact) {
  // Coprime bandwidths near 2^56: their fractions leave the range in which products are exact.
  const Topology topology = EdgeList(
      "0-1:72057594037927931 1-2:72057594037927913 2-3:72057594037927903 3-0:72057594037927889 0-2:72057594037927879");
  const StatusOr<AllReduceRates> rates = FindAllReduceRates(topology);
  ASSERT_TRUE(rates.ok()) << rates.status();
  EXPECT_FALSE(rates->exact);
  EXPECT_TRUE(rates->cut.empty());
  const Rational same_but_round = Algbw(EdgeList("0-1:1 1-2:1 2-3:1 3-0:1 0-2:1"));
  EXPECT_NEAR(4 / rates->inv_x.ToDouble() / 72057594037927931.0, same_but_round.ToDouble(), 1e-5);
}

TEST(AllReduceRates, WhereNothingIsAlikeTheLimitHolds) {
  // A chain whose links all differ has as many colours as nodes.
  const Topology chain = EdgeList("0-1:1 1-2:2 2-3:3");
  RateOptions options;
  options.variables_max = 10;
  const Status large = FindAllReduceRates(chain, options).status();
  EXPECT_EQ(large.code(), StatusCode::kUnimplemented);
  EXPECT_NE(StatusMessage(large).find("16 variables, more than 10"), std::string::npos) << large;
}

TEST(AllReduceRates, AlikeRatesAreProvedByABoundOrNotAtAll) {
  const Topology mesh = Gallery("mesh-3x3");
  RateOptions options;
  options.variables_max = 20;
  StatusOr<AllReduceRates> rates = FindAllReduceRates(mesh, options);
  ASSERT_TRUE(rates.ok()) << rates.status();
  EXPECT_TRUE(rates->exact);
  EXPECT_FALSE(rates->optimal);
  EXPECT_EQ(rates->inv_x, Rational(6));
  CheckRates(mesh, *rates);
  for (const size_t corner : {2U, 6U, 8U}) EXPECT_EQ(rates->roots[corner], rates->roots[0]);
  for (const size_t side : {3U, 5U, 7U}) EXPECT_EQ(rates->roots[side], rates->roots[1]);
  options.inv_x_bound = Rational(5);
  EXPECT_FALSE(FindAllReduceRates(mesh, options)->optimal);
  options.inv_x_bound = Rational(6);
  EXPECT_TRUE(FindAllReduceRates(mesh, options)->optimal);
  // With the whole program alike rates are taken where they are as good: many roots make shallow trees.
  rates = FindAllReduceRates(mesh);
  EXPECT_TRUE(rates->optimal);
  EXPECT_EQ(rates->roots[2], rates->roots[0]);
}

// Colour refinement cannot tell a hexagon from two triangles; the cuts can.
TEST(AllReduceRates, RatesThatAreAlikeByMistakeStillHoldEveryCut) {
  const Topology topology = EdgeList(
      "0-1:1 1-2:1 2-0:1 3-4:1 4-5:1 5-3:1 6-7:1 7-8:1 8-9:1 9-10:1 10-11:1 11-6:1 "
      "0-w:1 1-w:1 2-w:1 3-w:1 4-w:1 5-w:1 6-w:1 7-w:1 8-w:1 9-w:1 10-w:1 11-w:1");
  const bound::Colours colours = bound::RefineColours(*ScaleCapacities(topology), std::vector<int32_t>(13, 0));
  EXPECT_EQ(colours.nodes, 2);
  EXPECT_EQ(colours.links, 3);
  Algbw(topology);
}

TEST(AllReduceRates, SaysWhatItCannotDo) {
  const Status large = FindAllReduceRates(Gallery("mesh-40x40")).status();
  EXPECT_EQ(large.code(), StatusCode::kUnimplemented);
  EXPECT_NE(StatusMessage(large).find("14080 variables, more than 10000"), std::string::npos) << large;
  const Status apart = FindAllReduceRates(EdgeList("0-1:1 2>1:1")).status();
  EXPECT_EQ(apart.code(), StatusCode::kUnimplemented);
  EXPECT_NE(StatusMessage(apart).find("not connected"), std::string::npos) << apart;
}

}  // namespace
}  // namespace mycel
