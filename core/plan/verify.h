// The independent verifier: proves a plan right whoever made it. Works on chunk ops only and shares no code with
// planners or lowering. See plan.h for the numbered invariants.
#pragma once

#include <string>
#include <vector>

#include "core/base/rational.h"
#include "core/base/status.h"
#include "core/plan/plan.h"
#include "core/topo/topology.h"

namespace mycel {

struct VerifyOptions {
  /// Also prove the plan right when run in place (collectives with block_units have no such form). Turn it off for a
  /// plan that is only run out of place: one whose peers read the send buffer directly, say.
  bool in_place = true;
};

/// OK, or InvalidArgument naming the first broken invariant with rank, lane, op and channel.
Status Verify(const Plan& plan, const VerifyOptions& options = {});

/// OK when each element is reduced by one op whose inputs are the ranks' own data in the order of ranks, so that the
/// result's bits are a function of the values and the number of ranks: not of size, slicing, planner or history. Also
/// what an operation that does not commute, and an exact average of integers, need. Impossible (naming the op)
/// otherwise. For plans that Verify passes; collectives that do not reduce are OK.
Status CheckRankOrder(const Plan& plan);

/// What each physical link carries, recomputed from the ops and their routes.
struct LinkLoads {
  /// Per link of the topology (same index): block-fractions carried, i.e. bytes / (bytes of one block). For
  /// v-collectives: units (with block_units in bytes: bytes).
  std::vector<Rational> blocks;
  /// max over links of blocks / bandwidth: ns per byte of one block. This is `achieved.inv_x` for collectives whose
  /// optimum counts a shard (allgather, reduce_scatter, alltoall: block = shard or pair block) or the whole message
  /// (broadcast, reduce). For allreduce, whose block is the whole vector of n shards, multiply by rank_count.
  Rational inv_x;
  LinkId bottleneck;
};

/// InvalidArgument when a route does not exist in `topology`, does not join the channel's ranks, or passes through a
/// rank.
StatusOr<LinkLoads> ComputeLinkLoads(const Plan& plan, const Topology& topology);

}  // namespace mycel
