// EpochGraph: a topology as a time-expanded planner sees it. Time is cut into epochs of equal length; what is sent is
// cut into chunks of equal size. A link takes at most `burst` chunks in any `window` epochs in a row, and what is put
// on it in epoch k can be used at its end from the start of epoch k + delay.
//
// Ranks keep and copy what they have. Switches keep nothing: what arrives leaves in the same epoch, so that ranks are
// joined by hops, each a chain of links through switches that is crossed without a stop.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/ids.h"
#include "core/base/rational.h"
#include "core/base/status.h"
#include "core/topo/topology.h"

namespace mycel::timeflow {

struct EpochGraph {
  struct Edge {
    int32_t source;
    int32_t target;
    int32_t burst = 1;   // chunks in any `window` epochs; 1 where window > 1
    int32_t window = 1;  // epochs that one chunk keeps a slow link busy
    int32_t delay = 1;   // epochs from sending to use: 1, latency, and what a slow link adds
  };
  /// From rank to rank; more than one edge where it passes switches.
  struct Hop {
    int32_t source;
    int32_t target;
    std::vector<int32_t> edges;
    int32_t delay = 0;  // of all edges
  };

  int32_t rank_count = 0;  // nodes 0..rank_count-1 are the ranks
  int32_t node_count = 0;
  std::vector<Edge> edges;
  std::vector<bool> copies;        // by node: switches that send what arrives to several
  std::vector<Hop> hops;           // by source, then target; MakeHops fills them
  std::vector<int32_t> first_hop;  // rank_count + 1: the hops out of rank r are [first_hop[r], first_hop[r + 1])
  std::vector<NodeId> nodes;       // of the topology; empty for graphs made by hand
  Rational epoch_ns{1};

  bool SwitchesCopy() const;
  /// distances[a * node_count + b]: epochs from having something at node a to having it at b; kFar: no way.
  std::vector<int32_t> Distances() const;
};

inline constexpr int32_t kFar = 1 << 28;
/// Ways through switches kept for each pair of ranks: of the fewest links, the first so many.
inline constexpr int32_t kWaysMax = 4;

/// Fills hops and first_hop. Ways through switches alone are kept for all pairs that they join.
void MakeHops(EpochGraph* graph);

/// Epochs as long as a chunk of `chunk_bytes` takes on the widest link, or a whole multiple of that: the least with
/// which no latency, and no link's chunk, takes more than kDelayMax epochs. A latency of up to a tenth of an epoch
/// counts as none; chunk_bytes 0: bandwidths alone count, of a chunk of one byte. InvalidArgument when the bandwidths'
/// fractions are too fine.
inline constexpr int32_t kDelayMax = 64;
StatusOr<EpochGraph> EpochGraphOf(const Topology& topology, int64_t chunk_bytes);

}  // namespace mycel::timeflow
