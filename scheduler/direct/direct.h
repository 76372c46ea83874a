// Planner "direct": every rank talks to every other without relays; trees are stars. Least latency, and the best
// bandwidth behind one switch or in a full mesh. Variants, where there is a choice:
//   allreduce  one-shot (everybody sends everything to everybody), two-shot (reduce a share each, then spread it)
//   broadcast  one-shot, scatter-allgather (the root scatters shares, each rank spreads its own)
//   reduce     one-shot, reduce-scatter-gather (the mirror image)
#pragma once

#include "core/spi/planner.h"

namespace mycel {

const Planner& DirectPlanner();

}  // namespace mycel
