#include "scheduler/timeflow/timeflow.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/plan/structure.h"
#include "scheduler/lp/lp_solver.h"
#include "scheduler/timeflow/chunk_demand.h"
#include "scheduler/timeflow/fluid_schedule.h"
#include "scheduler/timeflow/time_search.h"

namespace mycel {
namespace timeflow {
namespace {

/// The variant whose blocks are never cut: the fewest messages, for short ones.
constexpr std::string_view kWhole = "whole";
/// Fractions of blocks by a linear program, where nothing is copied; latencies do not count.
constexpr std::string_view kFluid = "fluid";
/// Chunks of a block when asked by --trees-per-root.
constexpr int32_t kChunksMax = 64;
/// Hops of the topology times chunks, at most: what one look at everything costs.
constexpr int64_t kWorkMax = int64_t{1} << 21;
/// Beyond, a contest would wait longer for the search than it is likely to save.
constexpr int32_t kContestRanksMax = 12;
/// Beyond, the linear program takes too long for a contest.
constexpr int32_t kFluidRanksMax = 9;
/// Epochs looked at by one search.
constexpr int64_t kProbesMax = 300'000;

bool Reduces(Collective collective) {
  return collective == Collective::kReduceScatter || collective == Collective::kReduce;
}

/// How finely blocks are cut: all are tried that may end sooner.
std::vector<int32_t> Cuttings(const PlanRequest& request) {
  if (request.variant == kWhole) return {1};
  if (request.trees_per_root > 0) return {request.trees_per_root};
  switch (request.collective) {
    case Collective::kBroadcast:
    case Collective::kReduce:
      return {1, 2, 4, 8};
    case Collective::kAllGather:
    case Collective::kReduceScatter:
    case Collective::kAllReduce:
      return {1, 2, 3};
    default:
      return {1, 2};
  }
}

Status CheckRequest(const Topology& topology, const PlanRequest& request) {
  MYCEL_RETURN_IF_ERROR(CheckRoot(topology, request));
  if (!request.variant.empty() && request.variant != kWhole && request.variant != kFluid) {
    return InvalidArgument("planner timeflow has no variant '" + request.variant +
                           "'; leave it out, or use whole or fluid");
  }
  if (request.trees_per_root < 0 || request.trees_per_root > kChunksMax) {
    return InvalidArgument("planner timeflow cuts a block into 1 to " + std::to_string(kChunksMax) + " chunks, not " +
                           std::to_string(request.trees_per_root) + "; change --trees-per-root");
  }
  if (request.collective == Collective::kAllToAllV) {
    const auto n = static_cast<size_t>(topology.rank_count());
    const bool negative =
        std::any_of(request.demand.begin(), request.demand.end(), [](int64_t bytes) { return bytes < 0; });
    if (request.demand.size() != n * n || negative) {
      return InvalidArgument("alltoallv on " + std::to_string(n) + " ranks needs a demand of " + std::to_string(n * n) +
                             " numbers of bytes, none negative");
    }
  }
  return CheckConnected(topology);
}

/// One cutting, scheduled: what copies on `forward`, what reduces on the reversed topology.
struct Cut {
  int32_t chunks = 1;
  ChunkDemand demand;
  std::optional<EpochGraph> down_graph, up_graph;
  std::optional<TimeSchedule> down, up;

  int32_t Epochs() const { return (down ? down->epochs : 0) + (up ? up->epochs : 0); }
  int32_t Bound() const { return (down ? down->bound : 0) + (up ? up->bound : 0); }
  const Rational& EpochNs() const { return down_graph ? down_graph->epoch_ns : up_graph->epoch_ns; }
};

StatusOr<Cut> MakeCut(const Topology& topology, const PlanRequest& request, int32_t chunks) {
  Cut cut;
  cut.chunks = chunks;
  cut.demand = ChunkDemandOf(request, topology.rank_count(), chunks);
  if (!Reduces(request.collective)) {
    MYCEL_ASSIGN_OR_RETURN(cut.down_graph, EpochGraphOf(topology, cut.demand.chunk_bytes));
  }
  if (Reduces(request.collective) || request.collective == Collective::kAllReduce) {
    MYCEL_ASSIGN_OR_RETURN(cut.up_graph, EpochGraphOf(Reversed(topology), cut.demand.chunk_bytes));
  }
  const EpochGraph& graph = cut.down_graph ? *cut.down_graph : *cut.up_graph;
  const int64_t work = std::ssize(graph.hops) * std::ssize(cut.demand.items);
  if (work > kWorkMax) {
    return Impossible("topology '" + topology.name() + "' has " + std::to_string(graph.hops.size()) + " hops for " +
                      std::to_string(cut.demand.items.size()) +
                      " chunks; planner timeflow searches where their product is at most 2^21; use another planner");
  }
  return cut;
}

Status Search(const EpochGraph& graph, const std::vector<Item>& items, std::optional<TimeSchedule>* schedule) {
  const int64_t look = std::max<int64_t>(1, std::ssize(graph.hops) * std::ssize(items));
  TimeSearch search;
  search.probes_max = kProbesMax;
  search.starts = static_cast<int32_t>(std::clamp<int64_t>(kProbesMax / look, 1, 16));
  MYCEL_ASSIGN_OR_RETURN(*schedule, FindTimeSchedule({graph, items}, search));
  return OkStatus();
}

/// The cutting that ends first; of equal ones the coarsest.
StatusOr<Cut> BestCut(const Topology& topology, const PlanRequest& request) {
  std::optional<Cut> best;
  for (const int32_t chunks : Cuttings(request)) {
    StatusOr<Cut> cut = MakeCut(topology, request, chunks);
    if (!cut.ok() && best) break;  // too fine; the coarser ones did
    MYCEL_RETURN_IF_ERROR(cut.status());
    const auto bound_of = [&](const std::optional<EpochGraph>& graph) {
      return graph ? FinishBound({*graph, cut->demand.items}) : 0;
    };
    const int32_t bound = bound_of(cut->down_graph) + bound_of(cut->up_graph);
    const auto ns = [](int32_t epochs, const Cut& of) { return of.EpochNs().ToDouble() * epochs; };
    if (best && ns(bound, *cut) >= ns(best->Epochs(), *best)) continue;
    if (cut->down_graph) MYCEL_RETURN_IF_ERROR(Search(*cut->down_graph, cut->demand.items, &cut->down));
    if (cut->up_graph) MYCEL_RETURN_IF_ERROR(Search(*cut->up_graph, cut->demand.items, &cut->up));
    if (!best || ns(cut->Epochs(), *cut) < ns(best->Epochs(), *best)) best = *std::move(cut);
  }
  return *std::move(best);
}

/// Writes sends as trees.
class Painter {
 public:
  explicit Painter(Schedule* schedule) : schedule_(*schedule) {}

  std::vector<TreeEdge> Down(const EpochGraph& graph, const std::vector<Send>& sends) {
    std::vector<TreeEdge> edges;
    for (const Send& send : sends) edges.push_back(EdgeOf(graph, send, false));
    return edges;
  }

  /// Sends on the reversed topology, backwards: children first.
  std::vector<TreeEdge> Up(const EpochGraph& graph, const std::vector<Send>& sends) {
    std::vector<TreeEdge> edges;
    for (auto send = sends.rbegin(); send != sends.rend(); ++send) edges.push_back(EdgeOf(graph, *send, true));
    return edges;
  }

 private:
  TreeEdge EdgeOf(const EpochGraph& graph, const Send& send, bool reversed) {
    const EpochGraph::Hop& hop = graph.hops[static_cast<size_t>(send.hop)];
    TreeEdge edge{Rank(hop.source), Rank(hop.target), -1};
    if (reversed) std::swap(edge.source, edge.target);
    if (hop.edges.size() == 1) return edge;
    Route route = {graph.nodes[static_cast<size_t>(hop.source)]};
    for (const int32_t e : hop.edges) {
      route.push_back(graph.nodes[static_cast<size_t>(graph.edges[static_cast<size_t>(e)].target)]);
    }
    if (reversed) std::reverse(route.begin(), route.end());
    const auto [at, fresh] = routes_.try_emplace(route, static_cast<int32_t>(schedule_.routes.size()));
    if (fresh) schedule_.routes.push_back(std::move(route));
    edge.route = at->second;
    return edge;
  }

  Schedule& schedule_;
  std::map<Route, int32_t> routes_;
};

/// When an item's sends lag behind the soonest that its tree could go: lowering sends level by level, and of equal
/// levels in the order of trees.
int32_t LatenessOf(const EpochGraph& graph, int32_t source, const std::vector<Send>& sends) {
  std::vector<int32_t> soonest(static_cast<size_t>(graph.rank_count));
  soonest[static_cast<size_t>(source)] = 0;
  int32_t late = 0;
  for (const Send& send : sends) {
    const EpochGraph::Hop& hop = graph.hops[static_cast<size_t>(send.hop)];
    const int32_t start = soonest[static_cast<size_t>(hop.source)];
    late = std::max(late, send.epoch - start);
    soonest[static_cast<size_t>(hop.target)] = start + hop.delay;
  }
  return late;
}

class Timeflow final : public Planner {
 public:
  std::string_view name() const override { return "timeflow"; }
  std::string_view summary() const override {
    return "chunks timed epoch by epoch over links with latencies: a search in the time-expanded graph";
  }

  Status Serves(const Topology& topology, const PlanRequest& request) const override {
    MYCEL_RETURN_IF_ERROR(CheckRequest(topology, request));
    if (request.variant == kFluid) return FluidSchedule(topology, request).status();
    return MakeCut(topology, request, Cuttings(request).front()).status();
  }

  Status Contends(const Topology& topology, const PlanRequest& request) const override {
    if (request.collective == Collective::kAllToAllV) {
      return Impossible("a search for every new matrix takes too long for a contest; --planner timeflow asks for it");
    }
    const int64_t n = topology.rank_count();
    if (topology.node_count() > n) {
      return Impossible(
          "ranks meet through switches, where its search takes too long for a contest; "
          "--planner timeflow asks for it");
    }
    if (std::ssize(topology.links()) == n * (n - 1)) {
      return Impossible("all ranks are neighbours: its trees are planner direct's; --planner timeflow asks for it");
    }
    if (n > kContestRanksMax) {
      return Impossible("a contest on more than " + std::to_string(kContestRanksMax) +
                        " ranks would wait too long for its search; --planner timeflow asks for it");
    }
    return OkStatus();
  }

  std::vector<std::string> VariantsFor(const Topology& topology, const PlanRequest& request) const override {
    std::vector<std::string> variants = {std::string(), std::string(kWhole)};
    const bool copies = request.collective != Collective::kAllToAll && request.collective != Collective::kGather &&
                        request.collective != Collective::kScatter;
    const int32_t n = topology.rank_count();
    const bool small = n <= kFluidRanksMax && topology.node_count() == n;
    if (!copies && small && LpSolver::Available()) variants.emplace_back(kFluid);
    return variants;
  }

  StatusOr<Schedule> MakeSchedule(const Topology& topology, const PlanRequest& request) const override {
    MYCEL_RETURN_IF_ERROR(CheckRequest(topology, request));
    if (request.variant == kFluid) return FluidSchedule(topology, request);
    MYCEL_ASSIGN_OR_RETURN(Cut cut, BestCut(topology, request));
    Schedule schedule;
    schedule.collective = request.collective;
    schedule.rank_count = topology.rank_count();
    if (InfoOf(request.collective).rooted) schedule.root = request.root;
    schedule.planner = request.variant == kWhole ? "timeflow/whole" : "timeflow";
    schedule.units_per_block = cut.demand.units_per_block;
    schedule.block_units = std::move(cut.demand.block_units);
    schedule.trees = std::move(cut.demand.own);
    const auto late_of = [&](size_t x) {
      const int32_t source = cut.demand.items[x].source;
      const int32_t down = cut.down ? LatenessOf(*cut.down_graph, source, cut.down->sends[x]) : 0;
      return down + (cut.up ? LatenessOf(*cut.up_graph, source, cut.up->sends[x]) : 0);
    };
    std::vector<std::pair<int32_t, size_t>> order;
    for (size_t x = 0; x < cut.demand.items.size(); ++x) order.emplace_back(late_of(x), x);
    std::sort(order.begin(), order.end());
    Painter painter(&schedule);
    for (const auto& [late, x] : order) {
      Tree tree;
      tree.chunk = cut.demand.chunks[x];
      tree.root = Rank(cut.demand.items[x].source);
      if (cut.up) tree.up = painter.Up(*cut.up_graph, cut.up->sends[x]);
      if (cut.down) tree.down = painter.Down(*cut.down_graph, cut.down->sends[x]);
      schedule.trees.push_back(std::move(tree));
    }
    return schedule;
  }
};

}  // namespace

StatusOr<TimeFacts> TimeFactsOf(const Topology& topology, const PlanRequest& request) {
  MYCEL_RETURN_IF_ERROR(CheckRequest(topology, request));
  MYCEL_ASSIGN_OR_RETURN(const Cut cut, BestCut(topology, request));
  const int64_t rounds = (cut.down ? cut.down->rounds : 0) + (cut.up ? cut.up->rounds : 0);
  return TimeFacts{cut.chunks, cut.Epochs(), cut.Bound(), cut.EpochNs(), rounds};
}

}  // namespace timeflow

const Planner& TimeflowPlanner() {
  static const timeflow::Timeflow planner;
  return planner;
}

}  // namespace mycel
