// `mycel info`: what this build is, what it was built with, and what it offers.
#include <CLI/CLI.hpp>

#include "bindings/c/device_choice.h"
#include "bindings/cli/command.h"
#include "bindings/cli/terminal.h"
#include "core/base/build_info.h"
#include "core/base/env.h"
#include "core/plan/collective.h"
#include "core/plan/types.h"
#include "core/runtime/plan_store.h"
#include "kernels/host/host_device.h"
#include "scheduler/select/planners.h"

namespace mycel::cli {
namespace {

std::string Heading(const std::string& text) { return "\n" + Painted(Tone::kStrong, text) + "\n"; }

std::string DescribeBuild() {
  const BuildInfo& info = GetBuildInfo();
  Table table({"", ""}, "  ");
  table.Add({"commit", std::string(info.commit)});
  table.Add({"build", std::string(info.build_type)});
  table.Add({"compiler", std::string(info.compiler)});
  table.Add({"sanitizers", info.sanitizers.empty() ? "none" : std::string(info.sanitizers)});
  return Painted(Tone::kStrong, "mycel " + std::string(info.version)) + "\n" + table.ToText();
}

std::string DescribeDependencies() {
  Table table({"", "", "", ""}, "  ");
  for (const BuildFeature& feature : GetBuildInfo().features) {
    table.Add({std::string(feature.name),
               Cell(feature.found ? "yes" : "no", feature.found ? Tone::kGood : Tone::kFaint),
               std::string(feature.version), Cell(std::string(feature.purpose), Tone::kFaint)});
  }
  return Heading("dependencies") + table.ToText();
}

std::string DescribePlanners() {
  Table table({"", ""}, "  ");
  table.Add({"auto", Cell("asks every planner below and takes the fastest by predicted time", Tone::kFaint)});
  for (const Planner* planner : AllPlanners()) {
    table.Add({std::string(planner->name()), Cell(std::string(planner->summary()), Tone::kFaint)});
  }
  return Heading("planners") + table.ToText();
}

template <typename Rows, typename ToName>
std::string DescribeNames(const std::string& title, const Rows& rows, ToName to_name) {
  std::string text;
  for (const auto& row : rows) text += " " + std::string(to_name(row));
  return Heading(title) + " " + text + "\n";
}

std::string DescribePlanStore() {
  const std::string folder = PlanStoreFolder();
  std::string text = Heading("plans kept between runs");
  if (folder.empty()) return text + "  none: " + std::string(EnvRow(Env::kCacheDir).name) + " is off, or no home\n";
  const PlanStore::Usage usage = PlanStore(folder).Measure();
  Table table({"", ""}, "  ");
  table.Add({"folder", Printable(folder)});
  table.Add({"kept", Counted(usage.files, "plan") + ", " + SizeText(usage.bytes) + " of at most " +
                         SizeText(PlanStore::kBytesMax)});
  return text + table.ToText();
}

/// Every device that communicators can be on, and why there are no others.
std::string DescribeDevices() {
  Table table({"", "", ""}, "  ");
  table.Add({std::string(HostDevice().name()), "", Cell("the processor, in the calling thread", Tone::kFaint)});
  for (const char* name : {"cuda", "hip"}) {
    const StatusOr<GpuDriver*> driver = DriverOf(name);
    if (!driver.ok()) {
      table.Add({name, "none", Cell(Printable(StatusMessage(driver.status())), Tone::kFaint)});
      continue;
    }
    const bool has_kernels = (std::string_view(name) == "hip" ? HipImageOf("mycel_scale") : CudaImageOf("mycel_scale"));
    for (int32_t device = 0; device < (*driver)->device_count(); ++device) {
      const StatusOr<GpuFacts> facts = (*driver)->Describe(device);
      table.Add({std::string(name) + ":" + std::to_string(device),
                 facts.ok() ? Printable(facts->name) : "does not answer",
                 Cell(!facts.ok() ? Printable(StatusMessage(facts.status()))
                                  : facts->architecture + ", " + facts->bus_id +
                                        (has_kernels ? "" : "; this build has no kernels for it"),
                      Tone::kFaint)});
    }
  }
  return Heading("devices") + table.ToText();
}

ExitCode RunInfo() {
  Table transports({"", ""}, "  ");
  transports.Add({"shm", Cell("ranks of one host that are processes: shared memory", Tone::kFaint)});
  transports.Add({"ipc", Cell("GPUs of one host: device memory that peers map", Tone::kFaint)});
  transports.Add({"loopback", Cell("ranks that are threads of one process", Tone::kFaint)});
  return Print(DescribeBuild() + DescribeDependencies() + DescribeDevices() + Heading("transports") +
               transports.ToText() + DescribePlanStore() + DescribePlanners() +
               DescribeNames("collectives", AllCollectives(), [](const CollectiveInfo& c) { return c.name; }) +
               DescribeNames("types", AllDataTypes(), [](DataType type) { return NameOf(type); }) +
               DescribeNames("operations", AllReduceOps(), [](ReduceOp op) { return NameOf(op); }));
}

}  // namespace

std::vector<Command> DeclareInfo(CLI::App& root) {
  CLI::App* app =
      root.add_subcommand("info", "show version, build, dependencies, devices, transports, planners, kept plans");
  return {{app, RunInfo}};
}

}  // namespace mycel::cli
