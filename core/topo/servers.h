// Which ranks share a server.
#pragma once

#include <vector>

#include "core/base/ids.h"
#include "core/topo/topology.h"

namespace mycel {

/// Ranks by server, in the order of their numbers; servers in the order of their first ranks. Ranks without a server's
/// name are each alone.
std::vector<std::vector<Rank>> RanksByServer(const Topology& topology);

}  // namespace mycel
