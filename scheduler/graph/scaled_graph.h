// A topology with its bandwidths brought to integers of one common unit, which is what exact graph algorithms work on.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/int128.h"
#include "core/base/rational.h"
#include "core/base/status.h"
#include "core/topo/topology.h"

namespace mycel {

struct ScaledGraph {
  struct Edge {
    int32_t source;
    int32_t target;
    int64_t capacity;  // bandwidth / unit
  };
  int32_t node_count = 0;
  std::vector<Edge> edges;     // one for each link of the topology, same index
  std::vector<int32_t> ranks;  // node of each rank
  int64_t unit_numerator = 1;  // the unit: unit_numerator / unit_denominator GB/s, the largest that makes all integers
  int64_t unit_denominator = 1;
  int64_t capacity_sum = 0;

  /// capacity in GB/s.
  StatusOr<Rational> Bandwidth(int64_t capacity) const;
  /// demand / (capacity in GB/s): ns per byte when `demand` bytes have to cross `capacity`.
  StatusOr<Rational> NsPerByte(int64_t demand, int64_t capacity) const;
  /// Whether as much leaves every switch as enters it; then trees through switches reach what cuts allow.
  bool SwitchesBalanced() const;
};

/// The largest sum of capacities that ScaledGraph holds. Products of two numbers up to this fit 128 bits.
inline constexpr int64_t kScaledSumMax = int64_t{1} << 62;

/// InvalidArgument when the bandwidths have no common unit in that range.
StatusOr<ScaledGraph> ScaleCapacities(const Topology& topology);

}  // namespace mycel
