// How fast a collective can possibly be on a topology: exact fractions, each with a cut of the graph as its
// certificate.
//
// inv_x counts ns per byte (= seconds per GB) of
//   allgather, reduce_scatter, gather, scatter   one rank's shard
//   allreduce                                    one of n equal shards of the vector (the vector has n of these bytes)
//   broadcast, reduce                            the message
//   alltoall                                     the block of one ordered pair
// so that large transfers take inv_x * bytes. Latency is not counted.
//
// For allgather the optimum is ForestColl's: the maximum over node sets S that miss a rank of |ranks in S| / (bandwidth
// leaving S). No schedule is faster, and pipelined spanning trees come as close as wanted if every switch is balanced.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/rational.h"
#include "core/base/status.h"
#include "core/plan/collective.h"
#include "core/topo/topology.h"

namespace mycel {

/// What inv_x is known to be.
enum class BoundKind : uint8_t {
  kOptimum,       // no schedule is faster, and some come as close as wanted
  kLowerBound,    // no schedule is faster; whether one comes close is not known
  kBestOfMethod,  // the best of one method (allreduce: reduce-scatter, then allgather); others may be faster
};

struct Optimum {
  Rational inv_x;
  /// No schedule at all is faster than this. Equal to inv_x unless kind is kBestOfMethod.
  Rational lower_bound;
  BoundKind kind = BoundKind::kLowerBound;
  /// The bottleneck: the nodes that `cut_demand` bytes (for one byte of inv_x's unit) have to leave over links of
  /// `cut_bandwidth` GB/s. inv_x == cut_demand / cut_bandwidth, except for allreduce, whose cut proves lower_bound.
  /// Empty when there is nothing to send (one rank).
  std::vector<NodeId> cut;  // ascending
  int64_t cut_demand = 0;
  Rational cut_bandwidth;
  /// One sentence that says what is proved and by which nodes.
  std::string proof;
};

/// Errors of all: Impossible when ranks that must receive are cut off (the message names them); InvalidArgument when
/// the bandwidths or the answer do not fit exact 64-bit fractions, or an argument is out of range.
StatusOr<Optimum> AllGatherOptimum(const Topology& topology);
/// Shards of weights[rank] bytes; 0: the rank only receives. InvalidArgument unless there is one weight a rank, none
/// negative, their sum at most 2^62. inv_x is ns for one byte of weight.
StatusOr<Optimum> WeightedAllGatherOptimum(const Topology& topology, const std::vector<int64_t>& weights);
/// Allgather with all links turned around.
StatusOr<Optimum> ReduceScatterOptimum(const Topology& topology);
/// The best of reduce-scatter followed by allgather. Schedules that run the two at once, or weight the roots, are
/// faster on some irregular fabrics (a linear program finds those); where lower_bound == inv_x there are none.
StatusOr<Optimum> AllReduceOptimum(const Topology& topology);
StatusOr<Optimum> BroadcastOptimum(const Topology& topology, Rank root);
StatusOr<Optimum> ReduceOptimum(const Topology& topology, Rank root);
StatusOr<Optimum> GatherOptimum(const Topology& topology, Rank root);
StatusOr<Optimum> ScatterOptimum(const Topology& topology, Rank root);

/// The one of `collective`; `root` counts for rooted ones. alltoall: AllToAllBound of alltoall_bound.h. Impossible for
/// alltoallv, whose bound depends on the demand matrix.
StatusOr<Optimum> OptimumOf(const Topology& topology, Collective collective, Rank root = Rank());

/// nccl-tests' size / time in GB/s at `inv_x`: n / inv_x, or 1 / inv_x for broadcast and reduce. Infinite for inv_x 0.
double AlgorithmBandwidthGBps(Collective collective, int32_t rank_count, const Rational& inv_x);

/// "{gpu0, gpu1}", "{gpu0, ..., gpu7, nvsw0} (9 nodes)".
std::string NodeSetText(const Topology& topology, const std::vector<NodeId>& nodes);

}  // namespace mycel
