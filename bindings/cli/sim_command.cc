// `mycel sim`: how long a plan takes on a topology, by the flow-level simulator.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>

#include "bindings/cli/arguments.h"
#include "bindings/cli/command.h"
#include "bindings/cli/link_failure.h"
#include "bindings/cli/plan_making.h"
#include "bindings/cli/plan_report.h"
#include "bindings/cli/progress.h"
#include "bindings/cli/simulation.h"
#include "bindings/cli/terminal.h"
#include "bindings/cli/timeline_svg.h"
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
  std::string svg;
  std::vector<std::string> failed;  // links
  bool json = false;
};

/// What becomes of it when links fail.
struct WhatIf {
  std::string planner;                // of the new plan
  SimResult replanned;                // a new plan for what is left
  std::optional<SimResult> old_plan;  // the plan as it is, where it needs none of the links
  std::string refusal;                // why it does not work
};

struct Simulation {
  Topology topology;
  PlanRequest request;
  Plan plan;
  SimResult result;
  Optimum optimum;
  double sim_ms = 0;
  ChromeTrace trace;  // when asked for; its text has gone to the file
  std::optional<WhatIf> what_if;
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

StatusOr<WhatIf> FailLinks(const SimArguments& arguments, const Simulation& before) {
  MYCEL_ASSIGN_OR_RETURN(const Topology left, WithoutLinks(before.topology, arguments.failed));
  const SimOptions options = SimOptionsFor(left, before.request.bytes);
  WhatIf what_if;
  PlanRequest request = before.request;
  request.planner = arguments.planning.planner;
  request.in_place = true;
  request.lanes = static_cast<int32_t>(arguments.planning.lanes);
  MYCEL_ASSIGN_OR_RETURN(const MadePlan made, MakePlan(left, request, 1));
  what_if.planner = made.choice.plan.planner;
  MYCEL_ASSIGN_OR_RETURN(what_if.replanned, Simulate(made.choice.plan, left, options));
  StatusOr<SimResult> old_plan = Simulate(before.plan, left, options);
  if (old_plan.ok()) {
    what_if.old_plan = *std::move(old_plan);
  } else {
    what_if.refusal = StatusMessage(old_plan.status());
    what_if.refusal.resize(std::min(what_if.refusal.size(), what_if.refusal.find(';')));  // its advice is not for here
  }
  return what_if;
}

/// Of the bandwidth; negative where a new plan is better than the old one was.
double LossPercent(const SimResult& before, const SimResult& after) {
  return before.algbw_GBps > 0 ? (1 - after.algbw_GBps / before.algbw_GBps) * 100 : 0;
}

StatusOr<Simulation> RunSimulation(const SimArguments& arguments) {
  const Progress progress("simulating on " + arguments.planning.topology);
  Simulation simulation;
  MYCEL_ASSIGN_OR_RETURN(simulation.topology, LoadTopology(arguments.planning.topology));
  MYCEL_RETURN_IF_ERROR(LoadPlan(arguments, &simulation));
  SimOptions options = SimOptionsFor(simulation.topology, simulation.request.bytes);
  options.record = !arguments.trace.empty() || !arguments.svg.empty();
  const int64_t start_ns = NowNs();
  MYCEL_ASSIGN_OR_RETURN(simulation.result, Simulate(simulation.plan, simulation.topology, options));
  simulation.sim_ms = static_cast<double>(NowNs() - start_ns) * 1e-6;
  MYCEL_ASSIGN_OR_RETURN(simulation.optimum, BoundOf(simulation.topology, simulation.request));
  if (!arguments.trace.empty()) {
    simulation.trace = ToChromeTrace(simulation.plan, simulation.result);
    MYCEL_RETURN_IF_ERROR(WriteFile(arguments.trace, simulation.trace.json));
    simulation.trace.json = {};
  }
  if (!arguments.svg.empty()) {
    const Timeline timeline{simulation.topology, simulation.plan, simulation.result, simulation.request.bytes};
    MYCEL_RETURN_IF_ERROR(WriteFile(arguments.svg, DrawTimelineSvg(timeline)));
  }
  if (!arguments.failed.empty()) {
    MYCEL_ASSIGN_OR_RETURN(simulation.what_if, FailLinks(arguments, simulation));
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

nlohmann::ordered_json WhatIfJson(const SimArguments& arguments, const Simulation& simulation) {
  using Json = nlohmann::ordered_json;
  const WhatIf& what_if = *simulation.what_if;
  const auto figures = [&](const SimResult& after) {
    return Json{{"time_us", after.time_us},
                {"algbw_GBps", after.algbw_GBps},
                {"busbw_GBps", after.busbw_GBps},
                {"loss_percent", LossPercent(simulation.result, after)}};
  };
  Json json;
  json["failed"] = arguments.failed;
  json["replanned"] = figures(what_if.replanned);
  json["replanned"]["planner"] = what_if.planner;
  json["old_plan"] = what_if.old_plan ? figures(*what_if.old_plan) : Json(nullptr);
  if (!what_if.old_plan) json["old_plan_refusal"] = what_if.refusal;
  return json;
}

std::string WhatIfText(const SimArguments& arguments, const Simulation& simulation) {
  const WhatIf& what_if = *simulation.what_if;
  std::string text = "\n" + Painted(Tone::kStrong, "without");
  for (const std::string& name : arguments.failed) text += " " + Printable(name);
  Table table({"", ">time", ">algbw", ">loss"}, "  ");
  const auto add = [&](const std::string& what, const SimResult& result) {
    table.Add({what, Duration(result.time_us), Decimal(result.algbw_GBps) + " GB/s",
               Percent(LossPercent(simulation.result, result) / 100)});
  };
  add("before", simulation.result);
  add("a new plan (" + Printable(what_if.planner) + ")", what_if.replanned);
  if (what_if.old_plan) add("the plan as it is", *what_if.old_plan);
  text += "\n" + table.ToText();
  if (!what_if.old_plan) text += "The plan as it is no longer works: " + Printable(what_if.refusal) + ".\n";
  return text;
}

std::string SimJson(const SimArguments& arguments, const Simulation& simulation) {
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
  json["lanes"] = result.lanes;
  json["lanes_simulated"] = result.lanes_simulated;
  if (simulation.what_if) json["what_if"] = WhatIfJson(arguments, simulation);
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
  if (result.lanes_simulated < result.lanes) {
    facts.Add(
        {"alike", Counted(result.lanes_simulated, "lane") + " simulated for all " + std::to_string(result.lanes)});
  }
  if (!arguments.trace.empty()) {
    const bool whole = simulation.trace.ranks == topology.rank_count();
    facts.Add(
        {"trace",
         arguments.trace + " (open in Perfetto or chrome://tracing)" +
             (whole ? "" : ": the first " + Counted(simulation.trace.ranks, "rank")) +
             (simulation.trace.until_us < result.simulated_us ? " until " + Duration(simulation.trace.until_us) : "")});
  }
  if (!arguments.svg.empty()) facts.Add({"picture", arguments.svg});
  text += facts.ToText();
  Table links({"busiest links", "", "", ">bytes", "busy", ">"});
  for (const size_t i : BusiestLinks(result)) {
    const Link& link = topology.links()[i];
    links.Add({topology.node(link.source).id, "->", topology.node(link.target).id, Decimal(result.link_bytes[i], 12),
               Bar(result.link_utilisation[i], 30), Percent(result.link_utilisation[i])});
  }
  text += links.empty() ? "" : "\n" + links.ToText();
  return simulation.what_if ? text + WhatIfText(arguments, simulation) : text;
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
  return Print(arguments.json ? SimJson(arguments, *simulation) : SimText(arguments, *simulation));
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
  app->add_option("--svg", arguments->svg, "draw the timeline: what the ranks send when, coloured")->type_name("FILE");
  app->add_option("--fail", arguments->failed,
                  "what if this link fails, named after its two nodes as A-B (may be repeated): plan again, compare")
      ->type_name("LINK")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  AddJson(app, &arguments->json);
  return {{app, [arguments, planner, bytes] {
             arguments->planning.bytes_given = bytes->count() > 0;
             return RunSim(*arguments, planner->count() > 0);
           }}};
}

}  // namespace mycel::cli
