// A topology that has lost some of its links.
#pragma once

#include <string>
#include <vector>

#include "core/base/status.h"
#include "core/topo/topology.h"

namespace mycel::cli {

/// `topology` without the links `names`, each "A-B" after the ids of its two nodes, in both directions where it has
/// both; parallel links between the two nodes are one. All nodes stay. InvalidArgument names a link that is not there
/// and the nearest ones, or the links of its node; Impossible: the ranks that are cut off then.
StatusOr<Topology> WithoutLinks(const Topology& topology, const std::vector<std::string>& names);

}  // namespace mycel::cli
