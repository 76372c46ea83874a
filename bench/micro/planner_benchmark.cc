// How long cold planning takes, and where: allgather by planner forest, machine by machine, the whole way of a first
// call and each hop of it alone. One thread, no cache between iterations. `--large` adds machines that take seconds.
#include <benchmark/benchmark.h>
#include <malloc.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"
#include "core/plan/verify.h"
#include "core/topo/gallery.h"
#include "scheduler/graph/throughput_bound.h"
#include "scheduler/lower/depths.h"
#include "scheduler/lower/lower.h"
#include "scheduler/select/estimate.h"
#include "scheduler/select/planners.h"
#include "scheduler/select/select.h"

namespace mycel {
namespace {

constexpr std::string_view kMachines[] = {"dgx-a100",    "dgx-a100-x2",  "mi250-x2",    "torus-4x4",
                                          "dgx-a100-x8", "dgx-h100-x16", "dgx-a100-x32"};
constexpr std::string_view kLargeMachines[] = {"dgx-a100-x128"};

/// What `mycel plan --collective allgather --planner forest` asks for.
PlanRequest Request() {
  PlanRequest request;
  request.collective = Collective::kAllGather;
  request.bytes = 64 << 20;
  request.planner = "forest";
  request.lanes = 32;
  request.in_place = true;
  return request;
}

/// How the chooser lowers its winner.
StatusOr<LowerOptions> OptionsOf(const Choice& choice, const Topology& topology, const CostModel& cost) {
  const Candidate& winner = choice.contest.front();
  MYCEL_ASSIGN_OR_RETURN(const select::Estimate estimate,
                         select::Estimate::Make(choice.schedule, topology, Request().bytes));
  LowerOptions options;
  options.lanes = winner.lanes;
  options.lane_excess =
      estimate.LaneExcess(cost, {winner.slice_bytes, winner.pipelined, winner.lanes, winner.protocol});
  options.pipelined = winner.pipelined ? Pipelining::kOn : Pipelining::kOff;
  options.slice_bytes = winner.slice_bytes;
  options.channel_bytes = cost.channel_bytes;
  options.protocol = winner.protocol;
  return options;
}

/// One machine with what the hops hand to each other.
struct Machine {
  std::string name;
  Topology topology;
  CostModel cost;
  Choice choice;
  LowerOptions lower;
};

StatusOr<std::unique_ptr<Machine>> MakeMachine(const std::string& name) {
  MYCEL_ASSIGN_OR_RETURN(Topology topology, GalleryTopology(name));
  const CostModel cost = FabricCostModel();
  MYCEL_ASSIGN_OR_RETURN(Choice choice, ChoosePlan(topology, Request(), cost));
  MYCEL_ASSIGN_OR_RETURN(LowerOptions lower, OptionsOf(choice, topology, cost));
  MYCEL_ASSIGN_OR_RETURN(const Plan again, Lower(choice.schedule, topology, lower));
  if (HashOf(again) != HashOf(choice.plan)) return InternalError(name + ": the chooser lowers in another way");
  return std::make_unique<Machine>(Machine{name, std::move(topology), cost, std::move(choice), std::move(lower)});
}

/// The machine of the last benchmark is kept: only one at a time, so that peak memory is one machine's.
StatusOr<const Machine*> MachineOf(const std::string& name) {
  static std::unique_ptr<Machine> kept;
  if (kept == nullptr || kept->name != name) {
    kept.reset();
    MYCEL_ASSIGN_OR_RETURN(kept, MakeMachine(name));
  }
  return kept.get();
}

/// Peak of this process's resident memory since construction, where the kernel lets a process forget its older peak.
class PeakMemory {
 public:
  PeakMemory() {
    malloc_trim(0);
    std::ofstream file("/proc/self/clear_refs");
    known_ = static_cast<bool>(file << "5" << std::flush);
  }
  void Report(benchmark::State& state) const {
    std::ifstream file("/proc/self/status");
    for (std::string line; known_ && std::getline(file, line);) {
      if (line.rfind("VmHWM:", 0) == 0) state.counters["peak_MB"] = std::stod(line.substr(6)) * 1024 / 1e6;
    }
  }

 private:
  bool known_ = false;
};

void ReportPlan(benchmark::State& state, const Machine& machine) {
  int64_t ops = 0;
  for (const RankPlan& rank : machine.choice.plan.ranks) {
    for (const Lane& lane : rank.lanes) ops += static_cast<int64_t>(lane.ops.size());
  }
  int32_t depth_max = 0;
  lower::Depths depths;
  for (const Tree& tree : machine.choice.schedule.trees) {
    if (!lower::MeasureTree(tree, machine.choice.schedule.rank_count, &depths).ok()) continue;
    depth_max = std::max(depth_max, depths.reach);
  }
  state.counters["ranks"] = machine.topology.rank_count();
  state.counters["trees"] = static_cast<double>(machine.choice.schedule.trees.size());
  state.counters["depth_max"] = depth_max;
  state.counters["ops"] = static_cast<double>(ops);
}

/// Times `hop`, which answers a Status or a StatusOr.
template <typename Hop>
void Time(benchmark::State& state, const std::string& name, const Hop& hop) {
  const StatusOr<const Machine*> machine = MachineOf(name);
  if (!machine.ok()) return state.SkipWithError(StatusMessage(machine.status()).c_str());
  const PeakMemory peak;
  for (auto _ : state) {
    const auto answer = hop(**machine);
    if (!answer.ok()) return state.SkipWithError((name + ": the hop failed").c_str());
  }
  peak.Report(state);
  ReportPlan(state, **machine);
}

Status PlanAndProve(const Machine& machine) {
  MYCEL_ASSIGN_OR_RETURN(const Choice choice, ChoosePlan(machine.topology, Request(), machine.cost));
  return Verify(choice.plan);
}

void Register(std::string_view machine) {
  const std::string name(machine);
  const auto add = [&](const std::string& hop, auto run) {
    benchmark::RegisterBenchmark((hop + "/" + name).c_str(), [name, run](benchmark::State& state) {
      Time(state, name, run);
    })->Unit(benchmark::kMillisecond);
  };
  add("optimum", [](const Machine& m) { return AllGatherOptimum(m.topology); });
  add("schedule", [](const Machine& m) { return (*FindPlanner("forest"))->MakeSchedule(m.topology, Request()); });
  add("lower", [](const Machine& m) { return Lower(m.choice.schedule, m.topology, m.lower); });
  add("verify", [](const Machine& m) { return Verify(m.choice.plan); });
  add("all", PlanAndProve);
}

}  // namespace
}  // namespace mycel

int main(int argc, char** argv) {
  const auto is_large = [](const char* argument) { return std::string_view(argument) == "--large"; };
  char** const end = std::remove_if(argv + 1, argv + argc, is_large);
  const bool large = end != argv + argc;
  argc = static_cast<int>(end - argv);
  for (const std::string_view machine : mycel::kMachines) mycel::Register(machine);
  if (large) {
    for (const std::string_view machine : mycel::kLargeMachines) mycel::Register(machine);
  }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
