#include "tests/conformance/relay_schedule.h"

#include <algorithm>

#include "scheduler/route/route_book.h"

namespace mycel {
namespace {

/// source, up to two relays, target.
std::vector<Rank> RandomPath(Rank source, Rank target, int32_t rank_count, Rng* rng) {
  std::vector<Rank> path = {source};
  if (source == target) return path;
  for (uint64_t relays = rng->Below(3); relays > 0; --relays) {
    const Rank relay(static_cast<int64_t>(rng->Below(static_cast<uint64_t>(rank_count))));
    if (relay != target && std::find(path.begin(), path.end(), relay) == path.end()) path.push_back(relay);
  }
  path.push_back(target);
  return path;
}

}  // namespace

StatusOr<Schedule> RelaySchedule(const Topology& topology, const std::vector<int64_t>& demand, Rng* rng) {
  const int32_t n = topology.rank_count();
  Schedule schedule;
  schedule.collective = Collective::kAllToAllV;
  schedule.rank_count = n;
  schedule.block_units = demand;
  schedule.planner = "relays";
  RouteBook routes(topology, &schedule.routes);
  for (int32_t block = 0; block < n * n; ++block) {
    const int64_t bytes = demand[static_cast<size_t>(block)];
    for (int64_t begin = 0; begin < bytes;) {
      const auto left = static_cast<uint64_t>(bytes - begin);
      const int64_t end = rng->OneIn(3) ? bytes : begin + 1 + static_cast<int64_t>(rng->Below(left));
      Tree tree;
      tree.chunk = {block, begin, end};
      tree.root = Rank(block / n);
      tree.stage = static_cast<int32_t>(rng->Below(3));
      const std::vector<Rank> path = RandomPath(tree.root, Rank(block % n), n, rng);
      for (size_t hop = 1; hop < path.size(); ++hop) {
        MYCEL_ASSIGN_OR_RETURN(const TreeEdge edge, routes.Edge(path[hop - 1], path[hop]));
        tree.down.push_back(edge);
      }
      schedule.trees.push_back(std::move(tree));
      begin = end;
    }
  }
  return schedule;
}

}  // namespace mycel
