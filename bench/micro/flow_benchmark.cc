// How long concurrent flow takes on one thread: multiplicative weights with a proved gap, exact flows where a graph
// looks the same from every rank, and whole schedules. Counters: ranks, rounds, the gap in per cent, the seconds to
// reach.
#include <benchmark/benchmark.h>

#include <functional>
#include <string>

#include "scheduler/design/digraph.h"
#include "scheduler/flow/concurrent_flow.h"
#include "scheduler/flow/flow.h"

namespace mycel {
namespace {

using design::Digraph;

PlanRequest AllToAll() {
  PlanRequest request;
  request.collective = Collective::kAllToAll;
  return request;
}

void Solve(benchmark::State& state, const Digraph& graph, double target_s) {
  const auto topology = ToTopology(graph, "graph", "", Rational(1), 1);
  if (!topology.ok()) return state.SkipWithError("no topology");
  flow::FlowFacts facts;
  for (auto _ : state) {
    const auto found = flow::FlowFactsOf(*topology, AllToAll());
    if (!found.ok()) return state.SkipWithError("no flow");
    facts = *found;
  }
  state.counters["ranks"] = graph.rank_count;
  state.counters["rounds"] = facts.rounds;
  state.counters["time"] = facts.inv_x.ToDouble();
  state.counters["gap_%"] = 100 * facts.gap();
  state.counters["target_s"] = target_s;
}

void Paths(benchmark::State& state, const Digraph& graph) {
  const auto topology = ToTopology(graph, "graph", "", Rational(1), 1);
  if (!topology.ok()) return state.SkipWithError("no topology");
  size_t paths = 0;
  for (auto _ : state) {
    const auto schedule = FlowPlanner().MakeSchedule(*topology, AllToAll());
    if (!schedule.ok()) return state.SkipWithError(StatusMessage(schedule.status()).c_str());
    paths = schedule->trees.size();
  }
  state.counters["ranks"] = graph.rank_count;
  state.counters["paths"] = static_cast<double>(paths);
}

void Register(const std::string& name, const std::function<void(benchmark::State&)>& run) {
  benchmark::RegisterBenchmark(name.c_str(), run)->Unit(benchmark::kMillisecond);
}

}  // namespace
}  // namespace mycel

int main(int argc, char** argv) {
  using namespace mycel;  // NOLINT(google-build-using-namespace)
  Register("flow/genkautz-4-64", [](auto& state) { Solve(state, design::GeneralizedKautz(4, 64), 0.2); });
  Register("flow/genkautz-4-128", [](auto& state) { Solve(state, design::GeneralizedKautz(4, 128), 0); });
  Register("flow/genkautz-4-256", [](auto& state) { Solve(state, design::GeneralizedKautz(4, 256), 7); });
  Register("flow/genkautz-4-1024", [](auto& state) { Solve(state, design::GeneralizedKautz(4, 1024), 30); });
  Register("flow/mesh-8x8", [](auto& state) { Solve(state, design::Mesh(8, 8), 0.2); });
  Register("flow/torus-32x32", [](auto& state) { Solve(state, design::Torus({32, 32}), 30); });
  Register("flow/hypercube-10", [](auto& state) { Solve(state, design::Hamming(10, 2), 30); });
  Register("flow/circulant-1024-22-23", [](auto& state) { Solve(state, design::Circulant(1024, {22, 23}), 30); });
  Register("schedule/torus-8x8", [](auto& state) { Paths(state, design::Torus({8, 8})); });
  Register("schedule/genkautz-4-64", [](auto& state) { Paths(state, design::GeneralizedKautz(4, 64)); });
  Register("schedule/genkautz-4-256", [](auto& state) { Paths(state, design::GeneralizedKautz(4, 256)); });
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
