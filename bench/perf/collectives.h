// The rows of the ten programs, each from its own file.
#pragma once

#include "bench/perf/collective.h"

namespace mycel::perf {

const Collective& AllReduce();
const Collective& AllGather();
const Collective& ReduceScatter();
const Collective& Broadcast();
const Collective& Reduce();
const Collective& AllToAll();
const Collective& AllToAllV();
const Collective& Gather();
const Collective& Scatter();
const Collective& SendRecv();

}  // namespace mycel::perf
