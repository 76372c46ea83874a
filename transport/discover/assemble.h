// Servers' parts, put together: the topology that planners work on.
#pragma once

#include <string>
#include <vector>

#include "core/topo/topology.h"
#include "transport/discover/machine.h"

namespace mycel {

struct AssembleOptions {
  std::string name;
  std::string note;
  /// Ranks of a server without GPUs; at least 1.
  int32_t host_ranks = 1;
};

struct Assembled {
  Topology topology;
  std::vector<std::string> notes;  // what was assumed; sentences
};

/// Servers with GPUs: a rank is a GPU, numbered server by server in their order.
///
///   NVLinks to NVSwitches  all of a server's switches are one, and a GPU's links to it add up
///   NVLinks, xGMI links    one link between the two GPUs, as wide as all that they have in common
///   PCI Express            only where these leave GPUs of a server apart: GPUs below one bridge meet at a switch, the
///                          switches and lone GPUs at the host
///   network                only where there are several servers: each GPU through its own devices (NicsOfGpus); one
///                          that GPUs share is a switch of its own
///
/// Servers without GPUs: HostTopology of host_ranks each. Capacities are nominal, which may be more than is reached.
/// InvalidArgument: no server, more ranks than TopologyBuilder::kNodeCountMax, or some servers with GPUs and some
/// without. Impossible: several servers, and one has no device that is up.
StatusOr<Assembled> AssembleServers(const std::vector<const Machine*>& servers, const AssembleOptions& options);

}  // namespace mycel
