// `mycel plan --explain`: the long answer, for people.
#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <tuple>
#include <vector>

#include "bindings/cli/calibration.h"
#include "bindings/cli/plan_report.h"
#include "bindings/cli/planner_crossover.h"
#include "bindings/cli/simulation.h"
#include "bindings/cli/terminal.h"
#include "bindings/cli/tree_heights.h"
#include "bindings/cli/tree_tradeoff.h"
#include "core/base/bytes.h"
#include "scheduler/select/planners.h"

namespace mycel::cli {
namespace {

constexpr size_t kLinksShown = 16;
constexpr int kBarWidth = 30;
constexpr int64_t kHeightRows = 10;
constexpr size_t kLinkNameMax = 64;  // columns of a group of links
constexpr size_t kCutLinksShown = 6;

std::string Heading(const std::string& text) { return "\n" + Painted(Tone::kStrong, text) + "\n"; }

/// The chooser's reason; where the user has named the planner, that is why nobody else took part.
std::string ReasonText(const PlanReport& report) {
  constexpr std::string_view kAlone = "nothing else serves it";
  std::string reason = report.made.choice.reason;
  const std::string& asked = report.request.planner;
  if (asked == "auto") return reason;
  const std::string named = "--planner " + asked + " asks nobody else";
  if (reason.ends_with(kAlone)) return reason.substr(0, reason.size() - kAlone.size()) + named;
  return reason + "; " + named;
}

/// The best shape of every planner and variant; who refused, and why.
/// Where the numbers that the contest is about come from, when they are not the nominal ones.
std::string MeasuredText(const PlanReport& report) {
  if (report.topology.note().find(kCalibratedNote) == std::string::npos) return {};
  return "  links count with measured capacities (mycel topo calibrate), latencies as the file says\n";
}

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
  std::string text = Heading("why this planner") + "  " + ReasonText(report) + "\n";
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

/// "12.5 GB/s enter over fabric -> host2": what crosses the cut, seen from the side that CutText names.
std::string CrossingText(const PlanReport& report) {
  const Topology& topology = report.topology;
  std::vector<bool> inside(topology.nodes().size());
  for (const NodeId node : report.optimum.cut) inside[node.index()] = true;
  if (2 * report.optimum.cut.size() > inside.size()) inside.flip();
  std::string text;
  for (const bool enter : {true, false}) {
    std::vector<std::string> names;
    double sum = 0;
    for (const Link& link : topology.links()) {
      const bool crosses = inside[link.source.index()] != inside[link.target.index()];
      if (!crosses || inside[link.target.index()] != enter) continue;
      sum += link.bandwidth.ToDouble();
      names.push_back(topology.node(link.source).id + " -> " + topology.node(link.target).id);
    }
    text += "  " + Decimal(sum) + " GB/s " + (enter ? "enter" : "leave") + " over " +
            Counted(static_cast<int64_t>(names.size()), "link");
    for (size_t i = 0; i < std::min(kCutLinksShown, names.size()); ++i) text += (i == 0 ? ": " : ", ") + names[i];
    text += names.size() > kCutLinksShown ? ", ...\n" : "\n";
  }
  return text;
}

std::string OptimumText(const PlanReport& report) {
  if (report.optimum.cut.empty()) return "";
  return Heading("what bounds it") + "  no schedule is faster than 1/x* = " + report.optimum.inv_x.ToString() + " " +
         UnitOf(report.request.collective) + "\n  bottleneck: " + CutText(report) + "\n" + CrossingText(report);
}

/// How many trees of each height, and how much of the data they carry.
std::string HeightsText(const TreeHeights& heights, const std::string& what) {
  if (heights.rows.empty()) return "";
  std::string text = "  " + what + ": " + Decimal(heights.mean, 3) + " hops on average (by data), at most " +
                     std::to_string(heights.max) + "\n";
  // Many heights are shown in groups of equal width.
  const int64_t step = (heights.max + kHeightRows - 1) / kHeightRows;
  struct Group {
    int64_t least = 0;
    int64_t most = 0;
    HeightRow sum;
  };
  std::map<int64_t, Group> groups;
  double widest = 0;
  for (const auto& [hops, row] : heights.rows) {
    Group& group = groups[(hops - 1) / step];
    if (group.least == 0) group.least = hops;
    group.most = hops;
    group.sum.trees += row.trees;
    group.sum.share += row.share;
    widest = std::max(widest, group.sum.share);
  }
  Table table({">hops", ">trees", "share of the data", ">"}, "    ");
  for (const auto& [index, group] : groups) {
    const std::string least = group.least < group.most ? std::to_string(group.least) + "-" : "";
    table.Add({least + std::to_string(group.most), std::to_string(group.sum.trees),
               Bar(group.sum.share / widest, kBarWidth), Percent(group.sum.share)});
  }
  return text + table.ToText();
}

std::string TreesText(const PlanReport& report) {
  const Schedule& schedule = report.made.choice.schedule;
  const TreeHeights up = HeightsOf(schedule, false);
  const TreeHeights down = HeightsOf(schedule, true);
  if (up.rows.empty() && down.rows.empty()) return "";
  const TreeFacts& facts = report.made.trees;
  std::string text = Heading("what the trees look like") + "  " + Counted(facts.per_root, "tree") + " per root" +
                     (facts.stages > 1 ? ", in " + Counted(facts.stages, "stage") : "") + ", " +
                     std::to_string(facts.distinct) + " distinct\n";
  const bool exchange = !InfoOf(schedule.collective).reduces && schedule.collective != Collective::kAllGather &&
                        schedule.collective != Collective::kBroadcast;
  return text + HeightsText(up, "reduce, towards the root") +
         HeightsText(down, exchange ? "sender to receiver" : "broadcast, away from the root");
}

/// "gpu0..gpu7 -> nvsw0, nvsw0 -> gpu0..gpu7 and 16 others": links of one node together, those of many first.
std::string LinkNames(const Topology& topology, std::vector<const Link*> links) {
  std::string text;
  while (!links.empty()) {
    std::map<std::pair<NodeId, bool>, std::vector<std::string>> stars;  // by middle, and whether links leave it
    for (const Link* link : links) {
      stars[{link->source, true}].push_back(topology.node(link->target).id);
      stars[{link->target, false}].push_back(topology.node(link->source).id);
    }
    const auto largest = std::max_element(
        stars.begin(), stars.end(), [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
    const NodeId middle = largest->first.first;
    const bool leaves = largest->first.second;
    const std::string& id = topology.node(middle).id;
    const std::string others = JoinNames(largest->second);
    const std::string star = leaves ? id + " -> " + others : others + " -> " + id;
    if (!text.empty() && text.size() + star.size() > kLinkNameMax) {
      return text + " and " + Counted(static_cast<int64_t>(links.size()), "other");
    }
    text += (text.empty() ? "" : ", ") + star;
    std::erase_if(links, [&](const Link* link) { return (leaves ? link->source : link->target) == middle; });
  }
  return text;
}

/// The busiest links as bars, alike ones together; the busiest of all is full.
std::string LinksText(const PlanReport& report) {
  const Topology& topology = report.topology;
  const LinkLoads& loads = report.made.loads;
  // By time, the longest first; then by bandwidth and load.
  std::map<std::tuple<double, Rational, Rational>, std::vector<const Link*>> groups;
  for (size_t i = 0; i < loads.blocks.size(); ++i) {
    const Link& link = topology.links()[i];
    const double ns = loads.blocks[i].ToDouble() / link.bandwidth.ToDouble();  // per byte of a block
    groups[{-ns, link.bandwidth, loads.blocks[i]}].push_back(&link);
  }
  const double most = groups.empty() ? 0 : -std::get<0>(groups.begin()->first);
  if (most == 0) return "";
  const bool v = report.request.collective == Collective::kAllToAllV;
  Table table({"link", ">links", ">GB/s", v ? ">bytes" : ">blocks", "load", ">of the busiest"});
  size_t shown = 0;
  size_t rest = 0;
  double rest_most = 0;
  for (const auto& [key, links] : groups) {
    const auto& [negative_ns, bandwidth, blocks] = key;
    const double share = -negative_ns / most;
    if (shown == kLinksShown) {
      rest_most = std::max(rest_most, share);
      rest += links.size();
      continue;
    }
    ++shown;
    table.Add({LinkNames(topology, links), std::to_string(links.size()), Decimal(bandwidth.ToDouble()),
               blocks.ToString(), Bar(share, kBarWidth), Percent(share)});
  }
  std::string text = Heading("what each link carries") + table.ToText();
  if (rest > 0) {
    text +=
        "  and " + Counted(static_cast<int64_t>(rest), "more link") + ", at most " + Percent(rest_most) + " as busy\n";
  }
  return text;
}

/// What a run should measure, in nccl-tests' sense.
std::string PredictionText(const PlanReport& report, const SimResult& sim) {
  const double limit = AlgbwOf(report.request, report.topology.rank_count(), report.made.achieved);
  std::string text = Heading("what to expect") + "  " + Duration(sim.time_us) + " simulated for " +
                     SizeText(report.request.bytes) + ", the busiest link alone " + Duration(sim.bound_us) +
                     "\n  predicted algbw " + Decimal(sim.algbw_GBps) + " GB/s, busbw " + Decimal(sim.busbw_GBps) +
                     " GB/s";
  if (limit > 0) text += "; the plan's limit for long messages is algbw " + Decimal(limit) + " GB/s";
  return text + "\n";
}

}  // namespace

StatusOr<std::string> ExplainPlan(const PlanReport& report) {
  const SimOptions options = report.request.collective == Collective::kAllToAllV
                                 ? ExchangeSimOptionsFor(report.topology, report.request.bytes)
                                 : SimOptionsFor(report.topology, report.request.bytes);
  MYCEL_ASSIGN_OR_RETURN(const SimResult sim, Simulate(report.made.choice.plan, report.topology, options));
  MYCEL_ASSIGN_OR_RETURN(const std::string tradeoff, TreeTradeoffText(report));
  MYCEL_ASSIGN_OR_RETURN(const std::string crossover, PlannerCrossoverText(report));
  const std::string exchange = report.exchange ? ExchangeText(*report.exchange, report.scheduled_us) : std::string();
  return PlanText(report) + ContestText(report) + MeasuredText(report) + crossover + OptimumText(report) + exchange +
         TreesText(report) + tradeoff + LinksText(report) + PredictionText(report, sim);
}

}  // namespace mycel::cli
