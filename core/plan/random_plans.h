// Random right plans, for property tests: every block is cut into random chunks, and every chunk travels along a random
// spanning tree with a random root, reduced on the way up and copied on the way down.
#pragma once

#include "core/base/rng.h"
#include "core/plan/plan.h"

namespace mycel {

/// One of allgather, reduce_scatter, allreduce, broadcast, reduce on 1..ranks_max ranks, with random lanes, protocol,
/// slices and slots. All ranks run the trees in one order, so a single slot is enough.
Plan RandomTreePlan(Rng& rng, int32_t ranks_max);

/// The same with a channel of its own for each tree, and with bodies shuffled and skews drawn at random: messages
/// always match, but many of these plans deadlock, some only after several slices.
Plan ShuffledTreePlan(Rng& rng, int32_t ranks_max);

}  // namespace mycel
