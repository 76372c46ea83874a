#include "scheduler/timeflow/fluid_schedule.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <string>
#include <tuple>
#include <utility>

#include "core/plan/contract.h"
#include "scheduler/flow/flow_graph.h"
#include "scheduler/timeflow/stepped_flow.h"

namespace mycel::timeflow {
namespace {

/// Blocks are cut into so many units at most where fractions are exact, and into so many where they are not.
constexpr int64_t kExactUnitsMax = 60;
constexpr int64_t kRoundedUnits = 16;
/// Steps tried beyond what the farthest pair needs.
constexpr int32_t kMoreStepsMax = 2;

StatusOr<flow::Demand> DemandFor(const Topology& topology, const PlanRequest& request) {
  const bool rooted = request.collective == Collective::kGather || request.collective == Collective::kScatter;
  if (!rooted) return flow::DemandOf(topology, request);
  const int32_t n = topology.rank_count();
  flow::Demand demand;
  demand.rank_count = n;
  demand.amounts.resize(static_cast<size_t>(n) * static_cast<size_t>(n));
  const int32_t root = request.root.value();
  for (int32_t v = 0; v < n; ++v) {
    if (v == root) continue;
    const bool gathers = request.collective == Collective::kGather;
    demand.amounts[static_cast<size_t>(gathers ? v * n + root : root * n + v)] = 1;
  }
  demand.total = n - 1;
  return demand;
}

/// The fewest steps in which the flow ends no later than in any number tried.
StatusOr<SteppedFlow> BestFlow(const flow::FlowGraph& graph, const flow::Demand& demand) {
  const int32_t apart = StepsApart(graph, demand);
  MYCEL_ASSIGN_OR_RETURN(SteppedFlow best, SolveSteppedFlow(graph, demand, apart, Ending::kLeastSum));
  for (int32_t more = 1; more <= kMoreStepsMax; ++more) {
    StatusOr<SteppedFlow> longer = SolveSteppedFlow(graph, demand, apart + more, Ending::kLeastSum);
    if (!longer.ok() || longer->time >= best.time) break;
    best = *std::move(longer);
  }
  return best;
}

int64_t UnitsFor(const SteppedFlow& flow) {
  int64_t units = 1;
  for (const SteppedFlow::Path& path : flow.paths) {
    units = std::lcm(units, path.amount.denominator());
    if (units > kExactUnitsMax) return kRoundedUnits;
  }
  return units;
}

Tree TreeOf(const SteppedFlow::Path& path, const flow::FlowGraph& graph, std::map<Route, int32_t>* routes,
            Schedule* schedule) {
  Tree tree;
  tree.root = Rank(path.source);
  Route route = {graph.nodes[static_cast<size_t>(path.source)]};
  int32_t from = path.source;
  for (const int32_t e : path.edges) {
    const int32_t node = graph.edges[static_cast<size_t>(e)].target;
    route.push_back(graph.nodes[static_cast<size_t>(node)]);
    if (node >= graph.rank_count) continue;
    TreeEdge edge{Rank(from), Rank(node), -1};
    if (route.size() > 2) {
      const auto [at, fresh] = routes->try_emplace(route, static_cast<int32_t>(schedule->routes.size()));
      if (fresh) schedule->routes.push_back(route);
      edge.route = at->second;
    }
    tree.down.push_back(edge);
    route = {graph.nodes[static_cast<size_t>(node)]};
    from = node;
  }
  return tree;
}

int32_t BlockOf(Collective collective, int32_t source, int32_t target, int32_t rank_count) {
  if (collective == Collective::kGather) return source;
  if (collective == Collective::kScatter) return target;
  return source * rank_count + target;
}

}  // namespace

StatusOr<Schedule> FluidSchedule(const Topology& topology, const PlanRequest& request) {
  switch (request.collective) {
    case Collective::kAllToAll:
    case Collective::kAllToAllV:
    case Collective::kGather:
    case Collective::kScatter:
      break;
    default:
      return Impossible("timeflow's variant fluid serves alltoall, alltoallv, gather and scatter, not " +
                        std::string(NameOf(request.collective)) + ", which copies; leave the variant out");
  }
  MYCEL_ASSIGN_OR_RETURN(const flow::FlowGraph graph, flow::FlowGraphOf(topology));
  MYCEL_ASSIGN_OR_RETURN(const flow::Demand demand, DemandFor(topology, request));
  MYCEL_ASSIGN_OR_RETURN(const SteppedFlow flow, BestFlow(graph, demand));
  Schedule schedule;
  schedule.collective = request.collective;
  schedule.rank_count = topology.rank_count();
  if (InfoOf(request.collective).rooted) schedule.root = request.root;
  schedule.planner = "timeflow/fluid";
  const bool varies = request.collective == Collective::kAllToAllV;
  if (varies) schedule.block_units = request.demand;
  schedule.units_per_block = varies ? 1 : UnitsFor(flow);
  const int32_t n = schedule.rank_count;
  const Contract contract{request.collective, n, request.root};
  for (int32_t block = 0; block < contract.BlockCount(); ++block) {  // what stays where it is
    const Rank source = contract.Contributors(block).front();
    if (contract.RecvPlace(source, block) < 0 || schedule.UnitsOf(block) == 0) continue;
    schedule.trees.push_back({{block, 0, schedule.UnitsOf(block)}, source, 0, {}, {}, 0});
  }
  std::map<Route, int32_t> routes;
  std::vector<Tree> trees;
  Rational done;
  for (size_t i = 0; i < flow.paths.size(); ++i) {
    const SteppedFlow::Path& path = flow.paths[i];
    const bool same = i > 0 && flow.paths[i - 1].source == path.source && flow.paths[i - 1].target == path.target;
    if (!same) done = Rational(0);
    // alltoallv's amounts are in units already.
    const Rational scale(varies ? 1 : schedule.units_per_block);
    const auto at = [&](const Rational& amount) {
      const Rational twice = amount * scale * Rational(2) + Rational(1);  // to the nearest unit
      return twice.numerator() / (twice.denominator() * 2);
    };
    const int64_t begin = at(done);
    done += path.amount;
    Tree tree = TreeOf(path, graph, &routes, &schedule);
    tree.chunk = {BlockOf(request.collective, path.source, path.target, n), begin, at(done)};
    if (tree.chunk.units() > 0) trees.push_back(std::move(tree));
  }
  // Long ways first; then by distance of the ranks, so that equal places in their programs mean different receivers.
  std::stable_sort(trees.begin(), trees.end(), [n](const Tree& a, const Tree& b) {
    const auto key = [n](const Tree& tree) {
      const int32_t target = tree.down.back().target.value();
      return std::tuple(-std::ssize(tree.down), (target - tree.root.value() + n) % n, tree.chunk.begin);
    };
    return key(a) < key(b);
  });
  for (Tree& tree : trees) schedule.trees.push_back(std::move(tree));
  return schedule;
}

}  // namespace mycel::timeflow
