// The machine as the ranks found it when they connected, for jobs that name no topology.
#pragma once

#include "bindings/c/connect.h"
#include "core/topo/topology.h"

namespace mycel {

/// Servers whose ranks meet at a switch (their memory), joined by one network switch through each rank's rails. A
/// device that several ranks share is a switch of its own. Speeds are what the system says, which may be more than a
/// network delivers: MYCEL_TOPO replaces the whole.
StatusOr<Topology> FoundTopology(const Connection& connection);

/// Warns where `topology` says that ranks share a server which do not reach each other through memory.
void WarnOfOtherServers(const Topology& topology, const Connection& connection);

}  // namespace mycel
