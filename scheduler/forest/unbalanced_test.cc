// Forests through switches that let more out than in, or the reverse: at the optimum of the linear program, against
// all whole numbers of trees on small graphs, and through lowering, verification and link loads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "core/base/rng.h"
#include "core/plan/run_check.h"
#include "core/plan/verify.h"
#include "core/topo/topology_json.h"
#include "scheduler/bound/bound.h"
#include "scheduler/forest/forest.h"
#include "scheduler/forest/forest_testing.h"
#include "scheduler/forest/spanning_forest.h"
#include "scheduler/forest/tree_count.h"
#include "scheduler/graph/edge_list_testing.h"
#include "scheduler/graph/rooted_cut.h"
#include "scheduler/graph/throughput_bound.h"
#include "scheduler/lower/lower.h"

namespace mycel {
namespace {

const std::string kFan = "0>w:2 w>1:2 w>2:2 1>0:4 2>0:4";

/// inv_x of a verified and run plan from its link loads; 0 after a failure.
Rational Achieved(const Topology& topology, const PlanRequest& request) {
  const StatusOr<Schedule> schedule = ForestPlanner().MakeSchedule(topology, request);
  EXPECT_TRUE(schedule.ok()) << schedule.status();
  if (!schedule.ok()) return Rational(0);
  const StatusOr<Plan> plan = Lower(*schedule, topology);
  EXPECT_TRUE(plan.ok()) << plan.status();
  if (!plan.ok()) return Rational(0);
  EXPECT_TRUE(Verify(*plan).ok()) << Verify(*plan);
  InterpretRequest run;
  run.type = DataType::kInt32;
  run.count = 101;
  const Status ran = CheckByRunning(*plan, run);
  EXPECT_TRUE(ran.ok()) << ran;
  const StatusOr<LinkLoads> loads = ComputeLinkLoads(*plan, topology);
  EXPECT_TRUE(loads.ok()) << loads.status();
  return loads.ok() ? loads->inv_x : Rational(0);
}

PlanRequest Request(Collective collective, int root = -1, int32_t trees_per_root = 0) {
  PlanRequest request;
  request.collective = collective;
  request.root = Rank(root);
  request.bytes = 1 << 20;
  request.trees_per_root = trees_per_root;
  return request;
}

TEST(Unbalanced, PlansReachTheOptimumWithoutCopies) {
  const Topology fan = EdgeList(kFan);
  const Topology funnel = Reversed(fan);
  for (const int32_t trees : {0, 1, 2, 3}) {
    EXPECT_EQ(Achieved(fan, Request(Collective::kAllGather, -1, trees)), Rational(2));
    EXPECT_EQ(Achieved(fan, Request(Collective::kReduceScatter, -1, trees)), Rational(1));
    EXPECT_EQ(Achieved(fan, Request(Collective::kBroadcast, 0, trees)), Rational(1));
    EXPECT_EQ(Achieved(funnel, Request(Collective::kAllGather, -1, trees)), Rational(1));
    EXPECT_EQ(Achieved(funnel, Request(Collective::kReduceScatter, -1, trees)), Rational(2));
    EXPECT_EQ(Achieved(funnel, Request(Collective::kReduce, 0, trees)), Rational(1));
  }
  // An allreduce with equal roots is the two one after the other; unequal roots use rank 0 alone.
  EXPECT_EQ(Achieved(fan, Request(Collective::kAllReduce, -1, 1)) * Rational(3), Rational(3));
}

TEST(Unbalanced, EveryCollectiveOnRandomGraphs) {
  const uint64_t seed = 20250311;
  SCOPED_TRACE("seed " + std::to_string(seed));
  Rng rng(seed);
  int slower = 0;
  for (int round = 0; round < 1500 && !::testing::Test::HasFailure(); ++round) {
    const Topology topology = UnbalancedTopology(rng, 5, 3, 4);
    if (!CheckConnected(topology).ok()) continue;
    SCOPED_TRACE("round " + std::to_string(round) + "\n" + WriteTopology(topology));
    const int root = static_cast<int>(rng.Between(0, topology.rank_count() - 1));
    for (const Collective collective :
         {Collective::kAllGather, Collective::kReduceScatter, Collective::kBroadcast, Collective::kReduce}) {
      const PlanRequest request = Request(collective, InfoOf(collective).rooted ? root : -1);
      const StatusOr<Optimum> bound = BoundOf(topology, request);
      ASSERT_TRUE(bound.ok()) << bound.status();
      EXPECT_EQ(bound->kind, BoundKind::kOptimum);
      EXPECT_EQ(Achieved(topology, request), bound->inv_x) << NameOf(collective);
      slower += bound->inv_x > OptimumOf(topology, collective, request.root)->inv_x ? 1 : 0;
      PlanRequest fixed = request;
      fixed.trees_per_root = static_cast<int32_t>(rng.Between(1, 4));
      EXPECT_GE(Achieved(topology, fixed), bound->inv_x) << fixed.trees_per_root;
    }
  }
  EXPECT_GT(slower, 100);
}

/// Whether some choice of whole capacities up to `most` keeps every switch balanced and carries the trees.
class WholeChoices {
 public:
  WholeChoices(const ScaledGraph& graph, const std::vector<int64_t>& root_trees, const std::vector<int64_t>& most)
      : graph_(graph), root_trees_(root_trees), most_(most), chosen_(most) {
    is_rank_.assign(static_cast<size_t>(graph.node_count), false);
    for (const int32_t node : graph.ranks) is_rank_[static_cast<size_t>(node)] = true;
    for (size_t link = 0; link < graph.edges.size(); ++link) {
      const auto [source, target, capacity] = graph.edges[link];
      // A link from rank to rank never has too much.
      if (!is_rank_[static_cast<size_t>(source)] || !is_rank_[static_cast<size_t>(target)]) free_.push_back(link);
    }
  }
  double Count() const {
    double count = 1;
    for (const size_t link : free_) count *= static_cast<double>(most_[link]) + 1;
    return count;
  }
  bool Any() { return From(0); }

 private:
  bool From(size_t at) {
    if (at == free_.size()) return Balanced() && Carries();
    const size_t link = free_[at];
    for (chosen_[link] = most_[link];; --chosen_[link]) {
      if (From(at + 1)) return true;
      if (chosen_[link] == 0) return false;
    }
  }
  bool Balanced() const {
    std::vector<int64_t> surplus(static_cast<size_t>(graph_.node_count), 0);
    for (size_t link = 0; link < chosen_.size(); ++link) {
      surplus[static_cast<size_t>(graph_.edges[link].source)] -= chosen_[link];
      surplus[static_cast<size_t>(graph_.edges[link].target)] += chosen_[link];
    }
    for (size_t node = 0; node < surplus.size(); ++node) {
      if (!is_rank_[node] && surplus[node] != 0) return false;
    }
    return true;
  }
  bool Carries() const {
    CapacityGraph capacities(graph_.node_count);
    for (size_t link = 0; link < chosen_.size(); ++link) {
      if (chosen_[link] > 0) capacities.Add(graph_.edges[link].source, graph_.edges[link].target, chosen_[link]);
    }
    return RootedCut(capacities, root_trees_, graph_.ranks).Feasible();
  }

  const ScaledGraph& graph_;
  const std::vector<int64_t>& root_trees_;
  std::vector<int64_t> most_;
  std::vector<int64_t> chosen_;
  std::vector<bool> is_rank_;
  std::vector<size_t> free_;
};

/// Whether k trees per weight exist at `inverse` (per weight, in the graph's unit); nothing when that is too much to
/// try.
std::optional<bool> Exist(const ScaledGraph& graph, const std::vector<int64_t>& weights, int64_t k,
                          const Rational& inverse) {
  std::vector<int64_t> most;
  const Rational scale = inverse * Rational(k);
  for (const ScaledGraph::Edge& edge : graph.edges) {
    most.push_back(edge.capacity * scale.numerator() / scale.denominator());
  }
  const std::vector<int64_t> root_trees = RootTrees(graph, weights, k);
  WholeChoices choices(graph, root_trees, most);
  if (choices.Count() > 30'000) return std::nullopt;
  return choices.Any();
}

// The searches for the smallest number of trees and for the best forest of a given number are greedy; how often do
// they miss, where all choices can be tried?
TEST(Unbalanced, TreeCountsAgainstEveryChoice) {
  const uint64_t seed = 20250312;
  SCOPED_TRACE("seed " + std::to_string(seed));
  Rng rng(seed);
  int counted = 0;
  int larger = 0;
  int fixed = 0;
  int slower = 0;
  for (int round = 0; round < 10000 && !::testing::Test::HasFailure(); ++round) {
    const Topology topology = UnbalancedTopology(rng, 4, 2, rng.Between(1, 5));
    if (!CheckConnected(topology).ok()) continue;
    const ScaledGraph graph = *ScaleCapacities(topology);

    SCOPED_TRACE("round " + std::to_string(round) + "\n" + WriteTopology(topology));
    std::vector<int64_t> weights(static_cast<size_t>(topology.rank_count()), 1);
    if (rng.OneIn(2)) std::fill(weights.begin() + 1, weights.end(), 0);
    const StatusOr<SpanningForest> best = PackSpanningForest(topology, weights, 0, false);
    ASSERT_TRUE(best.ok()) << best.status();
    CheckForest(topology, weights, *best, false);
    EXPECT_EQ(best->inv_x, best->optimum);
    const Rational unit = *graph.Bandwidth(1);
    for (int64_t k = 1; k < best->trees_per_weight; ++k) {
      const std::optional<bool> exist = Exist(graph, weights, k, best->optimum * unit);
      if (!exist) break;
      ++counted;
      larger += *exist ? 1 : 0;
      if (*exist) break;
    }
    const std::optional<bool> found = Exist(graph, weights, best->trees_per_weight, best->optimum * unit);
    if (found) {
      EXPECT_TRUE(*found);
      ++counted;
    }
    const int64_t k = rng.Between(1, 3);
    const StatusOr<SpanningForest> few = PackSpanningForest(topology, weights, k, false);
    ASSERT_TRUE(few.ok()) << few.status();
    EXPECT_EQ(few->trees_per_weight, k);
    CheckForest(topology, weights, *few, false);
    // A whole number of trees on a link less than what the busiest ones carry.
    Rational faster = few->optimum;
    for (const ScaledGraph::Edge& edge : graph.edges) {
      const Rational limit = few->inv_x * unit * Rational(k) * Rational(edge.capacity);
      const int64_t below = (limit.numerator() + limit.denominator() - 1) / limit.denominator() - 1;
      const Rational candidate = Rational(below, edge.capacity) / Rational(k) / unit;
      if (candidate < few->inv_x) faster = std::max(faster, candidate);
    }
    if (faster == few->inv_x) continue;
    const std::optional<bool> exists = Exist(graph, weights, k, faster * unit);
    if (!exists) continue;
    ++fixed;
    slower += *exists ? 1 : 0;
  }
  std::printf("%d counts tried in full, %d forests had more trees than needed; %d fixed ones, %d not the fastest\n",
              counted, larger, fixed, slower);
  EXPECT_GT(counted, 100);
  EXPECT_GT(fixed, 100);
  EXPECT_LE(larger, counted / 20);
  EXPECT_LE(slower, fixed / 20);
}

}  // namespace
}  // namespace mycel
