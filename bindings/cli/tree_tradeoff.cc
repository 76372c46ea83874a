#include "bindings/cli/tree_tradeoff.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "bindings/cli/plan_making.h"
#include "bindings/cli/terminal.h"
#include "bindings/cli/tree_heights.h"

namespace mycel::cli {
namespace {

constexpr double kPatienceMs = 1000;
constexpr int64_t kTreesMax = 64;  // beyond, more trees buy next to nothing

/// 1, 2, 3, 4, 6, 8, 12, 16, ... below `exact` (`coarse`: powers of two), and `asked` among them.
std::vector<int64_t> CountsBelow(int64_t exact, int64_t asked, bool coarse) {
  std::vector<int64_t> counts;
  for (int64_t power = 1; power <= kTreesMax; power *= 2) {
    counts.push_back(power);
    if (!coarse && power > 1) counts.push_back(power / 2 * 3);
  }
  std::erase_if(counts, [&](int64_t count) { return count >= exact || count > kTreesMax; });
  if (asked > 0) counts.push_back(asked);
  std::sort(counts.begin(), counts.end());
  counts.erase(std::unique(counts.begin(), counts.end()), counts.end());
  return counts;
}

struct Forest {
  Schedule schedule;
  Rational achieved;
  double estimated_us = 0;
};

StatusOr<Forest> MakeForest(const PlanReport& report, int64_t trees_per_root) {
  PlanRequest request = report.request;
  request.planner = "forest";
  request.trees_per_root = static_cast<int32_t>(trees_per_root);
  MYCEL_ASSIGN_OR_RETURN(Choice choice, ChoosePlan(report.topology, request, CostModelFor(report.topology)));
  MYCEL_ASSIGN_OR_RETURN(const LinkLoads loads, ComputeLinkLoads(choice.plan, report.topology));
  MYCEL_ASSIGN_OR_RETURN(const Rational achieved,
                         AchievedInvX(loads, request.collective, report.topology.rank_count()));
  return Forest{std::move(choice.schedule), achieved, choice.contest.front().estimated_us};
}

/// The forest that needs no rounding: the plan at hand, if nobody asked for another number of trees.
StatusOr<Forest> ExactForest(const PlanReport& report) {
  const Choice& choice = report.made.choice;
  if (report.request.trees_per_root > 0) return MakeForest(report, 0);
  return Forest{choice.schedule, report.made.achieved, choice.contest.front().estimated_us};
}

/// Rows, where neighbours that differ in nothing but the count share one.
class Rows {
 public:
  explicit Rows(const PlanReport& report) : report_(report) {}

  void Add(const std::string& count, const Forest& forest, bool chosen) {
    const TreeHeights hops = HopsOf(forest.schedule);
    Row row{count,
            chosen,
            {forest.achieved.ToString(), Percent(report_.optimum.inv_x.ToDouble() / forest.achieved.ToDouble()),
             std::to_string(hops.max), Decimal(hops.mean, 3), std::to_string(FactsOf(forest.schedule).distinct),
             Duration(forest.estimated_us)}};
    if (rows_.empty() || rows_.back().facts != row.facts || rows_.back().chosen != chosen) {
      rows_.push_back(std::move(row));
    } else {
      rows_.back().counts += ", " + count;
    }
  }

  std::string ToText() const {
    Table table({">trees per root", ">1/x", ">of the optimum", ">most hops", ">on average", ">distinct trees",
                 ">estimated for " + SizeText(report_.request.bytes), ""});
    for (const Row& row : rows_) {
      std::vector<Cell> cells = {Cell(row.counts, row.chosen ? Tone::kGood : Tone::kPlain)};
      cells.insert(cells.end(), row.facts.begin(), row.facts.end());
      cells.emplace_back(row.chosen ? "this plan" : "");
      table.Add(std::move(cells));
    }
    return table.ToText();
  }

 private:
  struct Row {
    std::string counts;
    bool chosen;
    std::vector<std::string> facts;
  };
  const PlanReport& report_;
  std::vector<Row> rows_;
};

}  // namespace

StatusOr<std::string> TreeTradeoffText(const PlanReport& report) {
  if (PlannerName(report.made.choice.plan) != "forest" || report.made.achieved == Rational(0)) return std::string();
  const int64_t asked = report.request.trees_per_root;
  const std::string heading = "\n" + Painted(Tone::kStrong, "what more trees would buy");
  const auto forest_ms = [&](const std::vector<int64_t>& counts) {
    return static_cast<double>(counts.size()) * report.made.plan_ms;
  };
  MYCEL_ASSIGN_OR_RETURN(const Forest exact, ExactForest(report));
  const int64_t exact_count = FactsOf(exact.schedule).units;
  if (exact_count == 1 && asked == 0) return heading + "  nothing: one tree per root needs no rounding\n";
  std::vector<int64_t> counts = CountsBelow(exact_count, asked, false);
  if (forest_ms(counts) > kPatienceMs) counts = CountsBelow(exact_count, asked, true);
  if (forest_ms(counts) > kPatienceMs) {
    return heading + "  left out: planning " + Counted(static_cast<int64_t>(counts.size()), "forest") +
           " would take about " + Duration(forest_ms(counts) * 1e3) + "; --trees-per-root K makes one of them\n";
  }
  Rows rows(report);
  std::string refusals;
  for (const int64_t count : counts) {
    const StatusOr<Forest> forest = MakeForest(report, count);
    if (forest.ok()) {
      rows.Add(std::to_string(count), *forest, count == asked);
    } else {
      refusals += "  " + std::to_string(count) + ": " + StatusMessage(forest.status()) + "\n";
    }
  }
  rows.Add(std::to_string(exact_count) + " (exact)", exact, asked == 0);
  return heading + "\n" + rows.ToText() + refusals;
}

}  // namespace mycel::cli
