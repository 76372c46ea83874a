// How long a rank needs from the byte counts to its own paths of an alltoallv between servers of 8 ranks: the server
// matrix (up to 64 servers; beyond, it comes with the counts), the stages, and the tiles of the own server's row and
// column. Counters: stages, stages per server, length over the longest line, and the time to reach.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "core/base/rng.h"
#include "scheduler/fast/cluster.h"
#include "scheduler/fast/expand.h"
#include "scheduler/fast/stages.h"

namespace mycel {
namespace {

constexpr int32_t kRanks = 8;

/// Servers of 8 ranks with 50 GB/s out each and 450 GB/s inside: no topology to read.
fast::Cluster ClusterOf(int32_t servers) {
  fast::Cluster cluster;
  cluster.unit_MBps = 50'000;
  cluster.scale_up_MBps = 450'000;
  cluster.latency_ns = 6'000;
  for (int32_t s = 0; s < servers; ++s) {
    cluster.servers.emplace_back();
    for (int32_t p = 0; p < kRanks; ++p) {
      cluster.servers.back().ranks.push_back(Rank(s * kRanks + p));
      cluster.servers.back().rates.push_back(1);
      cluster.server_of.push_back(s);
      cluster.place_of.push_back(p);
    }
  }
  return cluster;
}

enum Workload : int64_t { kRandom, kZipf };

/// Independent flows with a mean that makes a GiB a rank.
std::vector<int64_t> DemandOf(int32_t ranks, int64_t workload) {
  Rng rng(7);
  std::vector<double> cumulated;
  double sum = 0;
  for (int k = 1; k <= 1024; ++k) cumulated.push_back(sum += std::pow(k, -0.8));
  std::vector<int64_t> demand(static_cast<size_t>(ranks) * static_cast<size_t>(ranks));
  const double mean = static_cast<double>(1 << 30) / ranks;
  for (int64_t& bytes : demand) {
    if (workload == kRandom) {
      bytes = static_cast<int64_t>(rng.Unit() * 2 * mean);
      continue;
    }
    const auto at = std::lower_bound(cumulated.begin(), cumulated.end(), rng.Unit() * sum) - cumulated.begin();
    bytes = static_cast<int64_t>(static_cast<double>(at + 1) / 300 * mean);
  }
  for (int32_t r = 0; r < ranks; ++r) demand[static_cast<size_t>(r) * static_cast<size_t>(ranks + 1)] = 0;
  return demand;
}

double GoalUs(int32_t servers) {
  switch (servers) {
    case 4:
      return 10;
    case 8:
      return 40;
    case 16:
      return 120;
    case 40:
      return 600;
    case 64:
      return 1500;
    default:
      return 6000;
  }
}

void Synthesis(benchmark::State& state) {
  const auto servers = static_cast<int32_t>(state.range(0));
  const fast::Cluster cluster = ClusterOf(servers);
  const std::vector<int64_t> demand = DemandOf(cluster.rank_count(), state.range(1));
  fast::Exchange exchange;
  exchange.cluster = &cluster;
  exchange.demand = demand.data();
  exchange.traffic = fast::TrafficOf(cluster, demand.data());
  std::vector<fast::Path> paths;
  for (auto _ : state) {
    if (servers <= 64) exchange.traffic = fast::TrafficOf(cluster, demand.data());
    exchange.stages = fast::ChooseStages(cluster, exchange.traffic);
    fast::Expander expander(exchange);
    paths.clear();
    expander.AddServer(0, &paths);
    benchmark::DoNotOptimize(paths.data());
  }
  const fast::Stages& stages = exchange.stages;
  state.counters["stages"] = stages.list.count();
  state.counters["stages/N"] = static_cast<double>(stages.list.count()) / servers;
  state.counters["length/R"] =
      static_cast<double>(stages.list.TotalLength()) / static_cast<double>(LongestLine(stages.matrix));
  state.counters["goal_us"] = GoalUs(servers);
}

BENCHMARK(Synthesis)
    ->ArgNames({"servers", "zipf"})
    ->ArgsProduct({{4, 8, 16, 40, 64, 128}, {kRandom, kZipf}})
    ->Unit(benchmark::kMicrosecond);

/// The decompositions alone, on the matrix of random flows.
void Decomposition(benchmark::State& state) {
  const auto servers = static_cast<int32_t>(state.range(0));
  const fast::Cluster cluster = ClusterOf(servers);
  const std::vector<int64_t> demand = DemandOf(cluster.rank_count(), kRandom);
  const StageMatrix traffic = fast::TrafficOf(cluster, demand.data());
  fast::StageOptions options;
  options.method = static_cast<fast::Method>(state.range(1));
  fast::Stages stages;
  for (auto _ : state) {
    stages = fast::ChooseStages(cluster, traffic, options);
    benchmark::DoNotOptimize(stages.list.length.data());
  }
  state.SetLabel(std::string(fast::NameOf(options.method)));
  state.counters["stages"] = stages.list.count();
}

BENCHMARK(Decomposition)
    ->ArgNames({"servers", "method"})
    ->ArgsProduct({{4, 8, 16, 40, 64},
                   {static_cast<int64_t>(fast::Method::kExact), static_cast<int64_t>(fast::Method::kLazy),
                    static_cast<int64_t>(fast::Method::kQuantised), static_cast<int64_t>(fast::Method::kGrouped)}})
    ->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace mycel

BENCHMARK_MAIN();
