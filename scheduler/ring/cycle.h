// Finds the ring that the ring planner sends around: a cyclic order of all ranks in which each reaches the next.
#pragma once

#include <vector>

#include "core/base/ids.h"
#include "core/base/status.h"
#include "core/topo/topology.h"
#include "scheduler/route/route_book.h"

namespace mycel::ring {

/// order[i] reaches order[i + 1], the last one the first. `both_ways`: and back.
struct Cycle {
  std::vector<Rank> order;
  bool both_ways = false;
};

/// Rank order 0..n-1 where that is a ring; else a Hamiltonian cycle found by a bounded depth-first search, two-way
/// cycles first. Impossible when the search finds none or gives up.
StatusOr<Cycle> FindCycle(const Topology& topology, RouteBook* routes);

}  // namespace mycel::ring
