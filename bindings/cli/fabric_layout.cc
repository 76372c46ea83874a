#include "bindings/cli/fabric_layout.h"

#include "bindings/cli/direct_layout.h"
#include "bindings/cli/server_layout.h"
#include "core/base/check.h"

namespace mycel::cli {

Curve FabricLayout::CurveOf(NodeId source, NodeId target) const {
  const auto found = links.find({std::min(source, target), std::max(source, target)});
  MYCEL_CHECK(found != links.end());
  return source < target ? found->second : Reversed(found->second);
}

FabricLayout LayOut(const Topology& topology, double bar_height) {
  return IsDirect(topology) ? LayOutDirect(topology) : LayOutServers(topology, bar_height);
}

}  // namespace mycel::cli
