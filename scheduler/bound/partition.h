// Partitions: ways to see a topology as groups of ranks with links between them (ranks alone, pairs, servers). Where
// the groups are joined thinly, what must pass between them bounds every collective.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/topo/topology.h"
#include "scheduler/graph/scaled_graph.h"

namespace mycel::bound {

struct Partition {
  std::vector<int32_t> group_of;  // by node; -1: a switch outside all groups
  int32_t groups = 0;             // each has a rank

  friend bool operator==(const Partition&, const Partition&) = default;
};

/// Partitions worth asking, each once, all with at least two groups: every rank alone; every rank with the one
/// neighbour that it has its widest link to; the servers by their names; and what hangs together by links of at least
/// b, for the bandwidths b of the topology (a few of them when there are many).
std::vector<Partition> PartitionsOf(const Topology& topology);

/// Capacities of the links into and out of each group.
struct Borders {
  std::vector<int64_t> in;
  std::vector<int64_t> out;
  int64_t in_sum = 0;
  int64_t out_sum = 0;
};
Borders BordersOf(const Partition& partition, const ScaledGraph& graph);

/// How many groups messages have to enter on their way.
class GroupHops {
 public:
  static constexpr int32_t kUnreached = -1;

  /// Both must outlive this.
  GroupHops(const Partition& partition, const Topology& topology);

  /// By group h: the fewest groups that a message from `group` enters until it is in h; kUnreached when it cannot get
  /// there.
  std::vector<int32_t> From(int32_t group) const;

 private:
  const Partition& partition_;
  const Topology& topology_;
  std::vector<std::vector<int32_t>> nodes_of_;  // by group
};

}  // namespace mycel::bound
