// A plan of many lanes, on one: for runtimes that give a rank one lane and each pair of ranks one channel.
//
// Ops keep one order in which they can run. Messages of several channels now share one and arrive as they were sent;
// one that is wanted before another that was sent earlier has that one set aside in scratch first. Parts of one tree
// that were spread over lanes become one again (merge_parts.h).
#pragma once

#include <cstdint>

#include "core/base/status.h"
#include "core/plan/plan.h"

namespace mycel {

/// Lanes that the plan's channels ask for: their largest index and one.
int32_t ChannelLanesOf(const Plan& plan);

/// `plan` must verify, and so does the result. Impossible where a channel would need too many slots.
StatusOr<Plan> FoldLanes(const Plan& plan);

}  // namespace mycel
