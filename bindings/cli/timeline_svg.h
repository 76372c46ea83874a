// A simulated run as a picture: what each rank sends when. Rows are ranks, or groups of them where they are many; the
// height of a row is the rate at which its ranks send, stacked by colour: what is reduced and what is passed on, or
// whose data it is. The size of the picture does not depend on how many messages there are.
#pragma once

#include <cstdint>
#include <string>

#include "core/plan/plan.h"
#include "core/topo/topology.h"
#include "scheduler/sim/sim.h"

namespace mycel::cli {

struct Timeline {
  const Topology& topology;
  const Plan& plan;
  const SimResult& result;  // with its intervals
  int64_t bytes = 0;        // nccl-tests' size
};

std::string DrawTimelineSvg(const Timeline& timeline);

}  // namespace mycel::cli
