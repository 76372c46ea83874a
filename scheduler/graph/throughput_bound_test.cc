#include "scheduler/graph/throughput_bound.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ctime>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "core/base/int128.h"
#include "core/topo/gallery.h"
#include "scheduler/graph/edge_list_testing.h"
#include "scheduler/graph/scaled_graph.h"

namespace mycel {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

Rational R(std::string_view text) { return *Rational::Parse(text); }

Rational BandwidthLeaving(const Topology& topology, const std::vector<NodeId>& cut) {
  const auto inside = [&cut](NodeId node) { return std::binary_search(cut.begin(), cut.end(), node); };
  Rational sum;
  for (const Link& link : topology.links()) {
    if (inside(link.source) && !inside(link.target)) sum += link.bandwidth;
  }
  return sum;
}

// A certificate proves the number by itself: so many bytes have to leave these nodes, over this bandwidth.
void ExpectCertified(const Topology& topology, const Optimum& optimum) {
  ASSERT_FALSE(optimum.cut.empty());
  EXPECT_EQ(optimum.cut_bandwidth, BandwidthLeaving(topology, optimum.cut));
  EXPECT_EQ(optimum.lower_bound, Rational(optimum.cut_demand) / optimum.cut_bandwidth);
  EXPECT_FALSE(optimum.proof.empty());
}

int64_t RanksIn(const Topology& topology, const std::vector<NodeId>& cut) {
  return std::count_if(cut.begin(), cut.end(),
                       [&](NodeId node) { return topology.node(node).type == NodeType::kRank; });
}

Rational AllGather(const Topology& topology) {
  const auto optimum = AllGatherOptimum(topology);
  EXPECT_TRUE(optimum.ok()) << optimum.status();
  ExpectCertified(topology, *optimum);
  EXPECT_EQ(optimum->cut_demand, RanksIn(topology, optimum->cut));
  EXPECT_LT(optimum->cut_demand, topology.rank_count());
  return optimum->inv_x;
}

TEST(ThroughputBoundTest, MatchesEveryRowOfTheSamples) {
  std::ifstream file("tests/topologies/expected.tsv");
  std::string line;
  std::getline(file, line);
  int rows = 0;
  while (std::getline(file, line)) {
    std::istringstream fields(line);
    std::string name, inv_x;
    int32_t ranks = 0;
    double algbw = 0;
    fields >> name >> ranks >> inv_x >> algbw;
    for (const std::string& source : {name, "tests/topologies/" + name + ".json"}) {
      const auto topology = LoadTopology(source);
      ASSERT_TRUE(topology.ok()) << topology.status();
      EXPECT_EQ(topology->rank_count(), ranks);
      const Rational found = AllGather(*topology);
      EXPECT_EQ(found.ToString(), inv_x) << source;
      EXPECT_NEAR(AlgorithmBandwidthGBps(Collective::kAllGather, ranks, found), algbw, algbw * 1e-5);
      // All samples are duplex, so nothing changes in the mirror.
      const auto mirrored = ReduceScatterOptimum(*topology);
      ASSERT_TRUE(mirrored.ok());
      EXPECT_EQ(mirrored->inv_x, found);
      ExpectCertified(*topology, *mirrored);
      EXPECT_EQ(mirrored->kind, BoundKind::kOptimum);
    }
    ++rows;
  }
  EXPECT_EQ(rows, 23);
}

struct Oracle {
  std::string name;
  std::string graph;  // a gallery name or an edge list
  std::string inv_x;
};

Topology GraphOf(const std::string& text) {
  return text.find(':') == std::string::npos ? *GalleryTopology(text) : EdgeList(text);
}

std::string Complete(int n) {
  std::string text;
  for (int i = 0; i < n; ++i) {
    for (int j = i + 1; j < n; ++j) text += std::to_string(i) + "-" + std::to_string(j) + ":1 ";
  }
  return text;
}

// `boxes` of `ranks` ranks, each rank with `inner` to its box's switch and `outer` to a common one.
std::string Boxes(int boxes, int ranks, int64_t inner, int64_t outer) {
  std::string text;
  for (int i = 0; i < boxes * ranks; ++i) {
    text += std::to_string(i) + "-nvs" + std::to_string(i / ranks) + ":" + std::to_string(inner) + " ";
    text += std::to_string(i) + "-ib:" + std::to_string(outer) + " ";
  }
  return text;
}

const std::string kDgx1 =
    "0-1:1 0-2:1 0-3:2 0-4:2 1-2:2 1-3:1 1-5:2 2-3:2 2-6:1 3-7:1 4-5:1 4-6:1 4-7:2 5-6:2 5-7:1 6-7:2";
const std::string kHetero2 = "0-1:2 0-2:2 0-3:2 1-2:2 1-3:2 2-3:2 4-5:3 0-ib:2 2-ib:2 4-ib:1 5-ib:1";
const std::string kStar = "0-w:4 1-w:4 2-w:2 3-w:2";

// Known optima of all the kinds of fabric, numbered as in the literature notes they come from.
TEST(ThroughputBoundTest, MatchesTheOracleTable) {
  const std::vector<Oracle> oracles{
      {"O-1", "0>1:1 1>2:1 2>3:1 3>0:1", "3"},
      {"O-2", "0-1:1 1-2:1 2-3:1 3-4:1 4-0:1", "2"},
      {"O-3", "0-1:1 1-2:1 2-3:1 3-4:1 4-5:1 5-6:1 6-7:1 7-0:1", "7/2"},
      {"O-4 n=4", Complete(4), "1"},
      {"O-4 n=8", Complete(8), "1"},
      {"O-5", "hypercube-3", "7/75"},
      {"O-6", "hypercube-4", "15/100"},
      {"O-7", "torus-3x3", "2/25"},
      {"O-8", "torus-4x4", "15/100"},
      {"O-9", "mesh-2x3", "5/2"},
      {"O-10", "mesh-3x3", "4"},
      {"O-11", "0-w:1 1-w:1 2-w:1 3-w:1", "3"},
      {"O-12", "0-w:10 1-w:10 2-w:1", "2"},
      {"O-13", kStar, "3/2"},
      {"O-14", kDgx1, "7/6"},
      {"O-15", Boxes(2, 4, 10, 1), "1"},
      {"O-16", "dgx-a100", "7/300"},
      {"O-17", Boxes(2, 8, 300, 25), "3/65"},
      {"O-18", "dgx-h100-x2", "3/100"},
      {"O-19", "0>1:3 1>2:2 1>0:1 2>3:2 2>0:1 3>0:2 0>2:1", "3/2"},
      {"O-20", "0>w:4 w>1:3 w>2:2 1>w:1 1>2:2 2>0:4", "2/3"},
      {"O-21", Leaves(3, 4, 2, 1, 1), "8"},
      {"O-22", Leaves(4, 2, 2, 2, 1), "7/2"},
      {"O-23",
       "0-nvs:300 1-nvs:300 2-nvs:300 3-nvs:300 0-ib:25 1-ib:25 2-ib:25 3-ib:25 "
       "4-pcie:32 5-pcie:32 6-pcie:32 7-pcie:32 pcie-ib:25",
       "7/32"},
      {"O-24", kHetero2, "2"},
      {"O-25", "mi250", "7/150"},
      {"O-26", "mi250-8plus8", "1/13"},
      {"O-27", "mi250-x2", "15/166"},
      {"O-28", "dgx-a100-x4", "3/25"},
      {"O-29", "dgx-h100-x4", "31/500"},
      // Clusters, and the capacities that break doubles.
      {"A100 x3", "dgx-a100-x3", "2/25"},
      {"A100 x128", "dgx-a100-x128", "127/25"},
      {"H100 x3", "dgx-h100-x3", "23/500"},
      {"H100 x128", "dgx-h100-x128", "127/50"},
      {"MI250 x3", "mi250-x3", "23/166"},
      {"MI250 x16", "mi250-x16", "15/16"},
      {"wide", Boxes(4, 3, 30000001, 1000003), "3/1000003"},
  };
  for (const Oracle& oracle : oracles) EXPECT_EQ(AllGather(GraphOf(oracle.graph)), R(oracle.inv_x)) << oracle.name;
}

// More leaves the switch than enters it, so that reaching every cut would take copies made by the switch.
TEST(ThroughputBoundTest, UnbalancedSwitchesMakeItABoundOnly) {
  const Topology topology = EdgeList("0>w:2 w>1:2 w>2:2 1>0:4 2>0:4");
  const auto optimum = BroadcastOptimum(topology, Rank(0));
  EXPECT_EQ(optimum->inv_x, R("1/2"));
  EXPECT_EQ(optimum->kind, BoundKind::kLowerBound);
  EXPECT_THAT(optimum->proof, HasSubstr("may not reach that, since a switch has unequal ingress and egress"));
  EXPECT_EQ(AllGatherOptimum(topology)->kind, BoundKind::kLowerBound);
  EXPECT_NE(AllReduceOptimum(topology)->kind, BoundKind::kOptimum);
  EXPECT_EQ(GatherOptimum(topology, Rank(0))->kind, BoundKind::kOptimum);
}

TEST(ThroughputBoundTest, ProofsNameTheSmallerSide) {
  EXPECT_EQ(
      AllGatherOptimum(EdgeList("0-w:10 1-w:10 2-w:1"))->proof,
      "2 shards must enter {2} over 1 GB/s: no schedule needs less than 2 ns a byte, and pipelined spanning trees "
      "reach that");
  EXPECT_THAT(
      AllGatherOptimum(*GalleryTopology("dgx-a100-x4"))->proof,
      AllOf(HasSubstr("24 shards must enter {gpu"), HasSubstr("(9 nodes) over 200 GB/s: no schedule needs less")));
  EXPECT_THAT(ReduceScatterOptimum(EdgeList("0-w:10 1-w:10 2-w:1"))->proof,
              HasSubstr("2 reduced shards must leave {2} over 1 GB/s"));
  EXPECT_THAT(BroadcastOptimum(EdgeList("0-w:10 1-w:10 2-w:1"), Rank(0))->proof,
              HasSubstr("1 message must enter {2} over 1 GB/s"));
}

TEST(ThroughputBoundTest, Broadcast) {
  const auto broadcast = [](const Topology& topology, int root) {
    const auto optimum = BroadcastOptimum(topology, Rank(root));
    EXPECT_TRUE(optimum.ok()) << optimum.status();
    ExpectCertified(topology, *optimum);
    EXPECT_EQ(ReduceOptimum(topology, Rank(root))->inv_x, optimum->inv_x);  // all graphs here are duplex
    ExpectCertified(topology, *ReduceOptimum(topology, Rank(root)));
    return optimum->inv_x;
  };
  for (int root = 0; root < 8; ++root) EXPECT_EQ(broadcast(EdgeList(kDgx1), root), R("1/6"));
  for (int root = 0; root < 6; ++root) EXPECT_EQ(broadcast(EdgeList(kHetero2), root), R("1/2"));
  EXPECT_EQ(broadcast(*GalleryTopology("mesh-3x3"), 0), R("1/2"));
  EXPECT_EQ(broadcast(*GalleryTopology("mesh-3x3"), 4), R("1/2"));
  EXPECT_EQ(broadcast(*GalleryTopology("dgx-a100-x2"), 5), R("1/200"));
  EXPECT_EQ(broadcast(EdgeList(kStar), 0), R("1/2"));
  EXPECT_EQ(broadcast(EdgeList(kStar), 3), R("1/2"));
  EXPECT_EQ(AlgorithmBandwidthGBps(Collective::kBroadcast, 16, R("1/200")), 200);
}

TEST(ThroughputBoundTest, Weighted) {
  const auto weighted = [](const Topology& topology, const std::vector<int64_t>& weights) {
    const auto optimum = WeightedAllGatherOptimum(topology, weights);
    EXPECT_TRUE(optimum.ok()) << optimum.status();
    ExpectCertified(topology, *optimum);
    return optimum->inv_x;
  };
  EXPECT_EQ(weighted(EdgeList(kDgx1), {1, 2, 3, 4, 5, 6, 7, 8}), R("35/6"));
  EXPECT_EQ(weighted(EdgeList(kStar), {1, 1, 2, 2}), R("2"));
  EXPECT_EQ(weighted(EdgeList(kStar), {2, 2, 1, 1}), R("5/2"));
  EXPECT_EQ(weighted(*GalleryTopology("dgx-a100-x2"), {1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0}), R("1/25"));
  // Weights are bytes as well as counts.
  EXPECT_EQ(weighted(EdgeList(kStar), {int64_t{2} << 40, int64_t{2} << 40, int64_t{1} << 40, int64_t{1} << 40}),
            R("5/2") * Rational(int64_t{1} << 40));
  EXPECT_EQ(WeightedAllGatherOptimum(EdgeList(kStar), {0, 0, 0, 0})->inv_x, Rational(0));
  EXPECT_THAT(StatusMessage(WeightedAllGatherOptimum(EdgeList(kStar), {1, 2}).status()),
              HasSubstr("2 weights for 4 ranks; give one for each"));
  EXPECT_THAT(StatusMessage(WeightedAllGatherOptimum(EdgeList(kStar), {1, -2, 0, 0}).status()),
              HasSubstr("rank 1 has the weight -2; give 0 or more"));
  EXPECT_THAT(StatusMessage(WeightedAllGatherOptimum(EdgeList(kStar), {int64_t{1} << 62, 1, 0, 0}).status()),
              HasSubstr("exceed 2^62"));
}

TEST(ThroughputBoundTest, AllReduceIsTheBestOfItsMethod) {
  // Two boxes: half of the ranks on each side of the narrow cut, so the method is the optimum.
  const Topology boxes = EdgeList(Boxes(2, 4, 10, 1));
  const auto tight = AllReduceOptimum(boxes);
  EXPECT_EQ(tight->inv_x, Rational(2));
  EXPECT_EQ(tight->lower_bound, Rational(2));
  EXPECT_EQ(tight->kind, BoundKind::kOptimum);
  EXPECT_THAT(tight->proof, HasSubstr("so this is the optimum"));
  ExpectCertified(boxes, *tight);

  // The star's best allreduce takes 4/2 (its linear program), reduce-scatter and allgather 4/(4/3).
  const Topology star = EdgeList(kStar);
  const auto loose = AllReduceOptimum(star);
  EXPECT_EQ(loose->inv_x, Rational(3));
  EXPECT_EQ(loose->lower_bound, Rational(2));
  EXPECT_EQ(loose->kind, BoundKind::kBestOfMethod);
  EXPECT_THAT(loose->proof, HasSubstr("schedules that overlap the two may lie between"));
  ExpectCertified(star, *loose);

  EXPECT_EQ(AllReduceOptimum(*GalleryTopology("dgx-a100-x2"))->inv_x, R("6/65"));
  // One direction matters: the way back from 1 to 0 is narrow.
  const Topology lopsided = EdgeList("0>1:4 1>0:1");
  EXPECT_EQ(AllReduceOptimum(lopsided)->inv_x, R("2"));
  EXPECT_EQ(AllReduceOptimum(lopsided)->lower_bound, R("2"));
}

TEST(ThroughputBoundTest, GatherAndScatter) {
  const Topology star = EdgeList("0-w:4 1-w:4 2-w:2 3>w:1 w>3:2");
  EXPECT_EQ(GatherOptimum(star, Rank(2))->inv_x, R("3/2"));   // its own link
  EXPECT_EQ(GatherOptimum(star, Rank(0))->inv_x, R("1"));     // rank 3's link
  EXPECT_EQ(ScatterOptimum(star, Rank(0))->inv_x, R("3/4"));  // its own link
  EXPECT_EQ(ScatterOptimum(star, Rank(3))->inv_x, R("3"));
  for (const int root : {0, 1, 2, 3}) {
    ExpectCertified(star, *GatherOptimum(star, Rank(root)));
    ExpectCertified(star, *ScatterOptimum(star, Rank(root)));
    EXPECT_EQ(GatherOptimum(star, Rank(root))->kind, BoundKind::kOptimum) << "paths need no balanced switches";
  }
  EXPECT_EQ(GatherOptimum(*GalleryTopology("dgx-a100-x2"), Rank(3))->inv_x, R("3/65"));
}

TEST(ThroughputBoundTest, OneRankNeedsNothing) {
  for (const CollectiveInfo& info : AllCollectives()) {
    if (info.collective == Collective::kAllToAllV) continue;
    const auto optimum = OptimumOf(*GalleryTopology("host-1"), info.collective, Rank(0));
    ASSERT_TRUE(optimum.ok()) << info.name << optimum.status();
    EXPECT_EQ(optimum->inv_x, Rational(0)) << info.name;
    EXPECT_EQ(optimum->lower_bound, Rational(0));
    EXPECT_EQ(optimum->kind, BoundKind::kOptimum);
    EXPECT_TRUE(optimum->cut.empty());
  }
}

TEST(ThroughputBoundTest, SaysWhichRanksAreCutOff) {
  const Topology one_way = EdgeList("0-w:1 1-w:1 w>2:1");
  EXPECT_EQ(AllGatherOptimum(one_way).status().code(), StatusCode::kUnimplemented);
  EXPECT_THAT(StatusMessage(AllGatherOptimum(one_way).status()),
              HasSubstr("nothing leads from ranks {2} to ranks {0, 1}; add a link"));
  EXPECT_THAT(StatusMessage(ReduceScatterOptimum(one_way).status()), HasSubstr("nothing leads from ranks {2} to"));
  EXPECT_TRUE(BroadcastOptimum(one_way, Rank(0)).ok());
  EXPECT_THAT(StatusMessage(BroadcastOptimum(one_way, Rank(2)).status()), HasSubstr("from ranks {2} to ranks {0, 1}"));
  EXPECT_FALSE(ReduceOptimum(one_way, Rank(0)).ok());
  EXPECT_TRUE(ReduceOptimum(one_way, Rank(2)).ok());
  EXPECT_FALSE(GatherOptimum(one_way, Rank(1)).ok());
  EXPECT_TRUE(ScatterOptimum(one_way, Rank(1)).ok());
  EXPECT_FALSE(AllReduceOptimum(one_way).ok());
  EXPECT_FALSE(OptimumOf(one_way, Collective::kAllToAll).ok());
  EXPECT_TRUE(WeightedAllGatherOptimum(one_way, {1, 1, 0}).ok());
  EXPECT_FALSE(WeightedAllGatherOptimum(one_way, {0, 0, 1}).ok());
}

TEST(ThroughputBoundTest, RefusesBadRootsAndUnusableBandwidths) {
  const Topology star = EdgeList(kStar);
  for (const Rank root : {Rank(), Rank(4)}) {
    for (const Collective collective :
         {Collective::kBroadcast, Collective::kReduce, Collective::kGather, Collective::kScatter}) {
      EXPECT_THAT(StatusMessage(OptimumOf(star, collective, root).status()), HasSubstr("is not a rank of topology"));
    }
  }
  EXPECT_EQ(OptimumOf(star, Collective::kAllToAllV).status().code(), StatusCode::kUnimplemented);
  const auto wild = AllGatherOptimum(EdgeList("0-1:1/1000000007 1-2:1/998244353 2-0:1/999999937"));
  EXPECT_EQ(wild.status().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(StatusMessage(wild.status()),
              AllOf(HasSubstr("have no common unit in 62 bits: link "), HasSubstr("use rounder numbers")));
  EXPECT_FALSE(AllGatherOptimum(EdgeList("0-1:9223372036854775807 1-2:3 2-0:5")).ok());
  EXPECT_FALSE(AllGatherOptimum(EdgeList("0-1:9223372036854775807/3")).ok());
  EXPECT_EQ(AllGather(EdgeList("0-1:1000000000000000000/3")), R("3/1000000000000000000"));
  EXPECT_EQ(AllGather(EdgeList("0-1:1/4611686018427387904")), R("4611686018427387904"));
}

// Milliseconds each when optimised; without contraction, or with sinks in the order of the ring, many seconds.
TEST(ThroughputBoundTest, LargeMachinesAreQuick) {
  for (const auto& [name, inv_x] : std::vector<std::pair<std::string, std::string>>{{"dgx-h100-x128", "127/50"},
                                                                                    {"dgx-a100-x512", "511/25"},
                                                                                    {"ring1024", "1023/50"},
                                                                                    {"hypercube-10", "1023/250"}}) {
    const Topology topology = *GalleryTopology(name);
    const std::clock_t start = std::clock();
    EXPECT_EQ(AllGatherOptimum(topology)->inv_x, R(inv_x));
    EXPECT_LT(static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC, 5) << name;
  }
}

// ---- Brute force: all node sets of small random graphs, incl. one-way links, switches, weights of 0, wide capacities.

struct Answer {
  bool possible = true;
  int128 weight = 0;  // the best ratio weight * denominator / capacity
  int128 capacity = 1;
};

// The maximum over sets that miss a sink; `reversed` asks about links turned around.
Answer BestSet(const Topology& topology, const std::vector<int64_t>& weights, const std::vector<Rank>& sinks,
               int64_t denominator, bool reversed) {
  Answer best;
  const uint32_t node_count = static_cast<uint32_t>(topology.node_count());
  uint32_t sink_mask = 0;
  for (const Rank sink : sinks) sink_mask |= 1U << topology.NodeOf(sink).value();
  for (uint32_t set = 0; set < 1U << node_count; ++set) {
    if ((sink_mask & ~set) == 0) continue;
    int128 weight = 0;
    for (const Rank rank : Ids<Rank>(topology.rank_count())) {
      if ((set >> topology.NodeOf(rank).value() & 1) != 0) weight += weights[rank.index()];
    }
    if (weight == 0) continue;
    int128 capacity = 0;
    for (const Link& link : topology.links()) {
      const NodeId from = reversed ? link.target : link.source;
      const NodeId to = reversed ? link.source : link.target;
      if ((set >> from.value() & 1) == 0 || (set >> to.value() & 1) != 0) continue;
      capacity += int128{link.bandwidth.numerator()} * (denominator / link.bandwidth.denominator());
    }
    if (capacity == 0) return {false, 0, 0};
    if (weight * best.capacity > best.weight * capacity) best = {true, weight, capacity};
  }
  return best;
}

void ExpectAnswer(const StatusOr<Optimum>& optimum, const Answer& answer, int64_t denominator,
                  const Topology& topology) {
  if (!answer.possible) {
    ASSERT_EQ(optimum.status().code(), StatusCode::kUnimplemented);
    return;
  }
  const auto expected = Rational::TryMake(answer.weight * denominator, answer.capacity);
  ASSERT_TRUE(expected.ok());
  ASSERT_TRUE(optimum.ok()) << optimum.status();
  ASSERT_EQ(optimum->inv_x, *expected);
  if (answer.weight == 0) return;
  ASSERT_EQ(optimum->cut_bandwidth, BandwidthLeaving(topology, optimum->cut));
  ASSERT_EQ(optimum->inv_x, Rational(optimum->cut_demand) / optimum->cut_bandwidth);
}

class BruteForceTest : public ::testing::TestWithParam<RandomShape> {};

TEST_P(BruteForceTest, AllNodeSetsAgree) {
  const uint64_t seed = 77;
  SCOPED_TRACE("seed " + std::to_string(seed));
  Rng random(seed);
  const RandomShape shape = GetParam();
  int possible = 0;
  for (int round = 0; round < 1000; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    const Topology topology = RandomTopology(random, shape);
    const size_t rank_count = static_cast<size_t>(topology.rank_count());
    std::vector<Rank> all;
    for (const Rank rank : Ids<Rank>(topology.rank_count())) all.push_back(rank);
    const Rank root(random.Between(0, topology.rank_count() - 1));
    std::vector<int64_t> ones(rank_count, 1), root_only(rank_count), others(rank_count, 1), weights(rank_count);
    root_only[root.index()] = 1;
    others[root.index()] = 0;
    for (int64_t& weight : weights) weight = random.OneIn(3) ? 0 : random.Between(1, shape.numerator_max);
    const int64_t d = shape.denominator;
    const Answer all_gather = BestSet(topology, ones, all, d, false);
    ExpectAnswer(AllGatherOptimum(topology), all_gather, d, topology);
    ExpectAnswer(ReduceScatterOptimum(topology), BestSet(topology, ones, all, d, true), d, topology);
    ExpectAnswer(WeightedAllGatherOptimum(topology, weights), BestSet(topology, weights, all, d, false), d, topology);
    ExpectAnswer(BroadcastOptimum(topology, root), BestSet(topology, root_only, all, d, false), d, topology);
    ExpectAnswer(ReduceOptimum(topology, root), BestSet(topology, root_only, all, d, true), d, topology);
    ExpectAnswer(GatherOptimum(topology, root), BestSet(topology, others, {root}, d, false), d, topology);
    ExpectAnswer(ScatterOptimum(topology, root), BestSet(topology, others, {root}, d, true), d, topology);
    if (HasFatalFailure()) return;
    possible += all_gather.possible && all_gather.weight > 0 ? 1 : 0;
  }
  EXPECT_GT(possible, 200);
}

INSTANTIATE_TEST_SUITE_P(Shapes, BruteForceTest,
                         ::testing::Values(RandomShape{7, 3, 1, 2, 2}, RandomShape{7, 20, 1, 2, 4},
                                           RandomShape{8, 1'000'000'000, 1, 2, 3},
                                           RandomShape{8, 1'000'000'000, 997, 2, 3}, RandomShape{10, 100, 6, 3, 5}));

// The narrowest cut that splits the ranks, in either direction, bounds allreduce.
TEST(ThroughputBoundTest, AllReduceLowerBoundAgreesWithEnumeration) {
  const uint64_t seed = 8;
  SCOPED_TRACE("seed " + std::to_string(seed));
  Rng random(seed);
  int compared = 0;
  for (int round = 0; round < 1000; ++round) {
    const Topology topology = RandomTopology(random, {7, 9, 1, 2, 3});
    const auto optimum = AllReduceOptimum(topology);
    if (!optimum.ok() || topology.rank_count() == 1) continue;
    std::optional<Rational> narrowest;
    for (uint32_t set = 0; set < 1U << topology.node_count(); ++set) {
      std::vector<NodeId> nodes;
      for (const NodeId node : Ids<NodeId>(topology.node_count())) {
        if ((set >> node.value() & 1) != 0) nodes.push_back(node);
      }
      const int64_t ranks = RanksIn(topology, nodes);
      if (ranks == 0 || ranks == topology.rank_count()) continue;
      const Rational bandwidth = BandwidthLeaving(topology, nodes);
      if (!narrowest || bandwidth < *narrowest) narrowest = bandwidth;
    }
    ASSERT_EQ(optimum->lower_bound, Rational(topology.rank_count()) / *narrowest) << "round " << round;
    ASSERT_LE(optimum->lower_bound, optimum->inv_x);
    ExpectCertified(topology, *optimum);
    ++compared;
  }
  EXPECT_GT(compared, 200);
}

}  // namespace
}  // namespace mycel
