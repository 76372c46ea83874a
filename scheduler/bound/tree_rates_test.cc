// The linear program over link rates against known optima, against an independent formulation with one flow for each
// rank, and against every cut in integers.
#include "scheduler/bound/tree_rates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "core/base/int128.h"
#include "core/base/rng.h"
#include "core/topo/topology_json.h"
#include "scheduler/bound/bound.h"
#include "scheduler/graph/edge_list_testing.h"
#include "scheduler/graph/scaled_graph.h"
#include "scheduler/graph/throughput_bound.h"
#include "scheduler/lp/lp_solver.h"

namespace mycel {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

/// Bandwidths, switches and every node set with a rank, in integers.
void CheckRates(const Topology& topology, const std::vector<int64_t>& weights, const TreeRates& rates) {
  const ScaledGraph graph = *ScaleCapacities(topology);
  ASSERT_EQ(rates.links.size(), graph.edges.size());
  ASSERT_LE(graph.node_count, 16) << "every node set is tried";
  uint32_t ranks = 0;
  for (const int32_t node : graph.ranks) ranks |= uint32_t{1} << node;
  std::vector<int64_t> surplus(static_cast<size_t>(graph.node_count), 0);
  for (size_t link = 0; link < graph.edges.size(); ++link) {
    const auto [source, target, capacity] = graph.edges[link];
    EXPECT_GE(rates.links[link], 0);
    EXPECT_LE(int128{rates.links[link]}, int128{capacity} * rates.denominator);
    surplus[static_cast<size_t>(target)] += rates.links[link];
    surplus[static_cast<size_t>(source)] -= rates.links[link];
  }
  for (int32_t node = 0; node < graph.node_count; ++node) {
    EXPECT_TRUE((ranks >> node & 1) != 0 || surplus[static_cast<size_t>(node)] == 0) << "node " << node;
  }
  for (uint32_t inside = 1; inside < uint32_t{1} << graph.node_count; ++inside) {
    if ((inside & ranks) == 0) continue;
    int128 wanted = 0;
    for (size_t rank = 0; rank < weights.size(); ++rank) {
      if ((inside >> graph.ranks[rank] & 1) == 0) wanted += int128{weights[rank]} * rates.root;
    }
    int128 entering = 0;
    for (size_t link = 0; link < graph.edges.size(); ++link) {
      const bool enters =
          (inside >> graph.edges[link].source & 1) == 0 && (inside >> graph.edges[link].target & 1) != 0;
      if (enters) entering += rates.links[link];
    }
    EXPECT_GE(entering, wanted) << "node set " << inside;
  }
  EXPECT_EQ(*graph.NsPerByte(rates.denominator, rates.root), rates.inv_x);
}

TreeRates Rates(const Topology& topology, const std::vector<int64_t>& weights) {
  const StatusOr<TreeRates> rates =
      FindTreeRates(topology, weights, WeightedAllGatherOptimum(topology, weights)->inv_x);
  EXPECT_TRUE(rates.ok()) << rates.status();
  if (!rates.ok()) return {};
  EXPECT_TRUE(rates->optimal);
  CheckRates(topology, weights, *rates);
  return *rates;
}

TEST(TreeRates, ASwitchCannotPassOnMoreThanItTakesIn) {
  // All that ranks 1 and 2 get comes through w, which takes in 2 GB/s; the cuts around each see 2 GB/s each.
  const Topology fan = EdgeList("0>w:2 w>1:2 w>2:2 1>0:4 2>0:4");
  EXPECT_EQ(WeightedAllGatherOptimum(fan, {1, 0, 0})->inv_x, Rational(1, 2));
  EXPECT_EQ(Rates(fan, {1, 0, 0}).inv_x, Rational(1));
  EXPECT_EQ(WeightedAllGatherOptimum(fan, {1, 1, 1})->inv_x, Rational(1));
  const TreeRates rates = Rates(fan, {1, 1, 1});
  EXPECT_EQ(rates.inv_x, Rational(2));
  EXPECT_GT(rates.cuts, 0);
  EXPECT_FALSE(rates.cut.empty());
  // The same fabric, read backwards, only has capacity to spare.
  const TreeRates spare = Rates(Reversed(fan), {1, 1, 1});
  EXPECT_EQ(spare.inv_x, Rational(1));
  EXPECT_EQ(spare.cuts, 0);

  // Two switches in a row: the second can pass on what the first one lets through, and rank 2 has a way around.
  const Topology chain = EdgeList("0>v:3 v>w:2 v>1:3 w>1:1 w>2:3 1>2:1 1>0:6 2>0:6");
  EXPECT_EQ(WeightedAllGatherOptimum(chain, {1, 0, 0})->inv_x, Rational(1, 3));
  EXPECT_EQ(Rates(chain, {1, 0, 0}).inv_x, Rational(1, 2));
}

TEST(TreeRates, SharesAndUnitsCount) {
  const Topology fan = EdgeList("0>w:1/2 w>1:1/2 w>2:1/2 1>0:1 2>0:1");
  EXPECT_EQ(Rates(fan, {1, 0, 0}).inv_x, Rational(4));
  EXPECT_EQ(Rates(fan, {6, 0, 0}).inv_x, Rational(24));
  EXPECT_EQ(Rates(fan, {6, 4, 4}).inv_x, Rational(2 * 6 * 2 + 4 * 2 + 4 * 2));
  EXPECT_EQ(Rates(fan, {int64_t{6} << 32, 0, 0}).inv_x, Rational(24) * Rational(int64_t{1} << 32));
}

TEST(TreeRates, BoundOfSaysWhatCopiesWouldAllow) {
  PlanRequest request;
  request.collective = Collective::kAllGather;
  const Topology fan = EdgeList("0>w:2 w>1:2 w>2:2 1>0:4 2>0:4");
  const Optimum gather = *BoundOf(fan, request);
  EXPECT_EQ(gather.inv_x, Rational(2));
  EXPECT_EQ(gather.kind, BoundKind::kOptimum);
  EXPECT_THAT(gather.proof,
              AllOf(HasSubstr("no schedule needs less than 1 ns a byte, but that would take copies inside "
                              "switch w (2 GB/s in, 4 GB/s out)"),
                    HasSubstr("without them it takes 2 ns a byte at least"), HasSubstr("spanning trees reach that")));
  request.collective = Collective::kReduceScatter;
  const Optimum scatter = *BoundOf(fan, request);
  EXPECT_EQ(scatter.inv_x, Rational(1));
  EXPECT_EQ(scatter.kind, BoundKind::kOptimum);
  EXPECT_THAT(scatter.proof, HasSubstr("reach that without the surplus of switch w (2 GB/s in, 4 GB/s out)"));
  request.collective = Collective::kReduce;
  request.root = Rank(0);
  const Optimum reduce = *BoundOf(Reversed(fan), request);
  EXPECT_EQ(reduce.inv_x, Rational(1));
  EXPECT_THAT(reduce.proof,
              AllOf(HasSubstr("less than 1/2 ns a byte"), HasSubstr("sums inside switch w (4 GB/s in, 2 GB/s out)")));
  request.collective = Collective::kBroadcast;
  EXPECT_EQ(BoundOf(fan, request)->inv_x, Rational(1));
  // The cut stays that of the cut bound, whose numbers go together.
  EXPECT_EQ(Rational(gather.cut_demand) / gather.cut_bandwidth, Rational(1));
}

/// The same optimum by the formulation with a flow to every rank instead of cuts, solved in one go.
double ByExplicitFlows(const Topology& topology, const std::vector<int64_t>& weights) {
  const ScaledGraph graph = *ScaleCapacities(topology);
  const auto links = static_cast<int32_t>(graph.edges.size());
  LinearProgram program;
  program.objective.assign(static_cast<size_t>(1 + links), 0);
  program.objective[0] = 1;
  for (int32_t link = 0; link < links; ++link) {
    program.rows.push_back({{{1 + link, 1}}, graph.edges[static_cast<size_t>(link)].capacity, false});
  }
  for (const NodeId node : Ids<NodeId>(topology.node_count())) {
    if (topology.node(node).type == NodeType::kRank) continue;
    LinearProgram::Row balance{{}, 0, true};
    for (int32_t link = 0; link < links; ++link) {
      const auto [source, target, capacity] = graph.edges[static_cast<size_t>(link)];
      if (source == node.value()) balance.terms.push_back({1 + link, -1});
      if (target == node.value()) balance.terms.push_back({1 + link, 1});
    }
    program.rows.push_back(balance);
  }
  const int64_t weight_sum = std::accumulate(weights.begin(), weights.end(), int64_t{0});
  for (const int32_t sink : graph.ranks) {
    const int32_t flow = program.variable_count();  // of each link; then what each root sends
    program.objective.resize(program.objective.size() + static_cast<size_t>(links) + weights.size(), 0);
    for (int32_t link = 0; link < links; ++link) {
      program.rows.push_back({{{flow + link, 1}, {1 + link, -1}}, 0, false});
    }
    for (size_t rank = 0; rank < weights.size(); ++rank) {
      program.rows.push_back({{{flow + links + static_cast<int32_t>(rank), 1}, {0, -weights[rank]}}, 0, false});
    }
    for (int32_t node = 0; node < graph.node_count; ++node) {
      LinearProgram::Row conserved{{}, 0, true};
      for (int32_t link = 0; link < links; ++link) {
        const auto [source, target, capacity] = graph.edges[static_cast<size_t>(link)];
        if (source == node) conserved.terms.push_back({flow + link, -1});
        if (target == node) conserved.terms.push_back({flow + link, 1});
      }
      for (size_t rank = 0; rank < weights.size(); ++rank) {
        if (graph.ranks[rank] != node) continue;
        conserved.terms.push_back({flow + links + static_cast<int32_t>(rank), 1});
      }
      if (node == sink) conserved.terms.push_back({0, -weight_sum});
      program.rows.push_back(conserved);
    }
  }
  const StatusOr<LpSolution> solution = LpSolver(program).Solve(1'000'000);
  EXPECT_TRUE(solution.ok()) << solution.status();
  return solution.ok() ? solution->objective * graph.Bandwidth(1)->ToDouble() : 0;
}

TEST(TreeRates, RandomGraphsAgreeWithExplicitFlows) {
  const uint64_t seed = 20250310;
  SCOPED_TRACE("seed " + std::to_string(seed));
  Rng rng(seed);
  int met = 0;
  int slower = 0;
  for (int round = 0; round < 2000 && !::testing::Test::HasFailure(); ++round) {
    const Topology topology = UnbalancedTopology(rng, 5, 3, rng.OneIn(2) ? 4 : 1'000'000'000);
    std::vector<int64_t> weights;
    for (int32_t rank = 0; rank < topology.rank_count(); ++rank)
      weights.push_back(std::max<int64_t>(0, rng.Between(-2, 3)));
    const StatusOr<Optimum> cut = WeightedAllGatherOptimum(topology, weights);
    if (!cut.ok() || cut->inv_x == Rational(0)) continue;  // cut off, or nothing to send
    SCOPED_TRACE("round " + std::to_string(round) + "\n" + WriteTopology(topology));
    const TreeRates rates = Rates(topology, weights);
    EXPECT_GE(rates.inv_x, cut->inv_x);
    const double x = 1 / rates.inv_x.ToDouble();
    EXPECT_NEAR(ByExplicitFlows(topology, weights), x, 1e-6 * x);
    ++(rates.inv_x == cut->inv_x ? met : slower);
  }
  EXPECT_GT(met, 50);
  EXPECT_GT(slower, 50);
}

TEST(TreeRates, WhatIsAlikeSharesItsRates) {
  // Servers whose switch sends twice what it takes in, joined the same way.
  std::string text;
  for (int rank = 0; rank < 8; ++rank) {
    const std::string box = "w" + std::to_string(rank / 4);
    text += std::to_string(rank) + ">" + box + ":2 " + box + ">" + std::to_string(rank) + ":4 ";
    text += std::to_string(rank) + "-ib:1 ";
  }
  const Topology boxes = EdgeList(text);
  const std::vector<int64_t> ones(8, 1);
  const TreeRates whole = Rates(boxes, ones);
  TreeRateOptions options;
  options.variables_max = 10;
  const Rational cut_bound = WeightedAllGatherOptimum(boxes, ones)->inv_x;
  const StatusOr<TreeRates> alike = FindTreeRates(boxes, ones, cut_bound, options);
  ASSERT_TRUE(alike.ok()) << alike.status();
  EXPECT_EQ(alike->inv_x, whole.inv_x);
  CheckRates(boxes, ones, *alike);
  EXPECT_GT(whole.inv_x, cut_bound);
  EXPECT_FALSE(alike->optimal) << "proved only by the whole program";
  const auto rate_from_box = [&](Rank rank) {
    for (const LinkId link : boxes.InLinks(boxes.NodeOf(rank))) {
      if (boxes.node(boxes.link(link).source).id.front() == 'w') return alike->links[link.index()];
    }
    return int64_t{-1};
  };
  EXPECT_GT(rate_from_box(Rank(0)), 0);
  for (const Rank rank : Ids<Rank>(8)) EXPECT_EQ(rate_from_box(rank), rate_from_box(Rank(0)));
  options.variables_max = 3;
  const Status large = FindTreeRates(boxes, ones, cut_bound, options).status();
  EXPECT_EQ(large.code(), StatusCode::kUnimplemented);
  EXPECT_THAT(StatusMessage(large), HasSubstr("33 variables, more than 3"));
}

TEST(TreeRates, NumbersBeyondExactFractionsAreRefused) {
  const Topology topology = EdgeList(
      "0>w:72057594037927931 w>1:72057594037927913 w>2:72057594037927903 1>0:72057594037927889 2>0:72057594037927879");
  const Status fine = FindTreeRates(topology, {1, 1, 1}, AllGatherOptimum(topology)->inv_x).status();
  EXPECT_EQ(fine.code(), StatusCode::kInvalidArgument) << fine;
  EXPECT_THAT(StatusMessage(fine), HasSubstr("too fine for exact trees; round them"));
}

TEST(TreeRates, NamesTheSwitch) {
  EXPECT_EQ(UnbalancedText(EdgeList("0-w:1 1-w:2")), "");
  EXPECT_EQ(UnbalancedText(EdgeList("0-w:1/2 1>w:2 w>1:3")), "switch w (5/2 GB/s in, 7/2 GB/s out)");
  EXPECT_EQ(UnbalancedText(EdgeList("0>v:1 v>1:2 1>w:2 w>0:1 0>u:1 u>1:1")),
            "switch v (1 GB/s in, 2 GB/s out) and 1 more");
}

}  // namespace
}  // namespace mycel
