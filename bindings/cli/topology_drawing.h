// A topology as readable text: its servers, every node with what it is linked to, and the kinds of links.
#pragma once

#include <string>

#include "core/topo/topology.h"

namespace mycel::cli {

/// "8 ranks, 2 servers, 1 switch, 32 links".
std::string SummaryOf(const Topology& topology);
std::string DrawTopology(const Topology& topology);

}  // namespace mycel::cli
