// How long breadth-first planning takes on one thread: the cost alone (distances and the least loads), the trees, and a
// whole topology design. Counters: ranks, steps, and the seconds to reach.
#include <benchmark/benchmark.h>

#include <functional>
#include <string>
#include <vector>

#include "scheduler/bfb/share_trees.h"
#include "scheduler/bfb/step_loads.h"
#include "scheduler/design/finder.h"

namespace mycel {
namespace {

using design::Digraph;

void Cost(benchmark::State& state, const Digraph& graph, double target_s) {
  const bfb::RankGraph ranks = design::RankGraphOf(graph);
  size_t steps = 0;
  for (auto _ : state) {
    const StatusOr<std::vector<uint16_t>> distances = bfb::DistancesOf(ranks);
    if (!distances.ok()) return state.SkipWithError("some ranks are cut off");
    steps = bfb::StepLoads(ranks, *distances).size();
  }
  state.counters["ranks"] = ranks.rank_count;
  state.counters["steps"] = static_cast<double>(steps);
  state.counters["target_s"] = target_s;
}

void Trees(benchmark::State& state, const Digraph& graph) {
  constexpr int64_t kUnitsMax = 1 << 30;
  const bfb::RankGraph ranks = design::RankGraphOf(graph);
  size_t trees = 0;
  for (auto _ : state) {
    const StatusOr<std::vector<uint16_t>> distances = bfb::DistancesOf(ranks);
    if (!distances.ok()) return state.SkipWithError("some ranks are cut off");
    const auto shares = bfb::MakeShareTrees(ranks, *distances, bfb::Cutting::kExact, kUnitsMax);
    if (!shares.ok()) return state.SkipWithError(StatusMessage(shares.status()).c_str());
    trees = shares->trees.size();
  }
  state.counters["ranks"] = ranks.rank_count;
  state.counters["trees"] = static_cast<double>(trees);
}

void Design(benchmark::State& state, int32_t ranks, int32_t degree, double target_s) {
  size_t designs = 0;
  for (auto _ : state) {
    const auto found = design::FindDesigns(ranks, degree, {});
    if (!found.ok()) return state.SkipWithError(StatusMessage(found.status()).c_str());
    designs = found->size();
  }
  state.counters["designs"] = static_cast<double>(designs);
  state.counters["target_s"] = target_s;
}

void Register(const std::string& name, const std::function<void(benchmark::State&)>& run) {
  benchmark::RegisterBenchmark(name.c_str(), run)->Unit(benchmark::kMillisecond);
}

}  // namespace
}  // namespace mycel

int main(int argc, char** argv) {
  using namespace mycel;  // NOLINT(google-build-using-namespace)
  Register("cost/hypercube-10", [](auto& state) { Cost(state, design::Hamming(10, 2), 0.6); });
  Register("cost/torus-50x50", [](auto& state) { Cost(state, design::Torus({50, 50}), 0.7); });
  Register("cost/genkautz-4-1024", [](auto& state) { Cost(state, design::GeneralizedKautz(4, 1024), 0.1); });
  Register("cost/torus-16x16", [](auto& state) { Cost(state, design::Torus({16, 16}), 0); });
  Register("trees/torus-16x16", [](auto& state) { Trees(state, design::Torus({16, 16})); });
  Register("trees/hypercube-10", [](auto& state) { Trees(state, design::Hamming(10, 2)); });
  Register("design/1024x4", [](auto& state) { Design(state, 1024, 4, 10); });
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
