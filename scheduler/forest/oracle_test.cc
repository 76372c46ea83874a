// Known answers, as numbered in the notes on ForestColl that they come from: the optimum, the number of trees that
// reaches it, what one or two trees per root reach, allreduce, broadcast, uneven shards, clusters. All in exact
// fractions, and the forests themselves are checked against the links.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/base/rng.h"
#include "core/topo/gallery.h"
#include "scheduler/bound/bound.h"
#include "scheduler/forest/forest_testing.h"
#include "scheduler/forest/spanning_forest.h"
#include "scheduler/forest/tree_count.h"
#include "scheduler/graph/edge_list_testing.h"
#include "scheduler/graph/max_flow.h"
#include "scheduler/graph/rooted_cut.h"
#include "scheduler/graph/scaled_graph.h"
#include "scheduler/graph/throughput_bound.h"
#include "scheduler/lp/lp_solver.h"

namespace mycel {
namespace {

Rational R(const std::string& text) { return *Rational::Parse(text); }

std::string Wire(int64_t a, int64_t b, int64_t bandwidth = 1) {
  return std::to_string(a) + "-" + std::to_string(b) + ":" + std::to_string(bandwidth) + " ";
}

std::string Ring(int n) {
  std::string text;
  for (int i = 0; i < n; ++i) text += Wire(i, (i + 1) % n);
  return text;
}

std::string Complete(int n) {
  std::string text;
  for (int i = 0; i < n; ++i) {
    for (int j = i + 1; j < n; ++j) text += Wire(i, j);
  }
  return text;
}

std::string Hypercube(int dimensions) {
  std::string text;
  for (int i = 0; i < 1 << dimensions; ++i) {
    for (int d = 0; d < dimensions; ++d) {
      if ((i >> d & 1) == 0) text += Wire(i, i | 1 << d);
    }
  }
  return text;
}

std::string Grid(int rows, int columns, bool wraps) {
  std::string text;
  for (int r = 0; r < rows; ++r) {
    for (int c = 0; c < columns; ++c) {
      if (wraps || c + 1 < columns) text += Wire(r * columns + c, r * columns + (c + 1) % columns);
      if (wraps || r + 1 < rows) text += Wire(r * columns + c, (r + 1) % rows * columns + c);
    }
  }
  return text;
}

/// `boxes` of `ranks` ranks, each rank with `inner` to its box's switch and, if there are several, `outer` to a common
/// one.
std::string Boxes(int boxes, int ranks, int64_t inner, int64_t outer) {
  std::string text;
  for (int i = 0; i < boxes * ranks; ++i) {
    text += std::to_string(i) + "-nvs" + std::to_string(i / ranks) + ":" + std::to_string(inner) + " ";
    if (boxes > 1) text += std::to_string(i) + "-ib:" + std::to_string(outer) + " ";
  }
  return text;
}

const std::string kStar = "0-w:4 1-w:4 2-w:2 3-w:2";
const std::string kDgx1 =
    "0-1:1 0-2:1 0-3:2 0-4:2 1-2:2 1-3:1 1-5:2 2-3:2 2-6:1 3-7:1 4-5:1 4-6:1 4-7:2 5-6:2 5-7:1 6-7:2";
const std::string kHetero =
    "0-nvs:300 1-nvs:300 2-nvs:300 3-nvs:300 0-ib:25 1-ib:25 2-ib:25 3-ib:25 "
    "4-pcie:32 5-pcie:32 6-pcie:32 7-pcie:32 pcie-ib:25";
const std::string kHetero2 = "0-1:2 0-2:2 0-3:2 1-2:2 1-3:2 2-3:2 4-5:3 0-ib:2 2-ib:2 4-ib:1 5-ib:1";

/// A gallery name or an edge list.
Topology Graph(const std::string& text) {
  if (text.find(':') != std::string::npos) return EdgeList(text);
  StatusOr<Topology> topology = GalleryTopology(text);
  EXPECT_TRUE(topology.ok()) << topology.status();
  return *std::move(topology);
}

struct Oracle {
  std::string name;
  std::string graph;  // see Graph
  int ranks;
  std::string inv_x;
  int64_t trees;      // k of gcd(q, capacities), which always works
  int64_t trees_min;  // the smallest k that works
  std::string scale;  // U: the busiest link of bandwidth b carries U b of these trees
  std::string algbw;
  std::map<int, std::string> scale_of;  // the least U of so many trees per root
  std::vector<std::string> complement;  // a smallest set whose complement is tight; switches only if they matter
  std::string allreduce;                // algbw of the linear program, "" if not known
  std::string in_turn;                  // algbw of reduce-scatter, then allgather
};

/// Ranks joined to ranks.
std::vector<Oracle> Direct() {
  const std::vector<std::string> any_rank{"0"};
  return {
      {"O-1", "0>1:1 1>2:1 2>3:1 3>0:1", 4, "3", 1, 1, "3", "4/3", {{1, "3"}}, any_rank, "2/3", "2/3"},
      {"O-2", Ring(5), 5, "2", 1, 1, "2", "5/2", {{1, "2"}}, any_rank, "5/4", "5/4"},
      {"O-3", Ring(8), 8, "7/2", 2, 2, "7", "16/7", {{1, "4"}}, any_rank, "8/7", "8/7"},
      {"O-4 n=4", Complete(4), 4, "1", 1, 1, "1", "4", {{1, "1"}}, any_rank, "2", "2"},
      {"O-4 n=8", Complete(8), 8, "1", 1, 1, "1", "8", {{1, "1"}}, any_rank, "4", "4"},
      {"O-5", Hypercube(3), 8, "7/3", 3, 3, "7", "24/7", {{1, "3"}, {2, "5"}}, any_rank, "12/7", "12/7"},
      {"O-6", Hypercube(4), 16, "15/4", 4, 4, "15", "64/15", {{1, "4"}, {2, "8"}}, any_rank, "", "32/15"},
      {"O-7", Grid(3, 3, true), 9, "2", 1, 1, "2", "9/2", {{1, "2"}}, any_rank, "9/4", "9/4"},
      {"O-8", Grid(4, 4, true), 16, "15/4", 4, 4, "15", "64/15", {{1, "4"}}, any_rank, "32/15", "32/15"},
      {"O-9", Grid(2, 3, false), 6, "5/2", 2, 2, "5", "12/5", {{1, "3"}}, {"0"}, "7/5", "6/5"},
      {"O-10", Grid(3, 3, false), 9, "4", 1, 1, "4", "9/4", {{1, "4"}}, {"8"}, "3/2", "9/8"},
  };
}

/// Switches, one-way links, mixed fabrics, and one machine of ranks joined to ranks.
std::vector<Oracle> Switched() {
  const std::vector<std::string> any_rank{"0"};
  return {
      {"O-11", "0-w:1 1-w:1 2-w:1 3-w:1", 4, "3", 1, 1, "3", "4/3", {{1, "3"}}, any_rank, "2/3", "2/3"},
      {"O-12", "0-w:10 1-w:10 2-w:1", 3, "2", 1, 1, "2", "3/2", {{1, "2"}}, {"2"}, "1", "3/4"},
      {"O-13", kStar, 4, "3/2", 1, 1, "3/2", "8/3", {{1, "3/2"}}, {"3"}, "2", "4/3"},
      {"O-14", kDgx1, 8, "7/6", 6, 6, "7", "48/7", {{1, "3/2"}, {2, "5/2"}}, any_rank, "24/7", "24/7"},
      {"O-15", Boxes(2, 4, 10, 1), 8, "1", 1, 1, "1", "8", {{1, "1"}}, {"0", "1", "2", "3", "nvs0", "ib"}, "4", "4"},
      {"O-16", Boxes(1, 8, 300, 0), 8, "7/300", 1, 1, "7/300", "2400/7", {{1, "7/300"}}, any_rank, "1200/7", "1200/7"},
      {"O-17", Boxes(2, 8, 300, 25), 16, "3/65", 13, 13, "3/5", "1040/3", {{1, "7/150"}}, any_rank, "520/3", "520/3"},
      {"O-18", Boxes(2, 8, 450, 50), 16, "3/100", 2, 2, "3/50", "1600/3", {{1, "7/225"}}, any_rank, "800/3", "800/3"},
      {"O-19", "0>1:3 1>2:2 1>0:1 2>3:2 2>0:1 3>0:2 0>2:1", 4, "3/2", 2, 1, "3", "8/3", {{1, "3/2"}}, {"3"}, "", "4/3"},
      {"O-20",
       "0>w:4 w>1:3 w>2:2 1>w:1 1>2:2 2>0:4",
       3,
       "2/3",
       3,
       2,
       "2",
       "9/2",
       {{1, "3/4"}, {2, "4/3"}},
       {"1"},
       "",
       "9/4"},
      {"O-21",
       Leaves(3, 4, 2, 1, 1),
       12,
       "8",
       1,
       1,
       "8",
       "3/2",
       {{1, "8"}},
       {"0", "1", "2", "3", "leaf0"},
       "3/4",
       "3/4"},
      {"O-22", Leaves(4, 2, 2, 2, 1), 8, "7/2", 2, 1, "7", "16/7", {{1, "7/2"}}, any_rank, "", "8/7"},
      {"O-23", kHetero, 8, "7/32", 32, 1, "7", "256/7", {{1, "7/32"}}, {"4"}, "153/8", "128/7"},
      {"O-24", kHetero2, 6, "2", 1, 1, "2", "3", {{1, "2"}}, {"4", "5"}, "2", "3/2"},
  };
}

/// Vendors' machines.
std::vector<Oracle> Machines() {
  return {
      {"O-25",
       "mi250",
       16,
       "7/150",
       3,
       3,
       "7/50",
       "2400/7",
       {{1, "3/50"}, {2, "1/10"}},
       {"gpu14", "gpu15"},
       "1200/7",
       "1200/7"},
      {"O-26", "mi250-8plus8", 16, "1/13", 13, 13, "1", "208", {{1, "2/25"}}, {"gpu2", "gpu3"}, "128", "104"},
      {"O-27",
       "mi250-x2",
       32,
       "15/166",
       83,
       83,
       "15/2",
       "5312/15",
       {{1, "1/10"}, {2, "3/16"}},
       {"gpu14", "gpu15"},
       "2656/15",
       "2656/15"},
      {"O-28",
       "dgx-a100-x4",
       32,
       "3/25",
       1,
       1,
       "3/25",
       "800/3",
       {{1, "3/25"}},
       {"gpu0", "gpu1", "gpu2", "gpu3", "gpu4", "gpu5", "gpu6", "gpu7", "nvsw0"},
       "400/3",
       "400/3"},
      {"O-29",
       "dgx-h100-x4",
       32,
       "31/500",
       10,
       10,
       "31/50",
       "16000/31",
       {{1, "14/225"}},
       {"gpu0"},
       "8000/31",
       "8000/31"},
  };
}

std::vector<Oracle> Oracles() {
  std::vector<Oracle> all = Direct();
  for (const std::vector<Oracle>& more : {Switched(), Machines()}) all.insert(all.end(), more.begin(), more.end());
  return all;
}

std::vector<int64_t> Ones(const Topology& topology) {
  return std::vector<int64_t>(static_cast<size_t>(topology.rank_count()), 1);
}

SpanningForest Pack(const Topology& topology, const std::vector<int64_t>& weights, int64_t trees = 0,
                    bool reversed = false) {
  const StatusOr<SpanningForest> forest = PackSpanningForest(topology, weights, trees, reversed);
  EXPECT_TRUE(forest.ok()) << forest.status();
  if (!forest.ok()) return {};
  CheckForest(topology, weights, *forest, reversed);
  return *forest;
}

TEST(Oracle, TheOptimumAndTheTreesThatReachIt) {
  for (const Oracle& oracle : Oracles()) {
    SCOPED_TRACE(oracle.name);
    const Topology topology = Graph(oracle.graph);
    ASSERT_EQ(topology.rank_count(), oracle.ranks);
    const Optimum optimum = *AllGatherOptimum(topology);
    EXPECT_EQ(optimum.inv_x, R(oracle.inv_x));
    EXPECT_EQ(optimum.kind, BoundKind::kOptimum);
    EXPECT_EQ(Rational(oracle.ranks) / optimum.inv_x, R(oracle.algbw));
    EXPECT_EQ(R(oracle.scale) / Rational(oracle.trees), R(oracle.inv_x));
    const SpanningForest forest = Pack(topology, Ones(topology));
    EXPECT_EQ(forest.inv_x, optimum.inv_x);
    EXPECT_EQ(forest.optimum, optimum.inv_x);
    EXPECT_EQ(forest.trees_per_weight, oracle.trees_min);
    EXPECT_EQ(Pack(topology, Ones(topology), oracle.trees).inv_x, optimum.inv_x);
    for (const auto& [trees, scale] : oracle.scale_of) {
      EXPECT_EQ(Pack(topology, Ones(topology), trees).inv_x * Rational(trees), R(scale)) << trees << " trees per root";
    }
  }
}

TEST(Oracle, TheBottleneck) {
  for (const Oracle& oracle : Oracles()) {
    SCOPED_TRACE(oracle.name);
    const Topology topology = Graph(oracle.graph);
    std::vector<bool> outside(static_cast<size_t>(topology.node_count()), false);
    for (const NodeId node : Ids<NodeId>(topology.node_count())) {
      const auto& names = oracle.complement;
      outside[node.index()] = std::find(names.begin(), names.end(), topology.node(node).id) != names.end();
    }
    const auto tightness = [&](const std::vector<bool>& out) {
      int64_t ranks = 0;
      for (const Rank rank : Ids<Rank>(topology.rank_count())) ranks += out[topology.NodeOf(rank).index()] ? 0 : 1;
      Rational capacity;
      for (const Link& link : topology.links()) {
        if (!out[link.source.index()] && out[link.target.index()]) capacity += link.bandwidth;
      }
      return Rational(ranks) / capacity;
    };
    EXPECT_EQ(tightness(outside), R(oracle.inv_x));
    if (topology.node_count() > 16) continue;
    // No set with fewer ranks is as tight.
    int64_t ranks_out = 0;
    for (const Rank rank : Ids<Rank>(topology.rank_count()))
      ranks_out += outside[topology.NodeOf(rank).index()] ? 1 : 0;
    for (uint32_t set = 1; set < uint32_t{1} << topology.node_count(); ++set) {
      int64_t ranks = 0;
      for (const Rank rank : Ids<Rank>(topology.rank_count())) ranks += set >> topology.NodeOf(rank).value() & 1;
      if (ranks == 0 || ranks >= ranks_out) continue;
      for (size_t node = 0; node < outside.size(); ++node) outside[node] = (set >> node & 1) != 0;
      EXPECT_LT(tightness(outside), R(oracle.inv_x)) << "node set " << set;
    }
  }
}

TEST(Oracle, AllReduceAndItsTwoHalves) {
  for (const Oracle& oracle : Oracles()) {
    SCOPED_TRACE(oracle.name);
    const Topology topology = Graph(oracle.graph);
    const StatusOr<AllReduceBound> bound = AllReduceBoundOf(topology);
    ASSERT_TRUE(bound.ok()) << bound.status();
    EXPECT_EQ(Rational(oracle.ranks) / bound->in_turn, R(oracle.in_turn));
    if (oracle.allreduce.empty()) continue;
    // Groups prove some of these without the linear program.
    if (!LpSolver::Available() && bound->optimum.kind != BoundKind::kOptimum) continue;
    EXPECT_EQ(Rational(oracle.ranks) / bound->optimum.inv_x, R(oracle.allreduce));
  }
}

TEST(Oracle, ReduceScatterIsTheMirror) {
  for (const Oracle& oracle : Oracles()) {
    SCOPED_TRACE(oracle.name);
    const Topology topology = Graph(oracle.graph);
    // In all of these as much leaves every node as enters it, so that each cut is as narrow both ways.
    EXPECT_EQ(ReduceScatterOptimum(topology)->inv_x, R(oracle.inv_x));
    EXPECT_EQ(Pack(topology, Ones(topology), 0, true).inv_x, R(oracle.inv_x));
  }
}

// Every number of trees per root that somebody measured: algbw.
TEST(Oracle, FixedNumbersOfTrees) {
  const std::vector<std::tuple<std::string, std::string, std::map<int, std::string>>> curves{
      {"A100 x2",
       Boxes(2, 8, 300, 25),
       {{1, "2400/7"},
        {2, "2400/7"},
        {3, "2400/7"},
        {4, "2400/7"},
        {5, "2400/7"},
        {6, "2400/7"},
        {7, "33600/97"},
        {8, "12800/37"},
        {10, "48000/139"},
        {13, "1040/3"}}},
      {"MI250 2x16",
       "mi250-x2",
       {{1, "320"},
        {2, "1024/3"},
        {3, "2400/7"},
        {4, "1024/3"},
        {5, "8000/23"},
        {7, "350"},
        {9, "14400/41"},
        {11, "352"},
        {13, "20800/59"},
        {83, "5312/15"}}},
      {"MI250 1x16", "mi250", {{1, "800/3"}, {2, "320"}, {3, "2400/7"}}},
      {"MI250 2x8", "mi250-8plus8", {{1, "200"}, {2, "200"}, {13, "208"}}},
      {"DGX-1 V100", kDgx1, {{1, "16/3"}, {2, "32/5"}, {6, "48/7"}}},
  };
  for (const auto& [name, graph, curve] : curves) {
    const Topology topology = Graph(graph);
    for (const auto& [trees, algbw] : curve) {
      EXPECT_EQ(Rational(topology.rank_count()) / Pack(topology, Ones(topology), trees).inv_x, R(algbw))
          << name << ", " << trees << " trees per root";
    }
  }
}

TEST(Oracle, Broadcast) {
  const auto x = [](const std::string& graph, size_t root) {
    const Topology topology = Graph(graph);
    std::vector<int64_t> weights(static_cast<size_t>(topology.rank_count()), 0);
    weights[root] = 1;
    const SpanningForest forest = Pack(topology, weights);
    EXPECT_EQ(forest.inv_x, BroadcastOptimum(topology, Rank(static_cast<int64_t>(root)))->inv_x);
    EXPECT_EQ(Pack(topology, weights, 0, true).inv_x, forest.inv_x) << "reduce, on a duplex graph";
    return Rational(1) / forest.inv_x;
  };
  for (size_t root = 0; root < 8; ++root) EXPECT_EQ(x(kDgx1, root), Rational(6));
  for (size_t root = 0; root < 6; ++root) EXPECT_EQ(x(kHetero2, root), Rational(2));
  EXPECT_EQ(x(Grid(3, 3, false), 4), Rational(2));
  EXPECT_EQ(x(Grid(3, 3, false), 0), Rational(2));
  EXPECT_EQ(x(Boxes(2, 8, 300, 25), 3), Rational(200));
  EXPECT_EQ(x(kStar, 0), Rational(2));
  EXPECT_EQ(x(kStar, 3), Rational(2));
}

TEST(Oracle, UnevenShares) {
  const auto inv_x = [](const std::string& graph, const std::vector<int64_t>& weights) {
    return Pack(Graph(graph), weights).inv_x;
  };
  EXPECT_EQ(inv_x(kDgx1, {1, 2, 3, 4, 5, 6, 7, 8}), R("35/6"));  // 216/35 together
  EXPECT_EQ(inv_x(kStar, {1, 1, 2, 2}), Rational(2));
  EXPECT_EQ(inv_x(kStar, {2, 2, 1, 1}), R("5/2"));
  EXPECT_EQ(inv_x(Boxes(2, 8, 300, 25), {1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0}), R("1/25"));
}

TEST(Oracle, Clusters) {
  // 1/x* and the smallest number of trees, of up to 1,024 ranks; counted, not packed.
  struct Row {
    int boxes;
    std::string inv_x;
    int64_t trees;
  };
  const auto check = [](const std::string& name, const std::vector<Row>& rows) {
    for (const auto& [boxes, inv_x, trees] : rows) {
      const std::string gallery = name + (boxes > 1 ? "-x" + std::to_string(boxes) : "");
      SCOPED_TRACE(gallery);
      const Topology topology = *GalleryTopology(gallery);
      EXPECT_EQ(AllGatherOptimum(topology)->inv_x, R(inv_x));
      const ScaledGraph graph = *ScaleCapacities(topology);
      const StatusOr<TreeRates> rates = FullRates(graph, R(inv_x) * *graph.Bandwidth(1));
      ASSERT_TRUE(rates.ok()) << rates.status();
      const StatusOr<TreeCount> count = ExactTreeCount(graph, Ones(topology), *rates);
      ASSERT_TRUE(count.ok()) << count.status();
      EXPECT_EQ(count->trees_per_weight, trees);
    }
  };
  check("dgx-a100", {{1, "7/300", 1},
                     {2, "3/65", 13},
                     {3, "2/25", 1},
                     {4, "3/25", 1},
                     {8, "7/25", 1},
                     {16, "3/5", 1},
                     {32, "31/25", 1},
                     {64, "63/25", 1},
                     {128, "127/25", 1}});
  check("dgx-h100", {{1, "7/450", 1},
                     {2, "3/100", 2},
                     {3, "23/500", 10},
                     {4, "31/500", 10},
                     {8, "7/50", 1},
                     {16, "3/10", 1},
                     {32, "31/50", 1},
                     {64, "63/50", 1},
                     {128, "127/50", 1}});
  check("mi250",
        {{1, "7/150", 3}, {2, "15/166", 83}, {3, "23/166", 83}, {4, "3/16", 3}, {8, "7/16", 1}, {16, "15/16", 1}});
}

TEST(Oracle, AnOversubscribedLeafBindsOnlyWhenItsUplinkIsVeryThin) {
  // m of N ranks on a leaf whose uplink is 1/r of its downlinks: it binds if r (N - m) / m > N - 1, here r > 5.5.
  EXPECT_EQ(Pack(EdgeList(Leaves(3, 4, 60, 1, 48)), std::vector<int64_t>(12, 1)).inv_x, R("11/60"));
  EXPECT_EQ(Pack(EdgeList(Leaves(3, 4, 60, 1, 40)), std::vector<int64_t>(12, 1)).inv_x, R("1/5"));
}

TEST(Oracle, CapacitiesThatBreakDoubles) {
  const Topology topology = EdgeList(Boxes(4, 3, 30000001, 1000003));
  const SpanningForest forest = Pack(topology, Ones(topology));
  EXPECT_EQ(forest.inv_x, R("3/1000003"));
  EXPECT_EQ(Pack(topology, Ones(topology), 1000003).inv_x * Rational(1000003), Rational(3));
}

// How much of u -> w -> t may be split off: ForestColl's formula with two families of flows, and ours with one look at
// the graph after splitting (graph/edge_splitting.cc) agree.
TEST(Oracle, SplittingByDeficitIsSplittingByFlows) {
  const uint64_t seed = 20250313;
  SCOPED_TRACE("seed " + std::to_string(seed));
  Rng rng(seed);
  int compared = 0;
  int partial = 0;
  constexpr int64_t kInfinite = int64_t{1} << 40;
  for (int round = 0; round < 3000 && !::testing::Test::HasFailure(); ++round) {
    // Closed walks over up to 4 ranks and 2 switches; every node is balanced.
    const auto ranks = static_cast<int32_t>(rng.Between(2, 4));
    const auto nodes = ranks + static_cast<int32_t>(rng.Between(1, 2));
    CapacityGraph graph(nodes);
    for (int64_t walks = rng.Between(2, 5); walks > 0; --walks) {
      std::vector<int32_t> stops;
      for (int64_t i = rng.Between(2, 5); i > 0; --i) stops.push_back(static_cast<int32_t>(rng.Between(0, nodes - 1)));
      const int64_t amount = rng.Between(1, 3);
      for (size_t i = 0; i < stops.size(); ++i) {
        const int32_t next = stops[(i + 1) % stops.size()];
        if (stops[i] != next) graph.Add(stops[i], next, amount);
      }
    }
    const int64_t k = rng.Between(1, 2);
    std::vector<int32_t> sinks;
    std::vector<int64_t> roots(static_cast<size_t>(nodes), 0);
    for (int32_t rank = 0; rank < ranks; ++rank) {
      sinks.push_back(rank);
      roots[static_cast<size_t>(rank)] = k;
    }
    if (!RootedCut(graph, roots, sinks).Feasible()) continue;
    const int32_t s = nodes;
    // Value of a flow in the graph with edges from s, and `more` edges without end.
    const auto flow = [&](int32_t from, int32_t to, const std::vector<std::pair<int32_t, int32_t>>& more) {
      MaxFlow<int64_t> network(nodes + 1);
      for (int32_t node = 0; node < nodes; ++node) {
        for (const auto& [target, capacity] : graph.Out(node)) network.AddEdge(node, target, capacity);
        if (node < ranks) network.AddEdge(s, node, k);
      }
      for (const auto& [a, b] : more) {
        if (a != b) network.AddEdge(a, b, kInfinite);
      }
      network.MarkSource(from);
      return network.Run(to, kInfinite);
    };
    const int32_t w = ranks;
    for (const auto& [u, in] : graph.In(w)) {
      for (const auto& [t, out] : graph.Out(w)) {
        if (u == t) continue;
        const int64_t all = ranks * k;
        const int64_t most = std::min(in, out);
        int64_t by_flows = most;
        for (int32_t v = 0; v < ranks; ++v) {
          if (v != u && v != t) by_flows = std::min(by_flows, flow(u, w, {{u, s}, {u, t}, {v, w}}) - all);
          by_flows = std::min(by_flows, flow(w, t, {{w, s}, {u, t}, {v, t}}) - all);
        }
        CapacityGraph split = graph;
        split.Add(u, w, -most);
        split.Add(w, t, -most);
        split.Add(u, t, most);
        const int64_t reached = RootedCut(split, roots, sinks).MinFlow(0);
        const int64_t by_deficit = std::max<int64_t>(0, most - (all - reached));
        EXPECT_EQ(by_deficit, std::max<int64_t>(0, by_flows)) << u << " " << w << " " << t;
        ++compared;
        partial += by_deficit > 0 && by_deficit < most ? 1 : 0;
      }
    }
  }
  EXPECT_GT(compared, 1000);
  EXPECT_GT(partial, 20);
}

}  // namespace
}  // namespace mycel
