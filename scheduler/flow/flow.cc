#include "scheduler/flow/flow.h"

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>

#include "core/base/check.h"
#include "scheduler/flow/concurrent_flow.h"
#include "scheduler/flow/path_rounding.h"

namespace mycel {
namespace flow {
namespace {

/// Beyond, a contest would wait longer for the flow than it is likely to save.
constexpr int32_t kContestRanksMax = 64;
/// Blocks up to this go by the order of short ones (simulated on machines of 8 to 16 ranks).
constexpr int64_t kShortBlockBytes = 512 * 1024;
/// Hops of all units, at most (lowering takes some 100 bytes for each).
constexpr int64_t kHopsMax = int64_t{1} << 24;
/// The variant whose blocks are never cut.
constexpr std::string_view kWhole = "whole";

Status CheckRequest(const PlanRequest& request) {
  if (request.collective != Collective::kAllToAll && request.collective != Collective::kAllToAllV) {
    return Impossible("planner flow serves alltoall and alltoallv, not " + std::string(NameOf(request.collective)) +
                      "; use auto, or bfb or forest");
  }
  if (!request.variant.empty() && request.variant != kWhole) {
    return InvalidArgument("planner flow has no variant '" + request.variant + "'; leave it out, or use whole");
  }
  return OkStatus();
}

Status CheckHops(int64_t hops, const Topology& topology) {
  if (hops <= kHopsMax) return OkStatus();
  return Impossible("the pairs of topology '" + topology.name() + "' are " + std::to_string(hops) +
                    " hops apart in all; planner flow makes plans of up to 2^24");
}

/// A part of a pair's block on its path.
struct Part {
  int32_t source, target;
  int64_t begin, end;          // units of the pair
  std::vector<int32_t> nodes;  // from source to target
  int32_t hops = 0;            // from rank to rank
};

/// Writes parts as trees.
class Painter {
 public:
  Painter(const FlowGraph& graph, Schedule* schedule) : graph_(graph), schedule_(*schedule) {}

  void Paint(const Part& part, const Chunk& chunk) {
    Tree tree;
    tree.chunk = chunk;
    tree.root = Rank(part.source);
    size_t from = 0;
    for (size_t at = 1; at < part.nodes.size(); ++at) {
      if (part.nodes[at] >= graph_.rank_count) continue;
      TreeEdge edge{Rank(part.nodes[from]), Rank(part.nodes[at]), -1};
      if (at - from > 1) edge.route = RouteOf(part.nodes, from, at);
      tree.down.push_back(edge);
      from = at;
    }
    schedule_.trees.push_back(std::move(tree));
  }

 private:
  int32_t RouteOf(const std::vector<int32_t>& nodes, size_t from, size_t to) {
    Route route;
    for (size_t i = from; i <= to; ++i) route.push_back(graph_.nodes[static_cast<size_t>(nodes[i])]);
    const auto [at, fresh] = routes_.try_emplace(route, static_cast<int32_t>(schedule_.routes.size()));
    if (fresh) schedule_.routes.push_back(std::move(route));
    return at->second;
  }

  const FlowGraph& graph_;
  Schedule& schedule_;
  std::map<Route, int32_t> routes_;
};

/// The parts of all pairs; where one source stands for all, its paths moved to each of them.
std::vector<Part> PartsOf(const ConcurrentFlow& flow, const std::vector<PairPaths>& pairs, bool longest_first) {
  const FlowGraph& graph = flow.graph();
  std::vector<Part> parts;
  for (const PairPaths& pair : pairs) {
    int64_t begin = 0;
    for (const WeightedPath& path : pair.paths) {
      Part part{pair.source, pair.target, begin, begin + path.weight, {pair.source}, 0};
      begin = part.end;
      for (const int32_t e : path.edges) {
        part.nodes.push_back(graph.edges[static_cast<size_t>(e)].target);
        if (part.nodes.back() < graph.rank_count) ++part.hops;
      }
      if (!flow.translations()) {
        parts.push_back(std::move(part));
        continue;
      }
      for (int32_t source = 0; source < graph.rank_count; ++source) {
        Part moved = part;
        for (int32_t& node : moved.nodes) node = flow.translations()->Add(node, source);
        moved.source = moved.nodes.front();
        moved.target = moved.nodes.back();
        parts.push_back(std::move(moved));
      }
    }
  }
  // Short blocks: the longest ways first, whose hops are what takes time. Long ones: the shortest first, which fill all
  // links at once. Then by distance of the ranks, so that equal places in their programs mean different receivers.
  const int32_t n = graph.rank_count;
  std::stable_sort(parts.begin(), parts.end(), [n, longest_first](const Part& a, const Part& b) {
    const auto key = [n, longest_first](const Part& part) {
      return std::tuple(longest_first ? -part.hops : part.hops, (part.target - part.source + n) % n, part.begin,
                        part.source);
    };
    return key(a) < key(b);
  });
  return parts;
}

class Flow final : public Planner {
 public:
  std::string_view name() const override { return "flow"; }
  std::string_view summary() const override {
    return "all pairs at once over relays, as a concurrent flow that is proved to be near the optimum";
  }

  Status Serves(const Topology& topology, const PlanRequest& request) const override {
    MYCEL_RETURN_IF_ERROR(CheckRequest(request));
    MYCEL_ASSIGN_OR_RETURN(const Demand demand, DemandOf(topology, request));
    MYCEL_ASSIGN_OR_RETURN(const FlowGraph graph, FlowGraphOf(topology));
    MYCEL_ASSIGN_OR_RETURN(const int64_t hops, HopsOf(graph, demand, topology));
    return CheckHops(hops, topology);
  }

  Status Contends(const Topology& topology, const PlanRequest& request) const override {
    if (request.collective == Collective::kAllToAllV) {
      return Impossible("a flow for every new matrix takes too long for a contest; --planner flow asks for it");
    }
    const int64_t n = topology.rank_count();
    if (topology.node_count() > n) {
      return Impossible("ranks meet through switches, where relays gain nothing; --planner flow asks for it");
    }
    if (std::ssize(topology.links()) == n * (n - 1)) {
      return Impossible("all ranks are neighbours: nothing needs a relay; --planner flow asks for it");
    }
    if (n > kContestRanksMax) {
      return Impossible("a contest on more than " + std::to_string(kContestRanksMax) +
                        " ranks would wait too long for its flow; --planner flow asks for it");
    }
    return OkStatus();
  }

  std::vector<std::string> VariantsFor(const Topology&, const PlanRequest&) const override {
    return {std::string(), std::string(kWhole)};
  }

  StatusOr<Schedule> MakeSchedule(const Topology& topology, const PlanRequest& request) const override {
    MYCEL_RETURN_IF_ERROR(CheckRequest(request));
    MYCEL_RETURN_IF_ERROR(Serves(topology, request));
    MYCEL_ASSIGN_OR_RETURN(const std::unique_ptr<ConcurrentFlow> flow, ConcurrentFlow::Make(topology, request));
    Schedule schedule;
    schedule.collective = request.collective;
    schedule.rank_count = topology.rank_count();
    schedule.block_units = request.collective == Collective::kAllToAllV ? request.demand : std::vector<int64_t>();
    const bool whole = request.variant == kWhole;
    schedule.planner = whole ? "flow/whole" : "flow";
    const int32_t n = schedule.rank_count;
    for (int32_t r = 0; r < n; ++r) {
      const int64_t units = schedule.UnitsOf(r * n + r);
      if (units > 0) schedule.trees.push_back({{r * n + r, 0, units}, Rank(r), 0, {}, {}, 0});
    }
    if (flow->empty()) return schedule;
    std::vector<PairPaths> pairs = PeelPaths(flow->problem(), flow->solution());
    const int64_t units_max = whole ? 1 : std::max<int64_t>(1, kHopsMax / flow->hops());
    const int64_t units = ChooseUnits(flow->problem(), units_max, &pairs);
    if (schedule.block_units.empty()) {
      schedule.units_per_block = units;
      for (Tree& tree : schedule.trees) tree.chunk.end = units;
    }
    Painter painter(flow->graph(), &schedule);
    const int64_t block_bytes = schedule.block_units.empty() ? request.bytes / n : flow->demand().total / n / n;
    const bool longest_first = block_bytes <= kShortBlockBytes;
    for (const Part& part : PartsOf(*flow, pairs, longest_first)) {
      const int32_t block = part.source * n + part.target;
      const int64_t size = schedule.UnitsOf(block);
      const auto at = [&](int64_t unit) { return static_cast<int64_t>(int128{size} * unit / units); };
      const Chunk chunk{block, at(part.begin), at(part.end)};
      if (chunk.units() > 0) painter.Paint(part, chunk);
    }
    return schedule;
  }
};

}  // namespace
}  // namespace flow

const Planner& FlowPlanner() {
  static const flow::Flow planner;
  return planner;
}

}  // namespace mycel
