// ChunkDemand: a collective's blocks cut into chunks, as items of a time-expanded problem. What reduces is what copies,
// backwards: reduce_scatter is allgather on the reversed topology, reduce is broadcast there, and allreduce is the one
// followed by the other at the rank that sums a share up.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/status.h"
#include "core/plan/schedule.h"
#include "core/spi/planner.h"
#include "scheduler/timeflow/time_problem.h"

namespace mycel::timeflow {

struct ChunkDemand {
  std::vector<Item> items;
  std::vector<Chunk> chunks;  // by item: what it is in the schedule
  std::vector<Tree> own;      // blocks that stay where they are: trees without edges
  int64_t units_per_block = 1;
  std::vector<int64_t> block_units;  // alltoallv
  int64_t chunk_bytes = 0;
};

/// Blocks cut into `chunks` each; of alltoallv the widest one, the others into as many as have that size.
ChunkDemand ChunkDemandOf(const PlanRequest& request, int32_t rank_count, int32_t chunks);

}  // namespace mycel::timeflow
