// All-to-all as a flow over steps: published exact values, and the plans made of it.
#include "scheduler/timeflow/stepped_flow.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/plan/run_check.h"
#include "core/plan/verify.h"
#include "core/topo/gallery.h"
#include "scheduler/design/digraph.h"
#include "scheduler/lower/lower.h"
#include "scheduler/timeflow/timeflow.h"

namespace mycel {
namespace {

using design::Digraph;
using ::testing::HasSubstr;
using timeflow::Ending;
using timeflow::SolveSteppedFlow;
using timeflow::SteppedFlow;

Topology TopologyOf(const Digraph& graph) { return *ToTopology(graph, "graph", "", Rational(1), 1); }

flow::Demand EveryPair(int32_t n) {
  flow::Demand demand;
  demand.rank_count = n;
  demand.total = int64_t{n} * (n - 1);
  return demand;
}

/// Link loads of the paths fit the steps' lengths, and every pair gets what it wants: recounted, not believed.
void ExpectCarries(const flow::FlowGraph& graph, const SteppedFlow& flow) {
  std::map<std::pair<int32_t, int32_t>, Rational> pairs;
  std::vector<Rational> loads(graph.edges.size());
  for (const SteppedFlow::Path& path : flow.paths) {
    int32_t at = path.source;
    for (const int32_t e : path.edges) {
      const flow::FlowGraph::Edge& edge = graph.edges[static_cast<size_t>(e)];
      EXPECT_EQ(edge.source, at);
      at = edge.target;
      loads[static_cast<size_t>(e)] += path.amount;
    }
    EXPECT_EQ(at, path.target);
    EXPECT_GT(path.amount, Rational(0));
    pairs[{path.source, path.target}] += path.amount;
  }
  EXPECT_EQ(std::ssize(pairs), int64_t{graph.rank_count} * (graph.rank_count - 1));
  for (const auto& [pair, amount] : pairs) EXPECT_EQ(amount, Rational(1));
  for (size_t e = 0; e < loads.size(); ++e) EXPECT_LE(loads[e], flow.time * Rational(graph.edges[e].capacity));
}

struct Known {
  std::string name;
  Topology topology;
  int32_t steps;
  Rational time;     // of the flow in so many steps
  Rational unit{1};  // bandwidth that a time of 1 goes with
};

// C10 to C13 of the reference.
std::vector<Known> KnownTimes() {
  using namespace design;  // NOLINT(google-build-using-namespace): families
  return {
      {"one-way ring of 4", TopologyOf(OneWayRing(4)), 3, 6},
      {"ring of 4", TopologyOf(Ring(4)), 2, 2},
      {"ring of 5", TopologyOf(Ring(5)), 2, 3},
      {"ring of 6", TopologyOf(Ring(6)), 3, Rational(9, 2)},
      {"ring of 8", TopologyOf(Ring(8)), 4, 8},
      {"cube", TopologyOf(Hamming(3, 2)), 3, 4},
      {"torus 3x3", TopologyOf(Torus({3, 3})), 2, 3},
      {"K4,4", TopologyOf(CompleteBipartite(4)), 2, Rational(5, 2)},
      {"torus 3x4", TopologyOf(Torus({3, 4})), 3, 6},
      {"mesh 3x3", TopologyOf(Mesh(3, 3)), 4, 6},
      {"DGX-1", *GalleryTopology("dgx1-v100"), 2, Rational(8, 3), Rational(25)},
      {"Petersen", TopologyOf(Petersen()), 2, 5},
      {"Kautz(2,2)", TopologyOf(Kautz(2, 2)), 2, 5},
      {"Kautz(2,2)", TopologyOf(Kautz(2, 2)), 3, Rational(13, 3)},
      {"Kautz(3,2)", TopologyOf(Kautz(3, 2)), 2, 7},
      {"Kautz(3,2)", TopologyOf(Kautz(3, 2)), 3, Rational(33, 5)},
      {"generalised Kautz(4,12)", TopologyOf(GeneralizedKautz(4, 12)), 2, 8},
      {"generalised Kautz(4,12)", TopologyOf(GeneralizedKautz(4, 12)), 3, Rational(13, 2)},
      {"circulant(12,{2,3})", TopologyOf(Circulant(12, {2, 3})), 2, 5},
      {"circulant(12,{2,3})", TopologyOf(Circulant(12, {2, 3})), 3, Rational(14, 3)},
  };
}

TEST(SteppedFlow, TakesThePublishedTimes) {
  for (const Known& known : KnownTimes()) {
    SCOPED_TRACE(known.name + " in " + std::to_string(known.steps) + " steps");
    const StatusOr<flow::FlowGraph> graph = flow::FlowGraphOf(known.topology);
    ASSERT_TRUE(graph.ok()) << graph.status();
    const flow::Demand demand = EveryPair(graph->rank_count);
    const StatusOr<SteppedFlow> flow = SolveSteppedFlow(*graph, demand, known.steps, Ending::kLeastSum);
    ASSERT_TRUE(flow.ok()) << flow.status();
    EXPECT_EQ(flow->time / (graph->unit / known.unit), known.time);
    ExpectCarries(*graph, *flow);
  }
}

// A14: the fewest steps of length 1.
TEST(SteppedFlow, NeedsThePublishedEpochs) {
  using namespace design;  // NOLINT(google-build-using-namespace): families
  const std::vector<std::pair<Topology, int32_t>> known = {
      {TopologyOf(Ring(4)), 2},
      {TopologyOf(Ring(5)), 3},
      {TopologyOf(Ring(6)), 5},
      {TopologyOf(Ring(8)), 8},
      {TopologyOf(Hamming(3, 2)), 4},
      {TopologyOf(Torus({3, 3})), 3},
      {TopologyOf(CompleteBipartite(2)), 2},
      {TopologyOf(CompleteBipartite(4)), 3},
      {TopologyOf(Kautz(2, 2)), 5},
      {TopologyOf(Kautz(3, 2)), 7},
      {TopologyOf(GeneralizedKautz(4, 12)), 7},
      {TopologyOf(Circulant(12, {2, 3})), 5},
      {TopologyOf(Torus({3, 4})), 6},
      {TopologyOf(Mesh(3, 3)), 6},
      {TopologyOf(Petersen()), 5},
      {*GalleryTopology("dgx1-v100"), 3},
  };
  for (const auto& [topology, epochs] : known) {
    SCOPED_TRACE(std::to_string(topology.rank_count()) + " ranks, " + std::to_string(topology.links().size()) +
                 " links");
    const StatusOr<flow::FlowGraph> graph = flow::FlowGraphOf(topology);
    ASSERT_TRUE(graph.ok());
    const flow::Demand demand = EveryPair(graph->rank_count);
    const StatusOr<SteppedFlow> flow = SolveSteppedFlow(*graph, demand, epochs, Ending::kEven);
    ASSERT_TRUE(flow.ok()) << flow.status();
    EXPECT_LE(flow->lengths.front(), Rational(1));
    if (epochs - 1 < timeflow::StepsApart(*graph, demand)) continue;
    const StatusOr<SteppedFlow> hasty = SolveSteppedFlow(*graph, demand, epochs - 1, Ending::kEven);
    ASSERT_TRUE(hasty.ok()) << hasty.status();
    EXPECT_GT(hasty->lengths.front(), Rational(1));
  }
}

TEST(SteppedFlow, SaysWhatItCannot) {
  const StatusOr<flow::FlowGraph> ring = flow::FlowGraphOf(TopologyOf(design::Ring(8)));
  EXPECT_THAT(StatusMessage(SolveSteppedFlow(*ring, EveryPair(8), 3, Ending::kLeastSum).status()),
              HasSubstr("4 steps apart, not 3"));
  const StatusOr<flow::FlowGraph> large = flow::FlowGraphOf(TopologyOf(design::Torus({8, 8})));
  EXPECT_THAT(StatusMessage(SolveSteppedFlow(*large, EveryPair(64), 8, Ending::kLeastSum).status()),
              HasSubstr("variables; a linear program of at most"));
}

TEST(SteppedFlow, PlansAreRight) {
  const Topology topologies[] = {TopologyOf(design::Kautz(2, 2)), *GalleryTopology("mesh-2x3"),
                                 *GalleryTopology("servers-2x2"), *GalleryTopology("dgx1-v100")};
  for (const Topology& topology : topologies) {
    for (const Collective collective :
         {Collective::kAllToAll, Collective::kAllToAllV, Collective::kGather, Collective::kScatter}) {
      SCOPED_TRACE(topology.name() + " " + std::string(NameOf(collective)));
      PlanRequest request;
      request.collective = collective;
      request.variant = "fluid";
      const int32_t n = topology.rank_count();
      if (InfoOf(collective).rooted) request.root = Rank(1);
      if (collective == Collective::kAllToAllV) {
        for (int32_t i = 0; i < n * n; ++i) request.demand.push_back(i % 3 == 0 ? 0 : i % 7);
      }
      const StatusOr<Schedule> schedule = TimeflowPlanner().MakeSchedule(topology, request);
      ASSERT_TRUE(schedule.ok()) << schedule.status();
      LowerOptions options;
      options.slice_bytes = 128;
      const StatusOr<Plan> plan = Lower(*schedule, topology, options);
      ASSERT_TRUE(plan.ok()) << plan.status();
      const Status verified = Verify(*plan, {collective != Collective::kAllToAllV});
      ASSERT_TRUE(verified.ok()) << verified;
      InterpretRequest run;
      run.type = DataType::kInt64;
      run.count = 101;
      const Status met = CheckByRunning(*plan, run);
      EXPECT_TRUE(met.ok()) << met;
    }
  }
  // Kautz(2,2): 13/3 ns per byte on links of 1 GB/s, in thirds of a block or finer.
  PlanRequest request;
  request.collective = Collective::kAllToAll;
  request.variant = "fluid";
  const StatusOr<Schedule> schedule = TimeflowPlanner().MakeSchedule(topologies[0], request);
  ASSERT_TRUE(schedule.ok());
  const StatusOr<Plan> plan = Lower(*schedule, topologies[0]);
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(ComputeLinkLoads(*plan, topologies[0])->inv_x, Rational(13, 3));
  request.collective = Collective::kAllGather;
  EXPECT_THAT(StatusMessage(TimeflowPlanner().Serves(topologies[0], request)), HasSubstr("leave the variant out"));
}

}  // namespace
}  // namespace mycel
