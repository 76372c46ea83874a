// Switch removal by edge splitting (Bang-Jensen, Frank, Jackson; ForestColl section 5.2): replaces pairs of edges
// u -> w -> t through a switch w by a logical edge u -> t until no switch is left, without lowering what the trees can
// carry. Every logical edge remembers the switches it was made through, so that trees map back to physical paths.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/status.h"
#include "scheduler/graph/capacity_graph.h"

namespace mycel {

/// Which switch how many units of a logical edge go through; the two halves may be logical themselves.
class RouteTable {
 public:
  void Add(int32_t source, int32_t target, int32_t through, int64_t amount);
  /// A physical path and how many units take it.
  struct Piece {
    std::vector<int32_t> path;
    int64_t amount;
  };
  /// Takes `amount` units of the edge out of the table as physical paths. What no switch provides is the direct edge.
  std::vector<Piece> Take(int32_t source, int32_t target, int64_t amount);

 private:
  struct Share {
    int32_t through;
    int64_t amount;
  };
  static int64_t KeyOf(int32_t source, int32_t target) { return int64_t{source} << 32 | target; }

  std::unordered_map<int64_t, std::vector<Share>> shares_;  // a thousand ranks behind a switch make a million
};

/// Splits off every node of `switches` in `*graph`, in that order; each must have as much capacity in as out.
/// `root_trees` and `sinks` as in RootedCut, feasible before and after; `group_of` as in FairTransit. InternalError
/// when a switch cannot be emptied, which the theorem excludes for balanced switches.
Status SplitOffSwitches(const std::vector<int32_t>& switches, const std::vector<int64_t>& root_trees,
                        const std::vector<int32_t>& sinks, const std::vector<int32_t>& group_of, CapacityGraph* graph,
                        RouteTable* routes);

}  // namespace mycel
