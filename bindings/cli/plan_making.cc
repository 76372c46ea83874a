#include "bindings/cli/plan_making.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <thread>
#include <utility>

#include "bindings/cli/demand_file.h"
#include "bindings/cli/tree_heights.h"
#include "core/base/clock.h"
#include "scheduler/select/planners.h"
#include "scheduler/sim/sim.h"

namespace mycel::cli {
namespace {

template <typename T>
T MedianOf(std::vector<T> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// Microseconds that the planner of `plan` takes to make its schedule.
StatusOr<double> SynthesisUs(const Topology& topology, const PlanRequest& request, const Plan& plan) {
  const size_t slash = plan.planner.find('/');
  MYCEL_ASSIGN_OR_RETURN(const Planner* planner, FindPlanner(PlannerName(plan)));
  PlanRequest same = request;
  if (slash != std::string::npos) same.variant = plan.planner.substr(slash + 1);
  const int64_t start_ns = NowNs();
  const StatusOr<Schedule> schedule = planner->MakeSchedule(topology, same);
  if (!schedule.ok()) return schedule.status();
  return static_cast<double>(NowNs() - start_ns) * 1e-3;
}

std::vector<std::pair<Rank, Rank>> EdgesOf(const Tree& tree) {
  std::vector<std::pair<Rank, Rank>> edges;
  for (const TreeEdge& edge : tree.up) edges.emplace_back(edge.source, edge.target);
  for (const TreeEdge& edge : tree.down) edges.emplace_back(edge.source, edge.target);
  std::sort(edges.begin(), edges.end());
  return edges;
}

/// Whether every root's data are `parts` equal parts, each on one tree; equal trees may be one with several parts.
bool HasParts(const Schedule& schedule, int64_t parts) {
  std::map<Rank, int64_t> units_of;
  for (const Tree& tree : schedule.trees) units_of[tree.root] += tree.chunk.units();
  return std::all_of(schedule.trees.begin(), schedule.trees.end(), [&](const Tree& tree) {
    const int64_t units = units_of[tree.root];
    return units % parts == 0 && (units == 0 || tree.chunk.units() % (units / parts) == 0);
  });
}

/// A planner that has no say in the number of trees must not be taken to have obeyed.
Status CheckTreesPerRoot(const PlanRequest& request, const Choice& choice, const TreeFacts& trees) {
  const int64_t wanted = request.trees_per_root;
  if (wanted == 0 || trees.per_root == wanted || HasParts(choice.schedule, wanted)) return OkStatus();
  return Impossible("planner " + choice.plan.planner + " makes " + std::to_string(trees.per_root) +
                    " trees per root for " + std::string(NameOf(request.collective)) + " here, not " +
                    std::to_string(wanted) + "; leave --trees-per-root out");
}

}  // namespace

std::string UsageError(const PlanArguments& arguments) {
  const CollectiveInfo& info = InfoOf(*arguments.collective);
  const std::string name(info.name);
  const bool v = info.collective == Collective::kAllToAllV;
  if (v && arguments.demand.empty()) {
    return "--collective alltoallv needs --demand M.csv: one row per sender, one byte count per receiver";
  }
  if (!v && !arguments.demand.empty()) return "--demand is for --collective alltoallv, not " + name;
  if (v && arguments.bytes_given) return "--bytes does not go with --demand, whose counts say how much moves";
  if (!info.rooted && arguments.root >= 0) {
    return "--root is for broadcast, reduce, gather and scatter; " + name + " has no root";
  }
  return {};
}

StatusOr<PlanRequest> RequestOf(const PlanArguments& arguments, const Topology& topology) {
  PlanRequest request;
  request.collective = *arguments.collective;
  request.bytes = arguments.bytes;
  request.planner = arguments.planner;
  request.trees_per_root = static_cast<int32_t>(arguments.trees_per_root);
  request.lanes = static_cast<int32_t>(arguments.lanes);
  request.in_place = true;
  const int32_t n = topology.rank_count();
  if (InfoOf(request.collective).rooted) {
    request.root = Rank(std::max<int64_t>(0, arguments.root));
    if (arguments.root >= n) {
      return InvalidArgument("--root " + std::to_string(arguments.root) + ": " + topology.name() + " has ranks 0.." +
                             std::to_string(n - 1));
    }
  }
  if (request.collective == Collective::kAllToAllV) {
    MYCEL_ASSIGN_OR_RETURN(request.demand, ReadDemandFile(arguments.demand, n));
    const int64_t total = std::accumulate(request.demand.begin(), request.demand.end(), int64_t{0});
    request.bytes = total / n;
  }
  return request;
}

TreeFacts FactsOf(const Schedule& schedule) {
  TreeFacts facts;
  std::vector<int64_t> depth(static_cast<size_t>(schedule.rank_count));
  std::map<Rank, int64_t> of_root;
  std::map<Rank, int64_t> units_of_root;
  std::set<std::pair<Rank, std::vector<std::pair<Rank, Rank>>>> shapes;
  for (const Tree& tree : schedule.trees) {
    facts.per_root = std::max(facts.per_root, ++of_root[tree.root]);
    facts.units = std::max(facts.units, units_of_root[tree.root] += tree.chunk.units());
    facts.depth_max = std::max(
        {facts.depth_max, HeightOf(tree.root, tree.up, false, &depth), HeightOf(tree.root, tree.down, true, &depth)});
    facts.stages = std::max<int64_t>(facts.stages, tree.stage + 1);
    shapes.emplace(tree.root, EdgesOf(tree));
  }
  facts.distinct = static_cast<int64_t>(shapes.size());
  return facts;
}

StatusOr<MadePlan> MakePlan(const Topology& topology, const PlanRequest& request, int64_t repeat) {
  const CostModel cost = CostModelFor(topology);
  MadePlan made;
  std::vector<double> plan_ms;
  std::vector<double> synthesis_us;
  for (int64_t i = 0; i < repeat; ++i) {
    const int64_t start_ns = NowNs();
    StatusOr<Choice> choice = ChoosePlan(topology, request, cost);
    if (!choice.ok()) {
      // Why nobody serves the request is best said by the topology itself.
      const Status connected = CheckConnected(topology);
      return choice.status().code() == StatusCode::kUnimplemented && !connected.ok() ? connected : choice.status();
    }
    made.choice = *std::move(choice);
    made.verified = Verify(made.choice.plan);
    plan_ms.push_back(static_cast<double>(NowNs() - start_ns) * 1e-6);
    if (request.collective == Collective::kAllToAllV) {
      MYCEL_ASSIGN_OR_RETURN(const double us, SynthesisUs(topology, request, made.choice.plan));
      synthesis_us.push_back(us);
    }
  }
  made.trees = FactsOf(made.choice.schedule);
  MYCEL_RETURN_IF_ERROR(CheckTreesPerRoot(request, made.choice, made.trees));
  made.plan_ms = MedianOf(std::move(plan_ms));
  if (!synthesis_us.empty()) made.synthesis_us = MedianOf(std::move(synthesis_us));
  MYCEL_ASSIGN_OR_RETURN(made.loads, ComputeLinkLoads(made.choice.plan, topology));
  MYCEL_ASSIGN_OR_RETURN(made.achieved, AchievedInvX(made.loads, request.collective, topology.rank_count()));
  return made;
}

CostModel CostModelFor(const Topology& topology) {
  const bool shared =
      !topology.links().empty() && std::all_of(topology.links().begin(), topology.links().end(),
                                               [](const Link& link) { return link.kind == LinkKind::kShm; });
  if (!shared) return FabricCostModel();
  return HostCostModel(topology.rank_count(), static_cast<int32_t>(std::max(1U, std::thread::hardware_concurrency())));
}

StatusOr<Rational> AchievedInvX(const LinkLoads& loads, Collective collective, int32_t rank_count) {
  if (collective != Collective::kAllReduce) return loads.inv_x;
  return Rational::TryMultiply(loads.inv_x, rank_count);
}

std::string PlannerName(const Plan& plan) { return plan.planner.substr(0, plan.planner.find('/')); }

int64_t StagingBytesMax(const Plan& plan, int64_t bytes) {
  const int64_t block_bytes = plan.block_units.empty() ? BlockBytes(plan.collective, plan.rank_count, bytes) : 0;
  int64_t most = 0;
  for (const RankPlan& rank : plan.ranks) {
    int64_t sum = 0;
    for (const ScratchCell& cell : rank.scratch) {
      sum += plan.block_units.empty() ? ElementsMaxOf(block_bytes, cell.chunk.units(), plan.units_per_block)
                                      : cell.chunk.units();
    }
    most = std::max(most, sum);
  }
  return most;
}

}  // namespace mycel::cli
