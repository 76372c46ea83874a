// The machine as the ranks found it when they connected, for jobs that name no topology; and what a topology that they
// name does not have in common with it.
#pragma once

#include <string>
#include <vector>

#include "bindings/c/connect.h"
#include "core/topo/topology.h"

namespace mycel {

/// HostTopology of the ranks' servers and network devices. Speeds are what the system says, which may be more than a
/// network delivers: MYCEL_TOPO replaces the whole. Its note says of which devices nobody tells a true speed.
StatusOr<Topology> FoundTopology(const Connection& connection);

/// Where `topology` and the servers that the ranks found disagree; sentences, at most one of a kind:
///   - ranks that share a server there and no memory here, or the reverse
///   - the number of servers, and of ranks on one
///   - where the servers are the same: a server that is joined to the others faster there than all the network devices
///   it uses here
///     are together, or at less than half of that (what a network delivers may be half of what its devices say, no
///     less). Only where devices tell their speed. Also a network that is RDMA there and TCP here
std::vector<std::string> Disagreements(const Topology& topology, const Connection& connection);

/// Warns of each of them. Where all ranks share one server it only informs: planning for a machine that one does not
/// have is how it is tried out.
void TellDisagreements(const Topology& topology, const Connection& connection);

}  // namespace mycel
