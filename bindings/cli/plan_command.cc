// `mycel plan`: makes a plan, proves it, and compares it with the best that any plan can reach.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <optional>

#include "bindings/cli/arguments.h"
#include "bindings/cli/command.h"
#include "bindings/cli/plan_making.h"
#include "bindings/cli/plan_report.h"
#include "bindings/cli/plan_svg.h"
#include "bindings/cli/progress.h"
#include "bindings/cli/simulation.h"
#include "core/plan/plan_json.h"
#include "core/topo/gallery.h"
#include "scheduler/bound/bound.h"
#include "scheduler/bound/in_network.h"

namespace mycel::cli {
namespace {

constexpr int64_t kRepeatMax = 1'000'000;
constexpr int64_t kLanesMax = 64;
constexpr int64_t kTreesMax = 1'000'000;

struct PlanOptions {
  PlanArguments arguments;
  std::string out;
  std::string svg;
  int64_t repeat = 1;
  bool json = false;
  bool explain = false;
  bool text = false;
};

StatusOr<std::string> Answer(const PlanOptions& options, const PlanReport& report) {
  if (options.json) return PlanJson(report);
  std::string text;
  if (options.explain) {
    MYCEL_ASSIGN_OR_RETURN(text, ExplainPlan(report));
  } else {
    text = PlanText(report);
  }
  if (options.text) text += "\n" + ToText(report.made.choice.plan);
  return text;
}

/// What a flow proves about the optimum, where that is more than what cuts prove.
void AddFlow(const flow::FlowFacts& flow, Optimum* optimum) {
  if (optimum->kind == BoundKind::kOptimum) return;
  const bool tighter = flow.bound > optimum->inv_x;
  if (tighter) {
    optimum->inv_x = optimum->lower_bound = flow.bound;
    optimum->proof = "prices of links, by linear-program duality: what all pairs pay on their cheapest ways is " +
                     flow.bound.ToString() + " times what the links earn, so no schedule is faster";
  }
  if (flow.inv_x == optimum->inv_x) {
    optimum->kind = BoundKind::kOptimum;
    optimum->proof.resize(std::min(optimum->proof.size(), optimum->proof.find(": a lower bound from")));
    optimum->proof += ", and a concurrent flow reaches that";
    return;
  }
  optimum->proof += "; a concurrent flow comes within " + GapText(flow.inv_x, optimum->inv_x);
}

StatusOr<ExitCode> MakeAndReport(const PlanOptions& options) {
  const PlanArguments& arguments = options.arguments;
  MYCEL_ASSIGN_OR_RETURN(const Topology topology, LoadTopology(arguments.topology));
  MYCEL_ASSIGN_OR_RETURN(const PlanRequest request, RequestOf(arguments, topology));
  std::string answer;
  bool verified = false;
  {
    const Progress progress("planning " + std::string(NameOf(request.collective)) + " on " + topology.name());
    MYCEL_ASSIGN_OR_RETURN(const MadePlan made, MakePlan(topology, request, options.repeat));
    MYCEL_ASSIGN_OR_RETURN(Optimum optimum, BoundOf(topology, request));
    std::optional<flow::FlowFacts> flow;
    if (PlannerName(made.choice.plan) == "flow") {
      MYCEL_ASSIGN_OR_RETURN(flow, flow::FlowFactsOf(topology, request));
      AddFlow(*flow, &optimum);
    }
    if (made.verified.ok() && made.achieved < optimum.inv_x) {
      return InternalError("planner " + made.choice.plan.planner + " claims 1/x = " + made.achieved.ToString() +
                           ", below the proved bound " + optimum.inv_x.ToString());
    }
    PlanReport report{topology, request, made, optimum};
    report.flow = flow;
    const StatusOr<std::optional<InNetwork>> in_network = InNetworkOptimum(topology, request.collective);
    if (in_network.ok()) {
      report.in_network = *in_network;
    } else if (in_network.status().code() == StatusCode::kUnimplemented) {
      report.in_network_unknown = "not known: " + StatusMessage(in_network.status());
    } else {
      return in_network.status();
    }
    const std::string& planner = made.choice.plan.planner;
    if (planner == "timeflow" || planner == "timeflow/whole") {
      PlanRequest same = request;
      same.variant = planner == "timeflow" ? "" : "whole";
      MYCEL_ASSIGN_OR_RETURN(report.epochs, timeflow::TimeFactsOf(topology, same));
    }
    if (PlannerName(made.choice.plan) == "bfb") {
      MYCEL_ASSIGN_OR_RETURN(report.steps, StepCostOf(made.choice.schedule, topology));
    }
    if (request.collective == Collective::kAllToAllV) {
      const Plan& plan = made.choice.plan;
      MYCEL_ASSIGN_OR_RETURN(const SimResult sim,
                             Simulate(plan, topology, ExchangeSimOptionsFor(topology, request.bytes)));
      report.scheduled_us = sim.time_us;
      if (options.explain || !options.svg.empty()) {
        StatusOr<ExchangeFacts> exchange = ExchangeFactsOf(topology, request, made);
        // Servers that planner fast cannot join have no rates of their own to speak of.
        if (!exchange.ok() && exchange.status().code() != StatusCode::kUnimplemented) return exchange.status();
        if (exchange.ok()) report.exchange = *std::move(exchange);
      }
    }
    verified = made.verified.ok();
    if (!options.out.empty()) MYCEL_RETURN_IF_ERROR(WriteFile(options.out, WritePlan(made.choice.plan)));
    if (!options.svg.empty()) {
      MYCEL_ASSIGN_OR_RETURN(const std::string drawing, DrawPlanSvg(report));
      MYCEL_RETURN_IF_ERROR(WriteFile(options.svg, drawing));
    }
    MYCEL_ASSIGN_OR_RETURN(answer, Answer(options, report));
  }
  const ExitCode printed = Print(answer);
  return printed == kDone && !verified ? kNo : printed;
}

ExitCode RunPlan(const PlanOptions& options) {
  const std::string usage = UsageError(options.arguments);
  if (!usage.empty()) return FailUsage(usage, "plan");
  if (options.json && (options.explain || options.text)) {
    return FailUsage("--json prints one object and nothing else; leave --explain and --text out", "plan");
  }
  const StatusOr<ExitCode> code = MakeAndReport(options);
  return code.ok() ? *code : Fail(code.status());
}

}  // namespace

std::vector<Command> DeclarePlan(CLI::App& root) {
  CLI::App* app = root.add_subcommand("plan", "make a plan, prove it, compare it with the optimum");
  auto options = std::make_shared<PlanOptions>();
  PlanArguments& arguments = options->arguments;
  AddTopology(app, &arguments.topology)->required();
  AddCollective(app, &arguments.collective)->required();
  CLI::Option* bytes = AddBytes(app, &arguments.bytes, "size in nccl-tests' sense");
  AddPlanner(app, &arguments.planner);
  AddNumber(app, "--trees-per-root", &arguments.trees_per_root, 1, kTreesMax, "exactly so many trees for each root");
  AddNumber(app, "--lanes", &arguments.lanes, 1, kLanesMax, "at most so many lanes (thread blocks) a rank [32]");
  AddNumber(app, "--root", &arguments.root, 0, INT32_MAX, "root of broadcast, reduce, gather, scatter [0]");
  app->add_option("--demand", arguments.demand, "alltoallv: CSV file, one row per sender, one byte count per receiver")
      ->type_name("M.csv");
  app->add_option("--out", options->out, "write the plan to this file")->type_name("FILE");
  app->add_option(
         "--svg", options->svg,
         "draw the machine, one root's trees and the bottleneck (alltoallv: servers and stages) into this file")
      ->type_name("FILE");
  AddNumber(app, "--repeat", &options->repeat, 1, kRepeatMax, "plan so many times; times are medians [1]");
  AddJson(app, &options->json);
  app->add_flag("--explain", options->explain, "say why: the contest, the optimum and its cut, the load of each link");
  app->add_flag("--text", options->text, "print the plan itself, one op a line");
  return {{app, [options, bytes] {
             options->arguments.bytes_given = bytes->count() > 0;
             return RunPlan(*options);
           }}};
}

}  // namespace mycel::cli
