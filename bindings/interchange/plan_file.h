// The one loader of plans, for `mycel`, the benchmarks and the library: our plan files, MSCCL's XML and MSCCL++'s JSON,
// told apart by what is in them, never by their names.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"
#include "core/plan/plan.h"
#include "core/topo/topology.h"

namespace mycel {

enum class PlanFormat : uint8_t { kMycel, kMscclXml, kMscclppJson };

/// "mycel", "msccl-xml", "mscclpp-json".
std::string_view NameOf(PlanFormat format);
/// InvalidArgument lists the names.
StatusOr<PlanFormat> ParsePlanFormat(std::string_view name);
const std::vector<PlanFormat>& AllPlanFormats();

struct LoadedPlan {
  Plan plan;
  PlanFormat format = PlanFormat::kMycel;
  /// OK; else what is wrong (exit code 1), and the plan is only there to say what it was meant to be.
  Status verdict;
};

/// Reads a plan and proves it right, in place and out of place. An error is bad input (a malformed file) or Impossible
/// (a file that says what a plan cannot); a file that is well formed and wrong is a verdict.
StatusOr<LoadedPlan> JudgePlanText(std::string_view text, const std::string& file_name);
StatusOr<LoadedPlan> JudgePlanFile(const std::string& path);

/// The same for those who want to run it: a wrong plan is InvalidArgument.
StatusOr<Plan> LoadPlanFile(const std::string& path);

/// Gives messages that have neither a route nor a direct link in `topology` the shortest route there, and notes the
/// topology's name and hash where the plan names none. Impossible where there is no route.
Status RouteOn(const Topology& topology, Plan* plan);

/// RouteOn for plans of other formats, whose files say no routes; our own say theirs and are left alone.
Status RouteForeign(PlanFormat format, const Topology& topology, Plan* plan);

/// The file's text. `runtime`: whose limits and spelling an MSCCL file keeps to (msccl::AllLimits; empty: the first).
/// Impossible where the format cannot say the plan.
StatusOr<std::string> WritePlanAs(const Plan& plan, PlanFormat format, std::string_view runtime = "");

}  // namespace mycel
