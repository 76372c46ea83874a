// A lower bound for alltoall: every block from a rank in S to a rank outside has to leave S, so one byte of a block
// costs |S| * |ranks outside| / (bandwidth leaving S) ns at least, for any S.
//
// The best S is hard to find; candidates are tried: single ranks, servers, prefixes of the rank order, and the
// bottlenecks of allgather and reduce_scatter, each with its complement. The switches are put on the side that narrows
// the cut (a maximum flow each). It is a bound, not an optimum: better sets may exist, and even the best cut need not
// be reached by routing.
#pragma once

#include "core/base/status.h"
#include "core/topo/topology.h"
#include "scheduler/graph/throughput_bound.h"

namespace mycel {

StatusOr<Optimum> AllToAllBound(const Topology& topology);

}  // namespace mycel
