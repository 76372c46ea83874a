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

}  // namespace mycel::cli
