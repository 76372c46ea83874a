// How long the time-expanded search takes on one thread, to a whole schedule. Counters: ranks, chunks of a block,
// epochs, and the bound that no schedule of these chunks beats.
#include <benchmark/benchmark.h>

#include <functional>
#include <string>

#include "core/topo/gallery.h"
#include "scheduler/timeflow/timeflow.h"

namespace mycel {
namespace {

constexpr int64_t kBytes = 64 << 20;

void Search(benchmark::State& state, const std::string& name, Collective collective) {
  const auto topology = GalleryTopology(name);
  if (!topology.ok()) return state.SkipWithError("no topology");
  PlanRequest request;
  request.collective = collective;
  request.bytes = kBytes;
  request.root = Rank(0);
  timeflow::TimeFacts facts;
  for (auto _ : state) {
    const auto found = timeflow::TimeFactsOf(*topology, request);
    if (!found.ok()) return state.SkipWithError(StatusMessage(found.status()).c_str());
    facts = *found;
  }
  state.counters["ranks"] = topology->rank_count();
  state.counters["chunks"] = facts.chunks;
  state.counters["epochs"] = facts.epochs;
  state.counters["bound"] = facts.bound;
}

}  // namespace
}  // namespace mycel

int main(int argc, char** argv) {
  using mycel::Collective;
  for (const char* name : {"hypercube-3", "dgx1-v100", "mesh-3x3", "torus-4x4", "torus-8x8", "torus-16x16",
                           "dgx-a100-x2", "dgx-a100-x8"}) {
    for (const Collective collective :
         {Collective::kAllGather, Collective::kAllReduce, Collective::kBroadcast, Collective::kAllToAll}) {
      const std::string title = std::string(name) + "/" + std::string(mycel::NameOf(collective));
      const auto run = [name, collective](benchmark::State& state) { mycel::Search(state, name, collective); };
      benchmark::RegisterBenchmark(title.c_str(), run)->Unit(benchmark::kMillisecond);
    }
  }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
