// `mycel plan --explain`: the long answer, for people.
#include <algorithm>
#include <numeric>
#include <set>
#include <vector>

#include "bindings/cli/plan_report.h"
#include "bindings/cli/simulation.h"
#include "bindings/cli/terminal.h"
#include "core/base/bytes.h"
#include "scheduler/select/planners.h"

namespace mycel::cli {
namespace {

constexpr size_t kLinksShown = 16;
constexpr int kBarWidth = 30;

std::string Heading(const std::string& text) { return "\n" + Painted(Tone::kStrong, text) + "\n"; }

/// The best shape of every planner and variant; who refused, and why.
std::string ContestText(const PlanReport& report) {
  Table table({"planner", ">time", "", "how", "lanes", "protocol"});
  Table refusals({"", ""});
  std::set<std::string> seen;
  for (const Candidate& candidate : report.made.choice.contest) {
    if (!seen.insert(candidate.planner).second) continue;
    if (!candidate.refused.empty()) {
      refusals.Add({Cell(candidate.planner, Tone::kFaint), Cell(candidate.refused, Tone::kFaint)});
      continue;
    }
    const bool simulated = candidate.simulated_us >= 0;
    const bool winner = seen.size() == 1;
    table.Add({Cell(candidate.planner, winner ? Tone::kGood : Tone::kPlain),
               Duration(simulated ? candidate.simulated_us : candidate.estimated_us),
               simulated ? "simulated" : "estimated",
               "slices of " + SizeText(candidate.slice_bytes) + (candidate.pipelined ? ", pipelined" : ""),
               std::to_string(candidate.lanes), std::string(NameOf(candidate.protocol))});
  }
  std::string text = Heading("why this planner") + "  " + report.made.choice.reason + "\n";
  const std::string& name = report.made.choice.plan.planner;
  const StatusOr<const Planner*> planner = FindPlanner(PlannerName(report.made.choice.plan));
  if (planner.ok()) text += "  " + name + ": " + std::string((*planner)->summary()) + "\n";
  text += table.ToText();
  if (!refusals.empty()) text += "  refused:\n" + refusals.ToText();
  return text;
}

/// The nodes of the cut, or those outside when they are fewer.
std::string CutText(const PlanReport& report) {
  const Topology& topology = report.topology;
  std::vector<bool> inside(topology.nodes().size());
  for (const NodeId node : report.optimum.cut) inside[node.index()] = true;
  const bool invert = 2 * report.optimum.cut.size() > inside.size();
  std::vector<std::string> names;
  for (const NodeId node : Ids<NodeId>(topology.node_count())) {
    if (inside[node.index()] != invert) names.push_back(topology.node(node).id);
  }
  return JoinNames(names) + (invert ? "  (and, on the other side, all other nodes)" : "");
}

std::string OptimumText(const PlanReport& report) {
  if (report.optimum.cut.empty()) return "";
  return Heading("what bounds it") + "  no schedule is faster than 1/x* = " + report.optimum.inv_x.ToString() + " " +
         UnitOf(report.request.collective) + "\n  bottleneck: " + CutText(report) + "\n";
}

/// The busiest links as bars; the busiest of all is full.
std::string LinksText(const PlanReport& report) {
  const Topology& topology = report.topology;
  const LinkLoads& loads = report.made.loads;
  std::vector<double> ns(topology.links().size());  // per byte of a block
  for (size_t i = 0; i < ns.size(); ++i) ns[i] = loads.blocks[i].ToDouble() / topology.links()[i].bandwidth.ToDouble();
  std::vector<size_t> order(ns.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return ns[a] > ns[b]; });
  const double most = order.empty() ? 0 : ns[order.front()];
  if (most == 0) return "";
  const bool v = report.request.collective == Collective::kAllToAllV;
  Table table({"link", "", "", ">GB/s", v ? ">bytes" : ">blocks", "load", ">of the busiest"});
  for (size_t i = 0; i < std::min(kLinksShown, order.size()); ++i) {
    const Link& link = topology.links()[order[i]];
    const double share = ns[order[i]] / most;
    table.Add({topology.node(link.source).id, "->", topology.node(link.target).id, Decimal(link.bandwidth.ToDouble()),
               loads.blocks[order[i]].ToString(), Bar(share, kBarWidth), Percent(share)});
  }
  std::string text = Heading("what each link carries") + table.ToText();
  if (order.size() > kLinksShown) {
    const double next = ns[order[kLinksShown]] / most;
    text += "  and " + Counted(static_cast<int64_t>(order.size() - kLinksShown), "more link") + ", at most " +
            Percent(next) + " as busy\n";
  }
  return text;
}

}  // namespace

StatusOr<std::string> ExplainPlan(const PlanReport& report) {
  SimOptions options = SimOptionsFor(report.topology, report.request.bytes);
  MYCEL_ASSIGN_OR_RETURN(const SimResult sim, Simulate(report.made.choice.plan, report.topology, options));
  std::string text = PlanText(report) + ContestText(report) + OptimumText(report) + LinksText(report);
  text += Heading("what to expect") + "  " + Duration(sim.time_us) + " simulated, the busiest link alone " +
          Duration(sim.bound_us) + "\n  algbw " + Decimal(sim.algbw_GBps) + " GB/s, busbw " + Decimal(sim.busbw_GBps) +
          " GB/s\n";
  return text;
}

}  // namespace mycel::cli
