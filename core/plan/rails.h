// Rails: which of a rank's network devices a message leaves by, and by which of its target's it comes in.
//
// A plan names the nodes of a route. The nodes through which a rank can leave its server, nearest first, then by node
// id, are its ways out; transports that have several devices for a rank number them alike.
#pragma once

#include "core/plan/plan.h"
#include "core/topo/topology.h"

namespace mycel {

/// Nodes of `rank`'s own server through which it leaves for other nodes without passing another rank. The rank itself
/// is none of them: where it has links to the network of its own, nothing tells its devices apart.
std::vector<NodeId> WaysOut(const Topology& topology, Rank rank);

/// Fills Plan::rails for the routes that the plan's channels take. Does nothing where the plan was made for another
/// topology.
void NameRails(const Topology& topology, Plan* plan);

}  // namespace mycel
