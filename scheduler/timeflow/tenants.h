// Several collectives at once on one fabric: each tenant has its own ranks, and all share the links, in one
// time-expanded schedule.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/rational.h"
#include "core/base/status.h"
#include "core/plan/collective.h"
#include "core/topo/topology.h"

namespace mycel::timeflow {

struct Tenant {
  std::string name;
  Collective collective = Collective::kAllGather;  // allgather, broadcast, alltoall, gather or scatter
  int64_t bytes = 0;                               // > 0; nccl-tests' size among its ranks
  std::vector<int32_t> ranks;                      // at least two; a rank may have several tenants
  int32_t root = -1;                               // one of `ranks`, where the collective has a root
  int64_t weight = 1;                              // what an epoch until its end costs
};

struct SharedFabric {
  struct Share {
    int32_t alone = 0;  // epochs with the fabric to itself
    int32_t epochs = 0;
  };
  std::vector<Share> shares;  // by tenant
  int64_t chunk_bytes = 0;
  Rational epoch_ns{1};
  int32_t bound = 0;  // the last tenant cannot end sooner
  int64_t rounds = 0;
};

/// Chunks are as long as the shortest block, or an eighth of the longest where that is more; every block is cut into as
/// many as it needs. Weighted ends are what is minimised. InvalidArgument naming the tenant; Impossible for a
/// collective that reduces, or when the search would be too large.
StatusOr<SharedFabric> ShareFabric(const Topology& topology, const std::vector<Tenant>& tenants);

}  // namespace mycel::timeflow
