// Planner "ring": everything travels around a ring of ranks. Variants: "one-way" and "two-way" (both directions of the
// ring share the work; each block then needs only half the hops). Bandwidth-optimal on rings, see README.md.
#pragma once

#include "core/spi/planner.h"

namespace mycel {

const Planner& RingPlanner();

}  // namespace mycel
