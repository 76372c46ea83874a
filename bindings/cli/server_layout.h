// Fabrics with switches or several servers: servers side by side, switches as bars. See fabric_layout.h.
#pragma once

#include "bindings/cli/fabric_layout.h"

namespace mycel::cli {

FabricLayout LayOutServers(const Topology& topology, double bar_height);

}  // namespace mycel::cli
