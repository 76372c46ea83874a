// `mycel verify PLAN`: proves a plan file right or says what is wrong with it; exit code 1 when it is wrong.
#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "bindings/cli/arguments.h"
#include "bindings/cli/command.h"
#include "bindings/cli/plan_making.h"
#include "bindings/cli/progress.h"
#include "bindings/cli/terminal.h"
#include "bindings/interchange/plan_file.h"
#include "core/plan/verify.h"
#include "core/topo/gallery.h"
#include "scheduler/graph/throughput_bound.h"

namespace mycel::cli {
namespace {

struct VerifyArguments {
  std::string plan;
  std::string topology;  // empty: none
  bool json = false;
};

struct Verdict {
  Plan plan;
  Status status;
  std::optional<Topology> topology;
  std::optional<Rational> achieved;  // when the topology is given and the loads could be computed
};

Status CheckFits(const VerifyArguments& arguments, const Plan& plan, const Topology& topology) {
  if (plan.rank_count == topology.rank_count()) return OkStatus();
  return InvalidArgument("plan " + arguments.plan + " is for " + Counted(plan.rank_count, "rank") + ", topology " +
                         topology.name() + " has " + std::to_string(topology.rank_count()) +
                         "; give the topology the plan was made for: " + plan.topology);
}

StatusOr<Verdict> Judge(const VerifyArguments& arguments) {
  const Progress progress("verifying " + arguments.plan);
  Verdict verdict;
  MYCEL_ASSIGN_OR_RETURN(LoadedPlan loaded, JudgePlanFile(arguments.plan));
  verdict.plan = std::move(loaded.plan);
  verdict.status = std::move(loaded.verdict);
  if (!arguments.topology.empty()) {
    MYCEL_ASSIGN_OR_RETURN(verdict.topology, LoadTopology(arguments.topology));
    MYCEL_RETURN_IF_ERROR(CheckFits(arguments, verdict.plan, *verdict.topology));
  }
  if (verdict.status.ok() && verdict.topology) {
    MYCEL_RETURN_IF_ERROR(RouteForeign(loaded.format, *verdict.topology, &verdict.plan));
    const StatusOr<LinkLoads> loads = ComputeLinkLoads(verdict.plan, *verdict.topology);
    verdict.status = loads.status();
    if (loads.ok()) {
      MYCEL_ASSIGN_OR_RETURN(verdict.achieved, AchievedInvX(*loads, verdict.plan.collective, verdict.plan.rank_count));
    }
  }
  // Only a plan found wrong is an answer; anything else went wrong on the way to one.
  if (!verdict.status.ok() && verdict.status.code() != StatusCode::kInvalidArgument) return verdict.status;
  return verdict;
}

std::string VerdictJson(const VerifyArguments& arguments, const Verdict& verdict) {
  nlohmann::ordered_json json;
  json["plan"] = arguments.plan;
  json["planner"] = verdict.plan.planner;
  json["collective"] = std::string(NameOf(verdict.plan.collective));
  json["topology"] = verdict.plan.topology;
  json["ranks"] = verdict.plan.rank_count;
  json["verified"] = verdict.status.ok();
  json["reason"] = StatusMessage(verdict.status);
  if (verdict.topology) {
    json["same_topology"] = verdict.topology->hash() == verdict.plan.topology_hash;
    json["achieved"] = nullptr;
    if (verdict.achieved) json["achieved"] = {{"inv_x", verdict.achieved->ToString()}};
  }
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

std::string VerdictText(const VerifyArguments& arguments, const Verdict& verdict) {
  const Plan& plan = verdict.plan;
  std::string text = Printable(arguments.plan) + ": " + std::string(NameOf(plan.collective)) + " of " +
                     Counted(plan.rank_count, "rank") + " by " + Printable(plan.planner) + " for " +
                     Printable(plan.topology) + "\n";
  if (!verdict.status.ok()) {
    return text + Painted(Tone::kBad, "wrong") + ": " + Printable(StatusMessage(verdict.status)) + "\n";
  }
  text += Painted(Tone::kGood, "verified") +
          ": every contribution arrives exactly once, nothing is read before it is written, no race, no deadlock\n";
  if (verdict.achieved) {
    const double algbw = AlgorithmBandwidthGBps(plan.collective, plan.rank_count, *verdict.achieved);
    text += "on " + Printable(verdict.topology->name()) + ": 1/x = " + verdict.achieved->ToString() +
            (plan.block_units.empty() ? ", algbw " + Decimal(algbw) + " GB/s" : " ns") + "\n";
  }
  if (verdict.topology && verdict.topology->hash() != plan.topology_hash) {
    text += "note: the plan was made for another topology than " + Printable(verdict.topology->name()) +
            "; its routes exist there\n";
  }
  return text;
}

ExitCode RunVerify(const VerifyArguments& arguments) {
  const StatusOr<Verdict> verdict = Judge(arguments);
  if (!verdict.ok()) return Fail(verdict.status());
  const ExitCode printed = Print(arguments.json ? VerdictJson(arguments, *verdict) : VerdictText(arguments, *verdict));
  return printed == kDone && !verdict->status.ok() ? kNo : printed;
}

}  // namespace

std::vector<Command> DeclareVerify(CLI::App& root) {
  CLI::App* app = root.add_subcommand("verify", "prove a plan file right, or say what is wrong with it");
  auto arguments = std::make_shared<VerifyArguments>();
  app->add_option("PLAN", arguments->plan, "a plan file: Mycel's, MSCCL's XML or MSCCL++'s JSON")
      ->required()
      ->type_name("");
  AddTopology(app, &arguments->topology)->description("also check the routes and link loads on this topology");
  AddJson(app, &arguments->json);
  return {{app, [arguments] { return RunVerify(*arguments); }}};
}

}  // namespace mycel::cli
