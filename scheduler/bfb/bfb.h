// Planner "bfb": breadth-first broadcast, the fewest steps possible, each as short as it can be (Efficient
// Direct-Connect Topologies, NSDI 2025). Every shard floods along all its shortest ways at once; what is taken from
// which neighbour is decided exactly, without a linear program. Variant "whole" never cuts a shard (one tree a root,
// which is also what trees_per_root 1 asks for): fewest messages. See README.md.
#pragma once

#include "core/spi/planner.h"

namespace mycel {

/// allgather, reduce_scatter (allgather on the reversed topology, backwards) and allreduce (one after the other).
const Planner& BfbPlanner();

}  // namespace mycel
