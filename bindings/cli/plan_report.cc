#include "bindings/cli/plan_report.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <vector>

#include "bindings/cli/terminal.h"
#include "core/base/bytes.h"

namespace mycel::cli {
namespace {

using Json = nlohmann::ordered_json;

/// JSON has no infinity: what does not move has no bandwidth.
Json Number(double value) { return value > 0 ? Json(value) : Json(nullptr); }

std::vector<std::string> CutNames(const PlanReport& report) {
  std::vector<std::string> names;
  for (const NodeId node : report.optimum.cut) names.push_back(report.topology.node(node).id);
  return names;
}

std::string ShapeText(const Plan& plan) {
  size_t lanes = 0;
  size_t ops = 0;
  for (const RankPlan& rank : plan.ranks) {
    lanes = std::max(lanes, rank.lanes.size());
    for (const Lane& lane : rank.lanes) ops += lane.ops.size();
  }
  return Counted(static_cast<int64_t>(lanes), "lane") + " a rank, " + Counted(static_cast<int64_t>(ops), "op") + ", " +
         Counted(static_cast<int64_t>(plan.channels.size()), "channel") + " with " + Counted(plan.slot_count, "slot") +
         " of " + SizeText(plan.slice_bytes) + ", protocol " + std::string(NameOf(plan.protocol));
}

std::string ShareText(const PlanReport& report) {
  if (report.made.achieved == Rational(0)) return "nothing moves";
  return ShareOfOptimum(report) + " of the optimum";
}

/// The bound's proof speaks of what trees can do, not of this plan.
std::string ProofText(const PlanReport& report) {
  const bool short_of_it = report.optimum.kind == BoundKind::kOptimum && report.made.achieved > report.optimum.inv_x;
  return report.optimum.proof + (short_of_it ? "; this plan does not" : "");
}

std::string NodesText(const PlanReport& report, const std::vector<NodeId>& nodes) {
  return Printable(NodeSetText(report.topology, nodes));
}

/// What copies and sums in switches would be worth; empty when nothing is to be said.
std::string InNetworkText(const PlanReport& report) {
  if (!report.in_network) return report.in_network_unknown;
  const InNetwork& best = *report.in_network;
  std::string text = "1/x = " + best.inv_x.ToString();
  const double gbps = AlgbwOf(report.request, report.topology.rank_count(), best.inv_x);
  if (gbps > 0) text += ", " + Decimal(gbps) + " GB/s,";
  if (!best.copying.empty()) text += " if " + NodesText(report, best.copying) + " copied";
  if (!best.reducing.empty()) {
    text += (best.copying.empty() ? " if " : " and ") + NodesText(report, best.reducing) + " reduced";
  }
  return text + "; this plan uses them as plain switches";
}

std::string GBpsText(double gbps) { return gbps > 0 ? Decimal(gbps) + " GB/s" : "-"; }

}  // namespace

std::string ShareOfOptimum(const PlanReport& report) {
  const Rational& best = report.optimum.inv_x;
  const Rational& achieved = report.made.achieved;
  if (achieved == best) return Percent(1);
  const double share = best.ToDouble() / achieved.ToDouble();
  constexpr double kRoundsUp = 0.9995;
  if (share < kRoundsUp) return Percent(share);
  char text[16];
  std::snprintf(text, sizeof text, "%.2f %%", std::min(std::floor(share * 1e4), 9999.0) / 100);
  return text;
}

std::string GapText(const Rational& inv_x, const Rational& bound) {
  if (inv_x == bound) return "0 %";
  // Rounded up: a gap is never shown as smaller than it is.
  char text[32];
  std::snprintf(text, sizeof text, "%.3f %%", std::ceil((inv_x.ToDouble() / bound.ToDouble() - 1) * 1e5) / 1e3);
  return text;
}

double AlgbwOf(const PlanRequest& request, int32_t rank_count, const Rational& inv_x) {
  if (inv_x == Rational(0)) return 0;
  if (request.collective == Collective::kAllToAllV) return static_cast<double>(request.bytes) / inv_x.ToDouble();
  return AlgorithmBandwidthGBps(request.collective, rank_count, inv_x);
}

std::string UnitOf(Collective collective) {
  switch (collective) {
    case Collective::kBroadcast:
    case Collective::kReduce:
      return "ns per byte of the message";
    case Collective::kAllToAll:
      return "ns per byte of a pair's block";
    case Collective::kAllToAllV:
      return "ns";
    default:
      return "ns per byte of a rank's shard";
  }
}

std::string PlanJson(const PlanReport& report) {
  const int32_t n = report.topology.rank_count();
  const MadePlan& made = report.made;
  Json json;
  json["planner"] = PlannerName(made.choice.plan);
  json["collective"] = std::string(NameOf(report.request.collective));
  json["topology"] = report.topology.name();
  json["ranks"] = n;
  json["bytes"] = report.request.bytes;
  json["optimal"] = {{"inv_x", report.optimum.inv_x.ToString()},
                     {"algbw_GBps", Number(AlgbwOf(report.request, n, report.optimum.inv_x))},
                     {"bottleneck_cut", CutNames(report)},
                     {"proof", ProofText(report)}};
  json["achieved"] = {{"inv_x", made.achieved.ToString()},
                      {"algbw_GBps", Number(AlgbwOf(report.request, n, made.achieved))}};
  json["trees"] = {
      {"per_root", made.trees.per_root}, {"distinct", made.trees.distinct}, {"depth_max", made.trees.depth_max}};
  if (report.steps) {
    json["steps"] = {{"count", std::ssize(report.steps->loads)}, {"inv_x", report.steps->inv_x.ToString()}};
    for (const Rational& load : report.steps->loads) json["steps"]["loads"].push_back(load.ToString());
  }
  if (report.flow) {
    json["flow"] = {{"method", std::string(NameOf(report.flow->method))},
                    {"rounds", report.flow->rounds},
                    {"inv_x", report.flow->inv_x.ToString()},
                    {"bound", report.flow->bound.ToString()},
                    {"gap", report.flow->gap()}};
  }
  if (report.epochs) {
    json["epochs"] = {{"count", report.epochs->epochs},
                      {"bound", report.epochs->bound},
                      {"ns", report.epochs->epoch_ns.ToString()},
                      {"chunks", report.epochs->chunks},
                      {"rounds", report.epochs->rounds}};
  }
  json["verified"] = made.verified.ok();
  json["plan_ms"] = made.plan_ms;
  if (report.request.collective == Collective::kAllToAllV) {
    json["lower_bound_us"] = report.optimum.inv_x.ToDouble() * 1e-3;
    json["scheduled_us"] = report.scheduled_us;
    json["stages"] = made.trees.stages;
    json["synthesis_us"] = made.synthesis_us;
    json["staging_bytes_max"] = StagingBytesMax(made.choice.plan, report.request.bytes);
  }
  if (report.in_network) {
    json["in_network"] = {{"inv_x", report.in_network->inv_x.ToString()},
                          {"algbw_GBps", Number(AlgbwOf(report.request, n, report.in_network->inv_x))}};
  }
  // Names come from files and may be no UTF-8; what cannot be shown is replaced, never a reason to stop.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string PlanText(const PlanReport& report) {
  const int32_t n = report.topology.rank_count();
  const MadePlan& made = report.made;
  const Plan& plan = made.choice.plan;
  const bool v = report.request.collective == Collective::kAllToAllV;
  std::string text =
      Painted(Tone::kStrong, std::string(NameOf(plan.collective)) + " on " + Printable(report.topology.name())) + "  " +
      Counted(n, "rank") + ", " + SizeText(report.request.bytes) + (v ? " a rank on average" : "") +
      (plan.root.valid() ? ", root " + std::to_string(plan.root.value()) : "") + "\n";
  Table table({"", "", "", ""});
  table.Add({"optimum", "1/x* = " + report.optimum.inv_x.ToString() + " " + UnitOf(plan.collective),
             GBpsText(AlgbwOf(report.request, n, report.optimum.inv_x)), ""});
  table.Add({"plan", "1/x  = " + made.achieved.ToString() + "  by planner " + plan.planner,
             GBpsText(AlgbwOf(report.request, n, made.achieved)), ShareText(report)});
  text += table.ToText();
  Table facts({"", ""});
  facts.Add({"proof", ProofText(report)});
  if (const std::string in_network = InNetworkText(report); !in_network.empty()) {
    facts.Add({"with copies in the switches", in_network});
  }
  facts.Add({"trees", std::to_string(made.trees.per_root) + " per root, " + std::to_string(made.trees.distinct) +
                          " distinct, at most " + Counted(made.trees.depth_max, "hop") + " deep"});
  if (report.steps) {
    facts.Add({"steps", std::to_string(report.steps->loads.size()) + "; with a barrier after each 1/x = " +
                            report.steps->inv_x.ToString() + " " + UnitOf(plan.collective)});
  }
  if (report.flow) {
    facts.Add({"flow", "1/x = " + report.flow->inv_x.ToString() + " before blocks are cut into units, " +
                           GapText(report.flow->inv_x, report.flow->bound) + " above its proof (" +
                           std::string(NameOf(report.flow->method)) + ", " + Counted(report.flow->rounds, "round") +
                           ")"});
  }
  if (report.epochs) {
    const timeflow::TimeFacts& epochs = *report.epochs;
    facts.Add({"epochs",
               std::to_string(epochs.epochs) + " of " + Duration(epochs.epoch_ns.ToDouble() / 1e3) +
                   (epochs.epochs == epochs.bound ? ", no fewer possible"
                                                  : ", no fewer than " + std::to_string(epochs.bound) + " possible") +
                   " with blocks cut into " + Counted(epochs.chunks, "chunk")});
  }
  facts.Add({"program", ShapeText(plan)});
  if (v) {
    facts.Add({"time", Duration(report.scheduled_us) + " simulated, at least " +
                           Duration(report.optimum.inv_x.ToDouble() * 1e-3) + "; " +
                           Counted(made.trees.stages, "stage") + ", staging at most " +
                           SizeText(StagingBytesMax(plan, report.request.bytes)) + " a rank"});
  }
  facts.Add({"verified",
             made.verified.ok() ? Cell("yes", Tone::kGood) : Cell("NO: " + StatusMessage(made.verified), Tone::kBad)});
  facts.Add({"planned in", Duration(made.plan_ms * 1e3) + ", verification included"});
  return text + facts.ToText();
}

}  // namespace mycel::cli
