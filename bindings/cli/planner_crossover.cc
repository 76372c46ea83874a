#include "bindings/cli/planner_crossover.h"

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "bindings/cli/plan_making.h"
#include "bindings/cli/simulation.h"
#include "bindings/cli/terminal.h"
#include "scheduler/select/planners.h"
#include "scheduler/select/select.h"

namespace mycel::cli {
namespace {

constexpr double kPatienceMs = 2000;
constexpr int64_t kBytesMin = 1 << 10;
constexpr int64_t kBytesMax = int64_t{1} << 30;
constexpr int64_t kBytesStep = 4;
constexpr std::array<const char*, 2> kPlanners = {"bfb", "forest"};
/// As the chooser simulates.
constexpr int32_t kSimulatedSlices = 16;
constexpr int64_t kSimulatedMessages = 200'000;

struct Meeting {
  int64_t bytes = 0;
  std::array<double, 2> us{};
  bool ForestIsFaster() const { return us[1] < us[0]; }
};

StatusOr<Meeting> Meet(const PlanReport& report, int64_t bytes) {
  Meeting meeting{bytes, {}};
  for (size_t i = 0; i < kPlanners.size(); ++i) {
    PlanRequest request = report.request;
    request.planner = kPlanners[i];
    request.bytes = bytes;
    MYCEL_ASSIGN_OR_RETURN(const Choice choice, ChoosePlan(report.topology, request, CostModelFor(report.topology)));
    SimOptions options = SimOptionsFor(report.topology, bytes);
    options.slices_max = kSimulatedSlices;
    options.messages_max = kSimulatedMessages;
    MYCEL_ASSIGN_OR_RETURN(const SimResult sim, Simulate(choice.plan, report.topology, options));
    meeting.us[i] = sim.time_us;
  }
  return meeting;
}

bool BothServe(const PlanReport& report) {
  return std::all_of(kPlanners.begin(), kPlanners.end(), [&](const char* name) {
    const StatusOr<const Planner*> planner = FindPlanner(name);
    return planner.ok() && (*planner)->Serves(report.topology, report.request).ok();
  });
}

}  // namespace

StatusOr<std::string> PlannerCrossoverText(const PlanReport& report) {
  const std::string name = PlannerName(report.made.choice.plan);
  if (std::find(kPlanners.begin(), kPlanners.end(), name) == kPlanners.end()) return std::string();
  if (report.made.achieved == Rational(0) || report.request.trees_per_root > 0 || !BothServe(report)) {
    return std::string();
  }
  const std::string heading = "\n" + Painted(Tone::kStrong, "steps against trees");
  std::vector<int64_t> sizes;
  for (int64_t bytes = kBytesMin; bytes <= kBytesMax; bytes *= kBytesStep) sizes.push_back(bytes);
  const double expected_ms = 2 * static_cast<double>(kPlanners.size() * sizes.size()) * report.made.plan_ms;
  if (expected_ms > kPatienceMs) {
    return heading + "  left out: planning for " + Counted(std::ssize(sizes), "size") + " would take about " +
           Duration(expected_ms * 1e3) + "; --planner and --bytes make one of them\n";
  }
  Table table({">bytes", ">bfb", ">forest", "faster"});
  std::vector<Meeting> meetings;
  for (const int64_t bytes : sizes) {
    MYCEL_ASSIGN_OR_RETURN(const Meeting meeting, Meet(report, bytes));
    table.Add({SizeText(bytes), Duration(meeting.us[0]), Duration(meeting.us[1]),
               kPlanners[meeting.ForestIsFaster() ? 1 : 0]});
    meetings.push_back(meeting);
  }
  // The sizes at the end for which forest is the faster one, to a factor of two.
  auto first = meetings.end();
  while (first != meetings.begin() && (first - 1)->ForestIsFaster()) --first;
  if (first == meetings.end()) {
    return heading + "  forest is not faster than bfb up to " + SizeText(kBytesMax) + "\n" + table.ToText();
  }
  int64_t from = first->bytes;
  if (first != meetings.begin()) {
    MYCEL_ASSIGN_OR_RETURN(const Meeting between, Meet(report, from / 2));
    if (between.ForestIsFaster()) from = between.bytes;
  }
  return heading + "  forest is faster than bfb from " + SizeText(from) + " on\n" + table.ToText();
}

}  // namespace mycel::cli
