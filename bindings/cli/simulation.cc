#include "bindings/cli/simulation.h"

#include "bindings/cli/plan_making.h"

namespace mycel::cli {

SimOptions SimOptionsFor(const Topology& topology, int64_t bytes) {
  const CostModel cost = CostModelFor(topology);
  SimOptions options;
  options.bytes = bytes;
  options.op_overhead_us = cost.op_us;
  options.lane_GBps = cost.lane_GBps;
  return options;
}

SimOptions ExchangeSimOptionsFor(const Topology& topology, int64_t bytes) {
  constexpr int32_t kRanksInFull = 32;
  SimOptions options = SimOptionsFor(topology, bytes);
  if (topology.rank_count() <= kRanksInFull) return options;
  options.slices_max = 16;
  options.messages_max = 200'000;
  return options;
}

}  // namespace mycel::cli
