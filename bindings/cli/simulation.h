// How `mycel` simulates: with the costs that plans for the topology are chosen by.
#pragma once

#include <cstdint>

#include "core/topo/topology.h"
#include "scheduler/sim/sim.h"

namespace mycel::cli {

SimOptions SimOptionsFor(const Topology& topology, int64_t bytes);
/// The same for an alltoallv: of many ranks only so much that it ends within seconds, as the chooser does it.
SimOptions ExchangeSimOptionsFor(const Topology& topology, int64_t bytes);

}  // namespace mycel::cli
