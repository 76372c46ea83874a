// Planner timeflow: schedules against published optima of the exact integer programs, against an exhaustive search on
// tiny graphs, and its plans verified, run and simulated.
#include "scheduler/timeflow/timeflow.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/base/rng.h"
#include "core/plan/interpret.h"
#include "core/plan/run_check.h"
#include "core/plan/verify.h"
#include "core/topo/gallery.h"
#include "scheduler/lower/lower.h"
#include "scheduler/sim/sim.h"
#include "scheduler/timeflow/time_search.h"

namespace mycel {
namespace {

using ::testing::HasSubstr;
using timeflow::EpochGraph;
using timeflow::FindTimeSchedule;
using timeflow::Item;
using timeflow::TimeProblem;
using timeflow::TimeSchedule;

Topology Named(const std::string& name) {
  StatusOr<Topology> topology = GalleryTopology(name);
  EXPECT_TRUE(topology.ok()) << topology.status();
  return *std::move(topology);
}

/// Links of one chunk an epoch, made by hand.
class Graph {
 public:
  explicit Graph(int32_t ranks, int32_t switches = 0) {
    graph_.rank_count = ranks;
    graph_.node_count = ranks + switches;
  }
  Graph& One(int32_t a, int32_t b, int32_t late = 0, int32_t burst = 1, int32_t window = 1) {
    graph_.edges.push_back({a, b, burst, window, window + late});
    return *this;
  }
  Graph& Both(int32_t a, int32_t b, int32_t late = 0, int32_t burst = 1, int32_t window = 1) {
    return One(a, b, late, burst, window).One(b, a, late, burst, window);
  }
  Graph& Copying() {
    graph_.copies.assign(static_cast<size_t>(graph_.node_count), false);
    for (int32_t v = graph_.rank_count; v < graph_.node_count; ++v) graph_.copies[static_cast<size_t>(v)] = true;
    return *this;
  }
  EpochGraph Make() const {
    EpochGraph graph = graph_;
    MakeHops(&graph);
    return graph;
  }

 private:
  EpochGraph graph_;
};

Graph Ring(int32_t n, int32_t late = 0, int32_t window = 1) {
  Graph graph(n);
  for (int32_t i = 0; i < n; ++i) graph.Both(i, (i + 1) % n, late, 1, window);
  return graph;
}

Graph OneWayRing(int32_t n) {
  Graph graph(n);
  for (int32_t i = 0; i < n; ++i) graph.One(i, (i + 1) % n);
  return graph;
}

/// Ranks joined where `joined(i, j)`.
Graph Where(int32_t n, const std::function<bool(int32_t, int32_t)>& joined) {
  Graph graph(n);
  for (int32_t i = 0; i < n; ++i) {
    for (int32_t j = 0; j < n; ++j) {
      if (i != j && joined(i, j)) graph.One(i, j);
    }
  }
  return graph;
}

Graph Cube() {
  return Where(8, [](int32_t i, int32_t j) { return __builtin_popcount(static_cast<unsigned>(i ^ j)) == 1; });
}
Graph Torus(int32_t a, bool wraps) {
  return Where(a * a, [=](int32_t i, int32_t j) {
    const auto near = [=](int32_t x, int32_t y) {
      const int32_t d = std::abs(x - y);
      return d == 1 || (wraps && d == a - 1);
    };
    return (i / a == j / a && near(i % a, j % a)) || (i % a == j % a && near(i / a, j / a));
  });
}
Graph Full(int32_t n) {
  return Where(n, [](int32_t, int32_t) { return true; });
}
Graph TwoSided(int32_t n) {
  return Where(2 * n, [n](int32_t i, int32_t j) { return (i < n) != (j < n); });
}
Graph Petersen() {
  return Where(10, [](int32_t i, int32_t j) {
    if (i > j) std::swap(i, j);
    if (j < 5) return j - i == 1 || j - i == 4;
    if (i < 5) return j == i + 5;
    return j - i == 2 || j - i == 3;
  });
}
Graph Kautz22() {
  const std::vector<std::pair<int, int>> words = {{0, 1}, {0, 2}, {1, 0}, {1, 2}, {2, 0}, {2, 1}};
  return Where(6, [=](int32_t i, int32_t j) {
    return words[static_cast<size_t>(i)].second == words[static_cast<size_t>(j)].first;
  });
}
Graph DirectedCirculant8() {
  return Where(8, [](int32_t i, int32_t j) { return (j - i + 8) % 8 == 1 || (j - i + 8) % 8 == 3; });
}
Graph Star(int32_t n) {
  Graph graph(n, 1);
  for (int32_t i = 0; i < n; ++i) graph.Both(i, n);
  return graph;
}
Graph Dumbbell() { return Graph(4, 2).Both(0, 4).Both(1, 4).Both(4, 5).Both(2, 5).Both(3, 5); }
Graph TwoBoxes(int32_t late = 0) {
  return Graph(4).Both(0, 1, 0, 4).Both(2, 3, 0, 4).Both(0, 2, late).Both(1, 3, late);
}
/// Links of 25 GB/s take a chunk an epoch, those of 50 two.
Graph Dgx1() {
  const Topology topology = Named("dgx1-v100");
  Graph graph(8);
  for (const Link& link : topology.links()) {
    const int32_t burst = link.bandwidth == Rational(50) ? 2 : 1;
    graph.One(topology.node(link.source).rank.value(), topology.node(link.target).rank.value(), 0, burst);
  }
  return graph;
}

std::vector<int32_t> All(int32_t n) {
  std::vector<int32_t> members(static_cast<size_t>(n));
  std::iota(members.begin(), members.end(), 0);
  return members;
}

enum class What { kAllGather, kAllToAll, kBroadcast, kScatter, kGather, kUnicast };

TimeProblem Problem(const Graph& graph, What what, int32_t chunks) {
  TimeProblem problem{graph.Make(), {}};
  const std::vector<int32_t> all = All(problem.graph.rank_count);
  switch (what) {
    case What::kAllGather:
      timeflow::AddAllGather(all, chunks, 0, &problem.items);
      break;
    case What::kAllToAll:
      timeflow::AddAllToAll(all, chunks, 0, &problem.items);
      break;
    case What::kBroadcast:
      timeflow::AddBroadcast(0, all, chunks, 0, &problem.items);
      break;
    case What::kScatter:
      timeflow::AddScatter(0, all, chunks, 0, &problem.items);
      break;
    case What::kGather:
      timeflow::AddGather(0, all, chunks, 0, &problem.items);
      break;
    case What::kUnicast:
      for (int32_t c = 0; c < chunks; ++c) problem.items.push_back({0, {1}});
  }
  return problem;
}

TimeSchedule Found(const TimeProblem& problem) {
  StatusOr<TimeSchedule> schedule = FindTimeSchedule(problem, {});
  EXPECT_TRUE(schedule.ok()) << schedule.status();
  return *std::move(schedule);
}

struct Optimum {
  std::string name;
  Graph graph;
  What what;
  int32_t chunks;
  int32_t epochs;         // of the exact integer program
  int32_t found_max = 0;  // what the search may need where it does not find that; 0: the same
};

Graph TwoPaths() { return Graph(3).One(0, 1, 4).One(0, 2).One(2, 1); }

std::vector<Optimum> Optima() {
  using enum What;
  return {
      {"A1 one-way ring of 4", OneWayRing(4), kAllGather, 1, 3},
      {"A1 ring of 4", Ring(4), kAllGather, 1, 2},
      {"A1 ring of 4", Ring(4), kAllGather, 2, 3},
      {"A1 ring of 5", Ring(5), kAllGather, 1, 2},
      {"A1 ring of 6", Ring(6), kAllGather, 1, 3},
      {"A1 ring of 6", Ring(6), kAllGather, 2, 5},
      {"A2 ring of 4, one epoch late", Ring(4, 1), kAllGather, 1, 4},
      {"A2 ring of 6, one epoch late", Ring(6, 1), kAllGather, 1, 6},
      {"A2 ring of 6, two epochs late", Ring(6, 2), kAllGather, 1, 9},
      {"A2 ring of 4 at half speed", Ring(4, 0, 2), kAllGather, 1, 4},
      {"A3 cube", Cube(), kAllGather, 1, 3},
      {"A3 cube", Cube(), kAllGather, 3, 7},
      {"A3 torus 3x3", Torus(3, true), kAllGather, 1, 2},
      {"A3 torus 4x4", Torus(4, true), kAllGather, 1, 4},
      {"A3 complete graph of 4", Full(4), kAllGather, 1, 1},
      {"A3 K4,4", TwoSided(4), kAllGather, 1, 2},
      {"A3 mesh 3x3", Torus(3, false), kAllGather, 1, 4},
      {"A3 mesh 4x4", Torus(4, false), kAllGather, 1, 8},
      {"A3 Petersen", Petersen(), kAllGather, 1, 3},
      {"A4 DGX-1", Dgx1(), kAllGather, 1, 2},
      {"A4 DGX-1", Dgx1(), kAllGather, 2, 3},
      {"A4 DGX-1", Dgx1(), kAllGather, 3, 4},
      {"A5 two ways", TwoPaths(), kUnicast, 1, 2},
      {"A5 two ways", TwoPaths(), kUnicast, 3, 4},
      {"A5 two ways", TwoPaths(), kUnicast, 4, 5},
      {"A5 two ways", TwoPaths(), kUnicast, 5, 5},
      {"A5 two ways", TwoPaths(), kUnicast, 6, 6},
      {"A5 two ways", TwoPaths(), kUnicast, 7, 6},
      {"A5 two ways", TwoPaths(), kUnicast, 8, 7},
      {"A6 star of 4, copying", Star(4).Copying(), kAllGather, 1, 4},
      {"A6 star of 4", Star(4), kAllGather, 1, 4},
      {"A6 star of 8, copying", Star(8).Copying(), kAllGather, 1, 8},
      {"A7 star of 8, copying", Star(8).Copying(), kBroadcast, 1, 2},
      {"A7 star of 8", Star(8), kBroadcast, 1, 5},
      {"A7 star of 8, copying", Star(8).Copying(), kBroadcast, 4, 5},
      {"A7 star of 8", Star(8), kBroadcast, 4, 9},
      {"A8 ring of 8", Ring(8), kBroadcast, 1, 4},
      {"A8 ring of 8", Ring(8), kBroadcast, 4, 5},
      {"A8 cube", Cube(), kBroadcast, 3, 3},
      {"A9 ring of 4", Ring(4), kAllToAll, 1, 2},
      {"A9 ring of 5", Ring(5), kAllToAll, 1, 3},
      {"A9 one-way ring of 4", OneWayRing(4), kAllToAll, 1, 6},
      {"A9 cube", Cube(), kAllToAll, 1, 4, 5},
      {"A10 ring of 6", Ring(6), kScatter, 1, 3},
      {"A10 star of 8", Star(8), kGather, 1, 8},
      {"A11 dumbbell, copying", Dumbbell().Copying(), kAllGather, 1, 4},
      {"A11 dumbbell", Dumbbell(), kAllGather, 1, 5},
      {"A12 two boxes", TwoBoxes(), kAllGather, 1, 2},
      {"A12 two boxes", TwoBoxes(), kAllGather, 2, 3},
      {"A12 two boxes, two epochs late", TwoBoxes(2), kAllGather, 1, 4},
      {"A12 two boxes", TwoBoxes(), kAllToAll, 1, 2},
      {"A13 Kautz(2,2)", Kautz22(), kAllGather, 1, 3},
      {"A13 Kautz(2,2)", Kautz22(), kAllGather, 2, 5},
      {"A13 directed circulant 8", DirectedCirculant8(), kAllGather, 1, 4},
      {"A13 directed circulant 8", DirectedCirculant8(), kAllGather, 2, 7},
  };
}

TEST(TimeSearch, NeedsHardlyMoreEpochsThanTheExactProgram) {
  int optimal = 0, proved = 0, all = 0;
  for (const Optimum& optimum : Optima()) {
    SCOPED_TRACE(optimum.name + ", " + std::to_string(optimum.chunks) + " chunks");
    const TimeSchedule found = Found(Problem(optimum.graph, optimum.what, optimum.chunks));
    EXPECT_LE(found.epochs, std::max(optimum.epochs, optimum.found_max));
    EXPECT_GE(found.epochs, optimum.epochs);
    EXPECT_LE(found.bound, optimum.epochs);
    ++all;
    optimal += found.epochs == optimum.epochs ? 1 : 0;
    proved += found.epochs == found.bound ? 1 : 0;
  }
  EXPECT_EQ(all, 55);
  RecordProperty("optimal", optimal);
  RecordProperty("proved", proved);
}

/// The least number of epochs by trying all choices of chunks on all links, epoch by epoch. Links of one chunk an epoch
/// and no latency; more is never worse, so a link that could send something new does.
class Exhaustive {
 public:
  explicit Exhaustive(const TimeProblem& problem) : problem_(problem) {
    for (const Item& item : problem.items) start_.push_back(1u << item.source);
  }

  int32_t Epochs() {
    std::set<State> level = {start_};
    for (int32_t epoch = 0;; ++epoch) {
      std::set<State> next;
      for (const State& state : level) {
        if (Done(state)) return epoch;
        Extend(state, state, 0, &next);
      }
      level = std::move(next);
    }
  }

 private:
  using State = std::vector<uint32_t>;  // by item: who has it

  bool Done(const State& state) const {
    for (size_t x = 0; x < state.size(); ++x) {
      for (const int32_t target : problem_.items[x].targets) {
        if ((state[x] >> target & 1) == 0) return false;
      }
    }
    return true;
  }

  void Extend(const State& before, const State& after, size_t edge, std::set<State>* next) const {
    if (edge == problem_.graph.edges.size()) {
      next->insert(after);
      return;
    }
    const EpochGraph::Edge& link = problem_.graph.edges[edge];
    bool idle = true;
    for (size_t x = 0; x < before.size(); ++x) {
      if ((before[x] >> link.source & 1) == 0 || (after[x] >> link.target & 1) != 0) continue;
      idle = false;
      State more = after;
      more[x] |= 1u << link.target;
      Extend(before, more, edge + 1, next);
    }
    if (idle) Extend(before, after, edge + 1, next);
  }

  const TimeProblem& problem_;
  State start_;
};

TEST(TimeSearch, NeedsTheLeastEpochsOnTinyGraphs) {
  constexpr uint64_t kSeed = 20240811;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  Rng rng(kSeed);
  int tried = 0, optimal = 0;
  while (tried < 300) {
    const auto n = static_cast<int32_t>(rng.Between(2, 4));
    Graph graph(n);
    int32_t links = 0;
    for (int32_t i = 0; i < n; ++i) {
      for (int32_t j = 0; j < n; ++j) {
        if (i == j || rng.Below(2) == 0 || links == 8) continue;
        graph.One(i, j);
        ++links;
      }
    }
    TimeProblem problem{graph.Make(), {}};
    const auto items = static_cast<size_t>(rng.Between(1, 4));
    for (size_t x = 0; x < items; ++x) {
      Item item{static_cast<int32_t>(rng.Below(static_cast<uint64_t>(n))), {}};
      for (int32_t v = 0; v < n; ++v) {
        if (v != item.source && rng.Below(2) == 0) item.targets.push_back(v);
      }
      if (!item.targets.empty()) problem.items.push_back(item);
    }
    const StatusOr<TimeSchedule> found = FindTimeSchedule(problem, {});
    if (!found.ok()) {
      EXPECT_THAT(StatusMessage(found.status()), HasSubstr("does not reach rank"));
      continue;
    }
    const int32_t least = Exhaustive(problem).Epochs();
    EXPECT_GE(found->epochs, least) << "graph " << tried;
    EXPECT_LE(found->bound, least) << "graph " << tried;
    EXPECT_LE(found->epochs, least + 1) << "graph " << tried;
    optimal += found->epochs == least ? 1 : 0;
    ++tried;
  }
  EXPECT_GE(optimal, 297);
}

// A11: two tenants swap data over the one link in the middle. One after the other is what the weights ask for.
TEST(TimeSearch, TenantsShareTheFabricByWeight) {
  TimeProblem problem{Dumbbell().Make(), {{0, {2}, 0}, {2, {0}, 0}}};
  EXPECT_EQ(Found(problem).epochs, 3);
  problem.items.push_back({1, {3}, 1});
  problem.items.push_back({3, {1}, 1});
  problem.weights = {1, 1};
  EXPECT_EQ(Found(problem).epochs, 4);
  problem.weights = {1, 5};
  EXPECT_THAT(Found(problem).ends, ::testing::ElementsAre(4, 3));
  problem.weights = {5, 1};
  EXPECT_THAT(Found(problem).ends, ::testing::ElementsAre(3, 4));
}

TEST(TimeSearch, EqualQuestionsGetEqualAnswers) {
  const TimeProblem problem = Problem(Torus(4, false), What::kAllToAll, 1);
  const TimeSchedule a = Found(problem), b = Found(problem);
  EXPECT_EQ(a.sends, b.sends);
  EXPECT_EQ(a.rounds, b.rounds);
}

TEST(TimeSearch, NamesWhatIsWrong) {
  const auto error = [](const Graph& graph, const Item& item, std::vector<int64_t> weights = {1}) {
    const TimeProblem problem{graph.Make(), {item}, std::move(weights)};
    return std::string(StatusMessage(FindTimeSchedule(problem, {}).status()));
  };
  EXPECT_THAT(error(Graph(3).One(0, 1), {1, {2}}), HasSubstr("rank 1 does not reach rank 2; add the links"));
  EXPECT_THAT(error(Ring(3), {3, {0}}), HasSubstr("no rank 3 to send from"));
  EXPECT_THAT(error(Ring(3), {0, {3}}), HasSubstr("rank 0 cannot send to 3"));
  EXPECT_THAT(error(Ring(3), {0, {0}}), HasSubstr("rank 0 cannot send to 0"));
  EXPECT_THAT(error(Ring(3), {0, {1}, 1}), HasSubstr("no weight for tenant 1"));
  EXPECT_THAT(error(Ring(3), {0, {1}}, {0}), HasSubstr("weight is 0"));
}

// The recount must not believe: each way to cheat is seen.
TEST(TimeSearch, TheRecountSeesWhatIsWrong) {
  const TimeProblem problem = Problem(Ring(5), What::kAllGather, 1);
  const TimeSchedule good = Found(problem);
  const auto error = [&](const std::function<void(TimeSchedule*)>& change) {
    TimeSchedule bad = good;
    change(&bad);
    return std::string(StatusMessage(CheckTimeSchedule(problem, bad)));
  };
  EXPECT_EQ(error([](TimeSchedule*) {}), "");
  EXPECT_THAT(error([](TimeSchedule* s) { s->sends[0].pop_back(); }), HasSubstr("never reaches rank"));
  EXPECT_THAT(error([](TimeSchedule* s) { s->sends[0].push_back(s->sends[0].back()); }), HasSubstr("comes twice"));
  EXPECT_THAT(error([](TimeSchedule* s) { s->sends[0].back().epoch = 0; }), HasSubstr("before it is there"));
  EXPECT_THAT(error([](TimeSchedule* s) { ++s->epochs; }), HasSubstr("does not end when it says"));
  EXPECT_THAT(error([](TimeSchedule* s) {
                for (std::vector<timeflow::Send>& sends : s->sends) {
                  for (timeflow::Send& send : sends) send.epoch = 1;
                }
              }),
              HasSubstr("before it is there"));
  EXPECT_THAT(error([](TimeSchedule* s) {
                for (std::vector<timeflow::Send>& sends : s->sends) sends.back().epoch = 9;
              }),
              ::testing::AnyOf(HasSubstr("carries 2 of 1"), HasSubstr("does not end when it says")));
}

TEST(EpochGraph, CutsTimeByTheWidestLink) {
  TopologyBuilder builder("two speeds");
  const NodeId a = builder.AddRank("a", Rank(0)), b = builder.AddRank("b", Rank(1)), c = builder.AddRank("c", Rank(2));
  builder.AddLink(a, b, 100, 0.05);
  builder.AddLink(b, c, Rational(40), 2);
  builder.AddLink(c, a, 100, 1);
  const Topology topology = *std::move(builder).Build();
  const StatusOr<EpochGraph> graph = timeflow::EpochGraphOf(topology, 100'000);  // 1 us on the widest
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_EQ(graph->epoch_ns, Rational(1000));
  const auto edge = [&](int32_t source) -> const EpochGraph::Edge& {
    return *std::find_if(graph->edges.begin(), graph->edges.end(), [&](const auto& e) { return e.source == source; });
  };
  EXPECT_EQ(edge(0).delay, 1);  // a twentieth of an epoch counts as none
  EXPECT_EQ(edge(1).window, 3);
  EXPECT_EQ(edge(1).delay, 5);
  EXPECT_EQ(edge(2).delay, 2);
  // Short chunks: latencies would be thousands of epochs, so that epochs are made longer and links take many chunks.
  const StatusOr<EpochGraph> coarse = timeflow::EpochGraphOf(topology, 100);
  ASSERT_TRUE(coarse.ok());
  EXPECT_EQ(coarse->epoch_ns, Rational(32));
  EXPECT_EQ(coarse->edges[0].burst, 32);
}

/// Requests of every collective that `n` ranks can make.
std::vector<PlanRequest> Requests(int32_t n, int64_t bytes) {
  std::vector<PlanRequest> requests;
  for (const CollectiveInfo& info : AllCollectives()) {
    PlanRequest request;
    request.collective = info.collective;
    request.bytes = bytes;
    if (info.rooted) request.root = Rank(n - 1);
    if (info.collective == Collective::kAllToAllV) {
      for (int32_t i = 0; i < n * n; ++i) request.demand.push_back(i % 3 == 0 ? 0 : 100 + (i * 37) % 500);
    }
    requests.push_back(std::move(request));
  }
  return requests;
}

TEST(Timeflow, PlansAreRightAndTakeWhatTheEpochsSay) {
  constexpr int64_t kBytes = 8 << 20;
  for (const char* name : {"ring5", "mesh-2x3", "hypercube-3", "dgx1-v100", "servers-2x2"}) {
    const Topology topology = Named(name);
    for (const PlanRequest& request : Requests(topology.rank_count(), kBytes)) {
      SCOPED_TRACE(std::string(name) + " " + std::string(NameOf(request.collective)));
      const StatusOr<Schedule> schedule = TimeflowPlanner().MakeSchedule(topology, request);
      ASSERT_TRUE(schedule.ok()) << schedule.status();
      LowerOptions options;
      options.slice_bytes = 128;
      StatusOr<Plan> plan = Lower(*schedule, topology, options);
      ASSERT_TRUE(plan.ok()) << plan.status();
      const bool varies = request.collective == Collective::kAllToAllV;
      const Status verified = Verify(*plan, {!varies});
      ASSERT_TRUE(verified.ok()) << verified;
      InterpretRequest run;
      run.type = DataType::kInt64;
      run.count = 101;
      run.seed = 7;
      const Status met = CheckByRunning(*plan, run);
      EXPECT_TRUE(met.ok()) << met;
      if (varies) continue;
      const StatusOr<timeflow::TimeFacts> facts = timeflow::TimeFactsOf(topology, request);
      ASSERT_TRUE(facts.ok()) << facts.status();
      plan->slice_bytes = 65536;
      SimOptions sim;
      sim.bytes = kBytes;
      sim.op_overhead_us = 0;
      const StatusOr<SimResult> played = Simulate(*plan, topology, sim);
      ASSERT_TRUE(played.ok()) << played.status();
      const double promised_us = facts->epoch_ns.ToDouble() * facts->epochs / 1e3;
      EXPECT_LE(played->time_us, 1.5 * promised_us);
    }
  }
}

TEST(Timeflow, RefusesByName) {
  const Topology ring = Named("ring4");
  PlanRequest request;
  request.collective = Collective::kAllGather;
  const auto error = [&](const Topology& topology) {
    const Status serves = TimeflowPlanner().Serves(topology, request);
    const StatusOr<Schedule> schedule = TimeflowPlanner().MakeSchedule(topology, request);
    EXPECT_EQ(StatusMessage(serves), StatusMessage(schedule.status()));
    return std::string(StatusMessage(serves));
  };
  EXPECT_EQ(error(ring), "");
  EXPECT_THAT(error(Named("fullmesh-256")), HasSubstr("use another planner"));
  request.variant = "slow";
  EXPECT_THAT(error(ring), HasSubstr("no variant 'slow'; leave it out, or use whole or fluid"));
  request.variant = "";
  request.trees_per_root = 65;
  EXPECT_THAT(error(ring), HasSubstr("1 to 64 chunks"));
  request.trees_per_root = 0;
  request.collective = Collective::kBroadcast;
  request.root = Rank(4);
  EXPECT_THAT(error(ring), HasSubstr("needs a root"));
  request.collective = Collective::kAllToAllV;
  EXPECT_THAT(error(ring), HasSubstr("needs a demand of 16 numbers"));
}

}  // namespace
}  // namespace mycel
