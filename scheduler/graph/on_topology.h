// Whose numbers an error is about.
#pragma once

#include "core/base/status.h"
#include "core/plan/collective.h"
#include "core/topo/topology.h"

namespace mycel {

/// `status`, an error met while planning; arithmetic below knows neither topology nor collective ("a fraction leaves
/// 64-bit integers"), so an InvalidArgument that names neither gets both in front.
Status OnTopology(const Status& status, const Topology& topology, Collective collective);

}  // namespace mycel
