// Forests against the exact optima of all sample machines, against brute force on random graphs, and through lowering,
// verification and link loads.
#include "scheduler/forest/forest.h"

#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/rng.h"
#include "core/plan/verify.h"
#include "core/topo/gallery.h"
#include "core/topo/topology_json.h"
#include "scheduler/forest/spanning_forest.h"
#include "scheduler/graph/edge_list_testing.h"
#include "scheduler/graph/throughput_bound.h"
#include "scheduler/lower/lower.h"
#include "scheduler/lp/lp_solver.h"

namespace mycel {
namespace {

struct Sample {
  std::string name;
  std::string inv_x;
};

/// Rows of expected.tsv with at most `ranks_max` ranks.
std::vector<Sample> Samples(int ranks_max) {
  std::ifstream file("tests/topologies/expected.tsv");
  std::string line;
  std::getline(file, line);
  std::vector<Sample> samples;
  while (std::getline(file, line)) {
    std::istringstream row(line);
    std::string name;
    int ranks = 0;
    std::string inv_x;
    row >> name >> ranks >> inv_x;
    if (ranks <= ranks_max) samples.push_back({name, inv_x});
  }
  EXPECT_GT(samples.size(), 15U);
  return samples;
}

Topology Load(const std::string& name) { return ReadTopologyFile("tests/topologies/" + name + ".json").value(); }

Rational Achieved(const Topology& topology, const PlanRequest& request) {
  const StatusOr<Schedule> schedule = ForestPlanner().MakeSchedule(topology, request);
  EXPECT_TRUE(schedule.ok()) << StatusMessage(schedule.status());
  if (!schedule.ok()) return Rational(0);
  const StatusOr<Plan> plan = Lower(*schedule, topology);
  EXPECT_TRUE(plan.ok()) << StatusMessage(plan.status());
  if (!plan.ok()) return Rational(0);
  const Status verified = Verify(*plan);
  EXPECT_TRUE(verified.ok()) << StatusMessage(verified);
  const StatusOr<LinkLoads> loads = ComputeLinkLoads(*plan, topology);
  EXPECT_TRUE(loads.ok()) << StatusMessage(loads.status());
  return loads.ok() ? loads->inv_x : Rational(0);
}

PlanRequest Request(Collective collective, int root = -1) {
  PlanRequest request;
  request.collective = collective;
  request.root = Rank(root);
  request.bytes = 1 << 26;
  return request;
}

TEST(Forest, AllGatherReachesTheOptimumOfEverySample) {
  for (const Sample& sample : Samples(64)) {
    SCOPED_TRACE(sample.name);
    EXPECT_EQ(Achieved(Load(sample.name), Request(Collective::kAllGather)).ToString(), sample.inv_x);
  }
}

TEST(Forest, EveryOtherCollectiveReachesItsOptimumOnTheSmallSamples) {
  for (const Sample& sample : Samples(16)) {
    SCOPED_TRACE(sample.name);
    const Topology topology = Load(sample.name);
    EXPECT_EQ(Achieved(topology, Request(Collective::kReduceScatter)), ReduceScatterOptimum(topology)->inv_x);
    EXPECT_EQ(Achieved(topology, Request(Collective::kBroadcast, 1)), BroadcastOptimum(topology, Rank(1))->inv_x);
    EXPECT_EQ(Achieved(topology, Request(Collective::kReduce, 2)), ReduceOptimum(topology, Rank(2))->inv_x);
    // The block of an allreduce is the whole vector of n shards.
    EXPECT_LE(Achieved(topology, Request(Collective::kAllReduce)) * Rational(topology.rank_count()),
              AllReduceOptimum(topology)->inv_x);
  }
}

TEST(Forest, TreesAreShortOnMachinesOfServers) {
  // Root, one rank of every other server, everybody: two hops wherever the ranks' own links are not all full.
  const std::map<std::string, int> hops = {{"dgx-a100", 1},    {"dgx-a100-x2", 5}, {"dgx-a100-x4", 2},
                                           {"dgx-a100-x8", 2}, {"dgx-h100-x2", 5}, {"dgx-h100-x16", 2},
                                           {"mi300x", 1},      {"fullmesh-8", 1},  {"dgx-h200-x8-rails", 2}};
  for (const auto& [name, most] : hops) {
    SCOPED_TRACE(name);
    const Topology topology = GalleryTopology(name).value();
    const std::vector<int64_t> weights(static_cast<size_t>(topology.rank_count()), 1);
    const StatusOr<SpanningForest> forest = PackSpanningForest(topology, weights, 0, false);
    ASSERT_TRUE(forest.ok()) << StatusMessage(forest.status());
    EXPECT_EQ(forest->inv_x, forest->optimum);
    for (const ForestTree& tree : forest->trees) {
      std::vector<int> depth(static_cast<size_t>(topology.rank_count()), 0);
      for (const ForestEdge& edge : tree.edges) {
        depth[edge.target.index()] = depth[edge.source.index()] + 1;
        EXPECT_LE(depth[edge.target.index()], most);
      }
    }
  }
}

TEST(Forest, ServersNeedNoNames) {
  const Topology named = GalleryTopology("dgx-a100-x4").value();
  TopologyBuilder builder("unnamed");
  for (const NodeId id : Ids<NodeId>(named.node_count())) {
    const Node& node = named.node(id);
    node.type == NodeType::kRank ? builder.AddRank(node.id, node.rank) : builder.AddSwitch(node.id);
  }
  for (const Link& link : named.links()) builder.AddLink(link.source, link.target, link.bandwidth);
  const Topology topology = std::move(builder).Build().value();
  const StatusOr<SpanningForest> forest = PackSpanningForest(topology, std::vector<int64_t>(32, 1), 0, false);
  ASSERT_TRUE(forest.ok()) << StatusMessage(forest.status());
  EXPECT_EQ(forest->inv_x.ToString(), "3/25");
  for (const ForestTree& tree : forest->trees) {
    std::vector<int> depth(32, 0);
    for (const ForestEdge& edge : tree.edges) {
      depth[edge.target.index()] = depth[edge.source.index()] + 1;
      EXPECT_LE(depth[edge.target.index()], 2);
    }
  }
}

TEST(Forest, FewTreesCostNoMoreThanTheBoundSays) {
  const std::map<std::string, std::string> one_tree = {
      {"ring8", "4/25"},        {"hypercube-3", "3/25"}, {"dgx1-v100", "3/50"},    {"dgx-a100-x2", "7/150"},
      {"dgx-h100-x2", "7/225"}, {"mi250", "3/50"},       {"mi250-8plus8", "2/25"}, {"torus-4x4", "4/25"}};
  for (const auto& [name, inv_x] : one_tree) {
    SCOPED_TRACE(name);
    PlanRequest request = Request(Collective::kAllGather);
    request.trees_per_root = 1;
    EXPECT_EQ(Achieved(Load(name), request).ToString(), inv_x);
  }
}

/// Union of random closed walks (switches stay balanced) over a few ranks and switches.
Topology BalancedTopology(Rng* rng) {
  const int ranks = static_cast<int>(2 + rng->Below(5));
  const int switches = static_cast<int>(rng->Below(3));
  TopologyBuilder builder("random");
  std::vector<NodeId> nodes;
  for (int r = 0; r < ranks; ++r) nodes.push_back(builder.AddRank("r" + std::to_string(r), Rank(r)));
  for (int s = 0; s < switches; ++s) nodes.push_back(builder.AddSwitch("w" + std::to_string(s)));
  std::map<std::pair<size_t, size_t>, int64_t> links;
  const auto walk = [&](std::vector<size_t> stops) {
    const auto amount = static_cast<int64_t>(1 + rng->Below(4));
    for (size_t i = 0; i < stops.size(); ++i) {
      const size_t next = stops[(i + 1) % stops.size()];
      if (stops[i] != next) links[{stops[i], next}] += amount;
    }
  };
  std::vector<size_t> everything(nodes.size());
  for (size_t i = 0; i < nodes.size(); ++i) everything[i] = i;
  walk(everything);
  for (uint64_t i = 0; i < 1 + rng->Below(5); ++i) {
    std::vector<size_t> stops;
    for (uint64_t k = 0; k < 2 + rng->Below(4); ++k) stops.push_back(rng->Below(nodes.size()));
    walk(stops);
  }
  for (const auto& [ends, amount] : links) builder.AddLink(nodes[ends.first], nodes[ends.second], Rational(amount));
  return std::move(builder).Build().value();
}

TEST(Forest, RandomGraphsReachTheirOptimum) {
  const uint64_t seed = 7;
  SCOPED_TRACE("seed " + std::to_string(seed));
  Rng rng(seed);
  for (int i = 0; i < 300; ++i) {
    const Topology topology = BalancedTopology(&rng);
    SCOPED_TRACE(WriteTopology(topology));
    EXPECT_EQ(Achieved(topology, Request(Collective::kAllGather)), AllGatherOptimum(topology)->inv_x);
    const int root = static_cast<int>(rng.Below(static_cast<uint64_t>(topology.rank_count())));
    EXPECT_EQ(Achieved(topology, Request(Collective::kReduce, root)), ReduceOptimum(topology, Rank(root))->inv_x);
    if (::testing::Test::HasFailure()) break;
  }
}

/// Servers of ranks around a switch or wired to each other, joined by one or more fabrics, some through NIC nodes;
/// rates, server sizes and the number of fabrics at random, every link the same both ways.
Topology RandomMachine(Rng* rng) {
  const auto servers = static_cast<int>(rng->Between(1, 5));
  const auto fabrics = static_cast<int>(rng->Between(1, 2));
  const bool equal = rng->OneIn(2);
  const bool through_nics = rng->OneIn(3);
  const int64_t usual_size = rng->Between(1, 5);
  const int64_t usual_inside = rng->Between(1, 12);
  const int64_t usual_outside = rng->Between(1, 6);
  TopologyBuilder builder("random machine");
  std::vector<NodeId> fabric_nodes;
  int ranks = 0;
  for (int f = 0; f < fabrics; ++f) fabric_nodes.push_back(builder.AddSwitch("fabric" + std::to_string(f)));
  for (int s = 0; s < servers; ++s) {
    const std::string server = "s" + std::to_string(s);
    const int64_t size = equal ? usual_size : rng->Between(1, 5);
    const Rational inside(equal ? usual_inside : rng->Between(1, 12), rng->OneIn(4) ? 2 : 1);
    const bool wired = rng->OneIn(3);
    const NodeId box = wired ? NodeId() : builder.AddSwitch("box" + std::to_string(s), server);
    std::vector<NodeId> members;
    for (int64_t i = 0; i < size; ++i) {
      members.push_back(builder.AddRank("r" + std::to_string(ranks), Rank(ranks), server));
      ++ranks;
      if (!wired) builder.AddDuplex(members.back(), box, inside);
      for (int64_t other = 0; wired && other < i; ++other) {
        builder.AddDuplex(members.back(), members[static_cast<size_t>(other)], inside);
      }
      const Rational outside(equal ? usual_outside : rng->Between(1, 6));
      const NodeId fabric = fabric_nodes[static_cast<size_t>(i % fabrics)];
      if (through_nics) {
        const NodeId nic = builder.AddSwitch("nic" + std::to_string(ranks), server);
        builder.AddDuplex(members.back(), nic, outside);
        builder.AddDuplex(nic, fabric, outside);
      } else {
        builder.AddDuplex(members.back(), fabric, outside);
      }
    }
  }
  return std::move(builder).Build().value();
}

TEST(Forest, RandomMachinesReachTheirOptimum) {
  const uint64_t seed = 20261130;
  SCOPED_TRACE("seed " + std::to_string(seed));
  Rng rng(seed);
  int connected = 0;
  for (int i = 0; i < 400; ++i) {
    const Topology topology = RandomMachine(&rng);
    if (!CheckConnected(topology).ok()) continue;
    ++connected;
    SCOPED_TRACE(WriteTopology(topology));
    EXPECT_EQ(Achieved(topology, Request(Collective::kAllGather)), AllGatherOptimum(topology)->inv_x);
    EXPECT_EQ(Achieved(topology, Request(Collective::kReduceScatter)), ReduceScatterOptimum(topology)->inv_x);
    PlanRequest few = Request(Collective::kAllGather);
    few.trees_per_root = static_cast<int32_t>(rng.Between(1, 3));
    EXPECT_GE(Achieved(topology, few), AllGatherOptimum(topology)->inv_x);
    const int root = static_cast<int>(rng.Below(static_cast<uint64_t>(topology.rank_count())));
    EXPECT_EQ(Achieved(topology, Request(Collective::kBroadcast, root)), BroadcastOptimum(topology, Rank(root))->inv_x);
    if (::testing::Test::HasFailure()) break;
  }
  EXPECT_GT(connected, 200);
}

TEST(Forest, WeightedRootsOfOracle) {
  const auto inverse = [](const std::string& name, const std::vector<int64_t>& weights) {
    const StatusOr<SpanningForest> forest = PackSpanningForest(Load(name), weights, 0, false);
    EXPECT_TRUE(forest.ok()) << StatusMessage(forest.status());
    return forest.ok() ? forest->inv_x.ToString() : "";
  };
  EXPECT_EQ(inverse("star-4-4-2-2", {1, 1, 2, 2}), "2");
  EXPECT_EQ(inverse("star-4-4-2-2", {2, 2, 1, 1}), "5/2");
  EXPECT_EQ(inverse("dgx1-v100", {1, 2, 3, 4, 5, 6, 7, 8}), "7/30");  // 35/6 at 25 GB/s a unit
}

TEST(Forest, SaysWhoIsCutOff) {
  TopologyBuilder builder("islands");
  const NodeId a = builder.AddRank("a", Rank(0));
  const NodeId b = builder.AddRank("b", Rank(1));
  const NodeId c = builder.AddRank("c", Rank(2));
  builder.AddDuplex(a, b, Rational(1));
  builder.AddLink(b, c, Rational(1));
  const Topology topology = std::move(builder).Build().value();
  const StatusOr<Schedule> schedule = ForestPlanner().MakeSchedule(topology, Request(Collective::kAllGather));
  EXPECT_EQ(schedule.status().code(), StatusCode::kUnimplemented);
  EXPECT_NE(StatusMessage(schedule.status()).find("c"), std::string::npos);
}

// Every refusal says what is wrong, where, and what would help.
TEST(Forest, BadInput) {
  struct Case {
    std::string graph;
    std::vector<int64_t> weights;
    int64_t trees;
    StatusCode code;
    std::vector<std::string> said;
  };
  std::string wide = "0>w:2 ";  // too large for the linear program that an unbalanced switch asks for
  for (int rank = 1; rank <= 5000; ++rank) {
    wide += "w>" + std::to_string(rank) + ":2 " + std::to_string(rank) + ">0:1 ";
  }
  std::vector<int64_t> only_zero(5001, 0);
  only_zero[0] = 1;
  const StatusCode impossible = StatusCode::kUnimplemented;
  const StatusCode bad = StatusCode::kInvalidArgument;
  const std::string prime =
      "0-1:288230376151711743 1-2:288230376151711717 2-3:288230376151711711 3-0:288230376151711687";
  const std::vector<Case> cases{
      {"0-1:1 2-3:1", {1, 1, 1, 1}, 0, impossible, {"nothing leads from ranks {2, 3} to ranks {0, 1}", "add a link"}},
      {"0-1:1 1>2:1", {1, 1, 1}, 0, impossible, {"nothing leads from ranks {2} to ranks {0, 1}"}},
      {"0-1:1 1>2:1", {0, 0, 1}, 2, impossible, {"nothing leads from ranks {2} to ranks {0, 1}"}},
      {"0-1:1 1-2:1", {0, 0, 0}, 0, bad, {"every rank's share is empty: nothing to plan"}},
      {"0-1:1 1-2:1", {1, -1, 0}, 0, bad, {"rank 1 has the weight -1; give 0 or more"}},
      {"0-1:1 1-2:1", {int64_t{1} << 62, 1, 0}, 0, bad, {"2^62", "give smaller ones"}},
      {"0-1:1/4611686018427387847 1-2:1/4611686018427387817 0-2:1",
       {1, 1, 1},
       0,
       bad,
       {"have no common unit in 62 bits", "link 1 -> 2 has 1/4611686018427387817 GB/s", "use rounder numbers"}},
      {"0-1:4611686018427387847 1-2:4611686018427387817", {1, 1, 1}, 0, bad, {"no common unit in 62 bits: link"}},
      {prime, {1, 1, 1, 1}, 0, bad, {"too fine, or too far apart", "round them in the topology file"}},
      {prime, {1, 1, 1, 1}, 5, bad, {"too fine, or too far apart", "round them in the topology file"}},
      {"0-1:1 1-2:3", {1, 1, 1}, int64_t{1} << 61, bad, {"for so many trees in 62 bits"}},
      {"0-1:1000000000 1-2:1", {1, 1, 1}, int64_t{1} << 50, bad, {"for so many trees in 62 bits"}},
      {wide,
       only_zero,
       0,
       impossible,
       {"cut bound of 1/2 ns a byte", "switch w (2 GB/s in, 10000 GB/s out)",
        LpSolver::Available() ? "10002 variables, more than 10000" : "coinor-libclp-dev",
        "make what enters the switch equal to what leaves it"}},
  };
  for (const Case& one : cases) {
    SCOPED_TRACE(one.graph.substr(0, 80));
    const Topology topology = EdgeList(one.graph);
    const Status refused = PackSpanningForest(topology, one.weights, one.trees, false).status();
    EXPECT_EQ(refused.code(), one.code) << refused;
    for (const std::string& said : one.said) EXPECT_THAT(StatusMessage(refused), ::testing::HasSubstr(said));
  }
  // In-trees: the switch is named as it is, not as it looks from behind.
  const Status refused = PackSpanningForest(Reversed(EdgeList(wide)), only_zero, 0, true).status();
  EXPECT_THAT(StatusMessage(refused), ::testing::HasSubstr("switch w (10000 GB/s in, 2 GB/s out)"));
}

TEST(Forest, OneRankAndTwo) {
  const Topology alone = GalleryTopology("ring1").value();
  const Topology pair = EdgeList("0-1:1 0-1:2 0>1:3 1>0:1 1>0:1 1>0:1");  // parallel links add up
  for (const Collective collective : {Collective::kAllGather, Collective::kReduceScatter, Collective::kAllReduce,
                                      Collective::kBroadcast, Collective::kReduce}) {
    SCOPED_TRACE(NameOf(collective));
    for (const int32_t trees : {0, 1, 3}) {
      PlanRequest request = Request(collective, InfoOf(collective).rooted ? 0 : -1);
      request.trees_per_root = trees;
      EXPECT_EQ(Achieved(alone, request), Rational(0));
      EXPECT_EQ(Achieved(pair, request), Rational(1, 6));
    }
  }
}

}  // namespace
}  // namespace mycel
