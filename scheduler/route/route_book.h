// RouteBook: the physical routes of a schedule's logical edges, each stored once. Planners that draw edges between any
// two ranks ask here how the edge crosses the topology.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/ids.h"
#include "core/base/status.h"
#include "core/plan/schedule.h"
#include "core/topo/topology.h"

namespace mycel {

class RouteBook {
 public:
  /// Both must outlive the book.
  RouteBook(const Topology& topology, std::vector<Route>* routes);

  /// The edge source -> target along its shortest route through switches. Impossible, naming both ranks, when the only
  /// ways lead through other ranks or there is none.
  StatusOr<TreeEdge> Edge(Rank source, Rank target);
  /// Whether Edge would succeed.
  bool Joins(Rank source, Rank target) { return IndexOf(source, target) != kNone; }

 private:
  static constexpr int32_t kUnknown = -3;
  static constexpr int32_t kNone = -2;

  /// Index into the routes, -1 for a direct link, or kNone.
  int32_t IndexOf(Rank source, Rank target);

  const Topology& topology_;
  std::vector<Route>* routes_;
  std::vector<int32_t> known_;               // by source * rank_count + target
  std::vector<std::vector<Route>> towards_;  // by target, then source; filled at first use
};

}  // namespace mycel
