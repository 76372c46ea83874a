// What a call of a group would take, for mycelGroupSimulateEnd.
#pragma once

#include <cstdint>

#include "bindings/c/compose.h"
#include "core/base/status.h"
#include "core/runtime/call.h"

namespace mycel {

/// Microseconds by the chooser's estimate, on the communicator of `lineage` and `rank_count`. 0 for what is not planned
/// from the call alone: v-collectives and barriers.
StatusOr<double> TimeUsOf(const CollectiveCall& call, int32_t rank_count, const Lineage& lineage);

}  // namespace mycel
