// What other runtimes' formats can say of our planners' plans: every planner and variant, every collective, a few
// machines, written, read back, proved, compared link by link and run; and, in one table, what a format refuses and
// why. MYCEL_UPDATE_GOLDEN=1 rewrites the table.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "bindings/interchange/plan_file.h"
#include "core/plan/run_check.h"
#include "core/plan/verify.h"
#include "core/topo/gallery.h"
#include "scheduler/lower/lower.h"
#include "scheduler/select/planners.h"

namespace mycel {
namespace {

constexpr char kTable[] = "bindings/interchange/exported_plans.txt";
constexpr const char* kMachines[] = {"ring5", "mesh-2x3", "hypercube-3", "dgx1-v100", "fullmesh-4", "servers-2x2"};

PlanRequest RequestOf(Collective collective, int32_t n) {
  PlanRequest request;
  request.collective = collective;
  request.bytes = 1 << 20;
  if (InfoOf(collective).rooted) request.root = Rank(n - 1);
  if (collective == Collective::kAllToAllV) {
    for (int32_t i = 0; i < n * n; ++i) request.demand.push_back(i % 3 == 0 ? 0 : 1 + i % 5);
  }
  return request;
}

/// The numbers and names of one case left out: what is refused, not where.
std::string ReasonOf(const Status& status) {
  std::string text(StatusMessage(status));
  text = text.substr(0, text.find(';'));
  std::string out;
  for (const char c : text) {
    const bool digit = c >= '0' && c <= '9';
    if (!digit) out += c;
    if (digit && (out.empty() || out.back() != 'N')) out += 'N';
  }
  return out;
}

/// How it went in one format: "ok", or the reason why the format cannot say it. Anything else fails the test.
std::string TripOf(const Plan& plan, PlanFormat format, const Topology& topology) {
  const StatusOr<std::string> text = WritePlanAs(plan, format);
  if (!text.ok()) {
    EXPECT_EQ(text.status().code(), StatusCode::kUnimplemented) << text.status();
    return ReasonOf(text.status());
  }
  const StatusOr<LoadedPlan> loaded = JudgePlanText(*text, "back");
  EXPECT_TRUE(loaded.ok()) << loaded.status();
  if (!loaded.ok()) return "not read back";
  EXPECT_TRUE(loaded->verdict.ok()) << loaded->verdict;
  EXPECT_EQ(loaded->plan.planner, plan.planner);
  const StatusOr<LinkLoads> before = ComputeLinkLoads(plan, topology), after = ComputeLinkLoads(loaded->plan, topology);
  EXPECT_TRUE(before.ok() && after.ok()) << before.status() << after.status();
  if (!before.ok() || !after.ok()) return "not on the topology";
  EXPECT_EQ(before->blocks, after->blocks);
  Plan run = loaded->plan;
  run.slice_bytes = 128;
  for (const bool in_place : {false, true}) {
    InterpretRequest request;
    request.type = DataType::kInt32;
    request.count = 101;
    request.in_place = in_place;
    request.seed = 7;
    const Status met = CheckByRunning(run, request);
    EXPECT_TRUE(met.ok()) << (in_place ? "in place: " : "") << met;
  }
  return "ok";
}

TEST(PlannersExported, TheTableSaysWhatEachFormatCannot) {
  // planner and collective -> format and outcome -> machines
  std::map<std::string, std::map<std::string, std::vector<std::string>>> rows;
  int trips = 0;
  for (const char* machine : kMachines) {
    const StatusOr<Topology> topology = GalleryTopology(machine);
    ASSERT_TRUE(topology.ok()) << topology.status();
    for (const Planner* planner : AllPlanners()) {
      for (const CollectiveInfo& info : AllCollectives()) {
        PlanRequest request = RequestOf(info.collective, topology->rank_count());
        for (const std::string& variant : planner->VariantsFor(*topology, request)) {
          request.variant = variant;
          SCOPED_TRACE(std::string(machine) + " " + std::string(planner->name()) + "/" + variant + " " +
                       std::string(info.name));
          const StatusOr<Schedule> schedule = planner->MakeSchedule(*topology, request);
          if (!schedule.ok()) continue;  // the planner's own limits: planners_test
          const StatusOr<Plan> plan = Lower(*schedule, *topology);
          ASSERT_TRUE(plan.ok()) << plan.status();
          const std::string name = plan->planner + " " + std::string(info.name);
          for (const PlanFormat format : {PlanFormat::kMscclXml, PlanFormat::kMscclppJson}) {
            SCOPED_TRACE(NameOf(format));
            const std::string outcome = TripOf(*plan, format, *topology);
            trips += outcome == "ok" ? 1 : 0;
            rows[name][std::string(NameOf(format)) + ": " + outcome].push_back(machine);
          }
        }
      }
    }
  }
  std::string table;
  for (const auto& [name, outcomes] : rows) {
    table += name + "\n";
    for (const auto& [outcome, machines] : outcomes) {
      table += "    " + outcome + " (";
      for (const std::string& machine : machines) table += (&machine == machines.data() ? "" : ", ") + machine;
      table += ")\n";
    }
  }
  EXPECT_GT(trips, 200);
  if (std::getenv("MYCEL_UPDATE_GOLDEN") != nullptr) {
    std::ofstream(kTable) << table;
    return;
  }
  std::stringstream kept;
  kept << std::ifstream(kTable).rdbuf();
  EXPECT_EQ(kept.str(), table) << kTable << ": if the change is meant, run again with MYCEL_UPDATE_GOLDEN=1";
}

}  // namespace
}  // namespace mycel
