// `mycel sim`: how long a plan takes on a topology, by the flow-level simulator.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>

#include "bindings/cli/arguments.h"
#include "bindings/cli/command.h"
#include "bindings/cli/plan_making.h"
#include "bindings/cli/plan_report.h"
#include "bindings/cli/progress.h"
#include "bindings/cli/simulation.h"
#include "bindings/cli/terminal.h"
#include "bindings/interchange/plan_file.h"
#include "core/base/bytes.h"
#include "core/base/clock.h"
#include "core/topo/gallery.h"
#include "scheduler/bound/bound.h"

namespace mycel::cli {
namespace {

constexpr size_t kLinksShown = 8;

struct SimArguments {
  std::string plan;        // a file, or empty
  PlanArguments planning;  // used without a file; its topology and bytes always
  std::string trace;
  bool json = false;
};

struct Simulation {
  Topology topology;
  PlanRequest request;
  Plan plan;
  SimResult result;
  Optimum optimum;
  double sim_ms = 0;
};

/// What the plan file serves, as a request: for its bound.
PlanRequest RequestOfPlan(const Plan& plan, int64_t bytes) {
  PlanRequest request;
  request.collective = plan.collective;
  request.root = plan.root;
  request.bytes = bytes;
  request.demand = plan.block_units;
  return request;
}

Status LoadPlan(const SimArguments& arguments, Simulation* simulation) {
  const Topology& topology = simulation->topology;
  if (arguments.plan.empty()) {
    MYCEL_ASSIGN_OR_RETURN(simulation->request, RequestOf(arguments.planning, topology));
    MYCEL_ASSIGN_OR_RETURN(MadePlan made, MakePlan(topology, simulation->request, 1));
    simulation->plan = std::move(made.choice.plan);
    return OkStatus();
  }
  MYCEL_ASSIGN_OR_RETURN(LoadedPlan loaded, JudgePlanFile(arguments.plan));
  simulation->plan = std::move(loaded.plan);
  const Plan& plan = simulation->plan;
  if (plan.rank_count != topology.rank_count()) {
    return InvalidArgument("plan " + arguments.plan + " is for " + Counted(plan.rank_count, "rank") + ", topology " +
                           topology.name() + " has " + std::to_string(topology.rank_count()) +
                           "; give the topology the plan was made for: " + plan.topology);
  }
  if (!loaded.verdict.ok()) {
    return InvalidArgument("plan " + arguments.plan +
                           " is wrong and cannot be simulated (see `mycel verify`): " + StatusMessage(loaded.verdict));
  }
  MYCEL_RETURN_IF_ERROR(RouteForeign(loaded.format, topology, &simulation->plan));
  simulation->request = RequestOfPlan(plan, arguments.planning.bytes);
  return OkStatus();
}

StatusOr<Simulation> RunSimulation(const SimArguments& arguments) {
  const Progress progress("simulating on " + arguments.planning.topology);
  Simulation simulation;
  MYCEL_ASSIGN_OR_RETURN(simulation.topology, LoadTopology(arguments.planning.topology));
  MYCEL_RETURN_IF_ERROR(LoadPlan(arguments, &simulation));
  SimOptions options = SimOptionsFor(simulation.topology, simulation.request.bytes);
  options.record = !arguments.trace.empty();
  const int64_t start_ns = NowNs();
  MYCEL_ASSIGN_OR_RETURN(simulation.result, Simulate(simulation.plan, simulation.topology, options));
  simulation.sim_ms = static_cast<double>(NowNs() - start_ns) * 1e-6;
  MYCEL_ASSIGN_OR_RETURN(simulation.optimum, BoundOf(simulation.topology, simulation.request));
  if (!arguments.trace.empty()) {
    MYCEL_RETURN_IF_ERROR(WriteFile(arguments.trace, ToChromeTrace(simulation.plan, simulation.result)));
  }
  return simulation;
}

/// Simulated algbw as a share of the proved bound's; 0 when nothing moves.
double ShareOfOptimum(const Simulation& simulation) {
  const double best = AlgbwOf(simulation.request, simulation.topology.rank_count(), simulation.optimum.inv_x);
  return best > 0 ? simulation.result.algbw_GBps / best : 0;
}

/// Indices of the links that carry something, the busiest first.
std::vector<size_t> BusiestLinks(const SimResult& result) {
  std::vector<size_t> links;
  for (size_t i = 0; i < result.link_bytes.size(); ++i) {
    if (result.link_bytes[i] > 0) links.push_back(i);
  }
  std::stable_sort(links.begin(), links.end(),
                   [&](size_t a, size_t b) { return result.link_utilisation[a] > result.link_utilisation[b]; });
  if (links.size() > kLinksShown) links.resize(kLinksShown);
  return links;
}

std::string SimJson(const Simulation& simulation) {
  using Json = nlohmann::ordered_json;
  const SimResult& result = simulation.result;
  Json json;
  json["planner"] = PlannerName(simulation.plan);
  json["collective"] = std::string(NameOf(simulation.plan.collective));
  json["topology"] = simulation.topology.name();
  json["ranks"] = simulation.topology.rank_count();
  json["bytes"] = simulation.request.bytes;
  json["time_us"] = result.time_us;
  json["algbw_GBps"] = result.algbw_GBps;
  json["busbw_GBps"] = result.busbw_GBps;
  json["optimal"] = {{"inv_x", simulation.optimum.inv_x.ToString()}, {"share", ShareOfOptimum(simulation)}};
  json["busiest_link_us"] = result.bound_us;
  json["busiest_links"] = Json::array();
  for (const size_t i : BusiestLinks(result)) {
    const Link& link = simulation.topology.links()[i];
    json["busiest_links"].push_back({{"from", simulation.topology.node(link.source).id},
                                     {"to", simulation.topology.node(link.target).id},
                                     {"bytes", result.link_bytes[i]},
                                     {"utilisation", result.link_utilisation[i]}});
  }
  json["slices"] = result.slices;
  json["slices_simulated"] = result.slices_simulated;
  json["sim_ms"] = simulation.sim_ms;
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string SimText(const SimArguments& arguments, const Simulation& simulation) {
  const SimResult& result = simulation.result;
  const Topology& topology = simulation.topology;
  const bool v = !simulation.plan.block_units.empty();
  std::string text =
      Painted(Tone::kStrong, std::string(NameOf(simulation.plan.collective)) + " on " + Printable(topology.name())) +
      "  " + Counted(topology.rank_count(), "rank") + ", " + SizeText(simulation.request.bytes) +
      (v ? " a rank on average" : "") + ", planner " + Printable(simulation.plan.planner) + "\n";
  Table facts({"", ""});
  facts.Add({"time", Cell(Duration(result.time_us), Tone::kStrong)});
  facts.Add({"algbw", Decimal(result.algbw_GBps) + " GB/s"});
  facts.Add({"busbw", Decimal(result.busbw_GBps) + " GB/s"});
  facts.Add({"of the optimum", Percent(ShareOfOptimum(simulation))});
  facts.Add({"simulated", std::to_string(result.slices_simulated) + " of " + Counted(result.slices, "slice") + " in " +
                              Duration(simulation.sim_ms * 1e3)});
  if (!arguments.trace.empty()) facts.Add({"trace", arguments.trace + " (open in Perfetto or chrome://tracing)"});
  text += facts.ToText();
  Table links({"busiest links", "", "", ">bytes", "busy", ">"});
  for (const size_t i : BusiestLinks(result)) {
    const Link& link = topology.links()[i];
    links.Add({topology.node(link.source).id, "->", topology.node(link.target).id, Decimal(result.link_bytes[i], 12),
               Bar(result.link_utilisation[i], 30), Percent(result.link_utilisation[i])});
  }
  return text + (links.empty() ? "" : "\n" + links.ToText());
}

/// What is wrong with the command line whatever the files say; empty when nothing is.
std::string SimUsageError(const SimArguments& arguments, bool planner_given) {
  const bool planning = arguments.planning.collective.has_value();
  if (arguments.plan.empty()) {
    if (!planning) return "give a PLAN file, or --collective (and --planner) to make one";
    return UsageError(arguments.planning);
  }
  if (planning || planner_given || !arguments.planning.demand.empty() || arguments.planning.root >= 0) {
    return "PLAN says what is planned; leave --planner, --collective, --root and --demand out";
  }
  return {};
}

ExitCode RunSim(const SimArguments& arguments, bool planner_given) {
  const std::string usage = SimUsageError(arguments, planner_given);
  if (!usage.empty()) return FailUsage(usage, "sim");
  const StatusOr<Simulation> simulation = RunSimulation(arguments);
  if (!simulation.ok()) return Fail(simulation.status());
  return Print(arguments.json ? SimJson(*simulation) : SimText(arguments, *simulation));
}

}  // namespace

std::vector<Command> DeclareSim(CLI::App& root) {
  CLI::App* app = root.add_subcommand("sim", "simulate a plan on a topology: time, bandwidth, busiest links");
  auto arguments = std::make_shared<SimArguments>();
  PlanArguments& planning = arguments->planning;
  app->add_option("PLAN", arguments->plan,
                  "a plan file (Mycel's, MSCCL's XML, MSCCL++'s JSON); or make one with --planner and --collective")
      ->type_name("");
  AddTopology(app, &planning.topology)->required();
  AddCollective(app, &planning.collective);
  CLI::Option* planner = AddPlanner(app, &planning.planner);
  CLI::Option* bytes = AddBytes(app, &planning.bytes, "size in nccl-tests' sense");
  AddNumber(app, "--root", &planning.root, 0, INT32_MAX, "root of broadcast, reduce, gather, scatter [0]");
  app->add_option("--demand", planning.demand, "alltoallv: CSV file, one row per sender, one byte count per receiver")
      ->type_name("M.csv");
  app->add_option("--trace", arguments->trace, "write a timeline for Perfetto or chrome://tracing")->type_name("FILE");
  AddJson(app, &arguments->json);
  return {{app, [arguments, planner, bytes] {
             arguments->planning.bytes_given = bytes->count() > 0;
             return RunSim(*arguments, planner->count() > 0);
           }}};
}

}  // namespace mycel::cli
