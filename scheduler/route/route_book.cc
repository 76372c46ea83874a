#include "scheduler/route/route_book.h"

#include <string>

#include "core/base/check.h"

namespace mycel {

RouteBook::RouteBook(const Topology& topology, std::vector<Route>* routes)
    : topology_(topology),
      routes_(routes),
      known_(static_cast<size_t>(topology.rank_count()) * static_cast<size_t>(topology.rank_count()), kUnknown) {}

int32_t RouteBook::IndexOf(Rank source, Rank target) {
  MYCEL_CHECK_NE(source, target);
  int32_t& index = known_[source.index() * static_cast<size_t>(topology_.rank_count()) + target.index()];
  if (index != kUnknown) return index;
  // A direct link has the fewest hops, so it is the shortest route.
  if (topology_.FindLink(topology_.NodeOf(source), topology_.NodeOf(target)).valid()) return index = -1;
  if (towards_.empty()) towards_.resize(static_cast<size_t>(topology_.rank_count()));
  std::vector<Route>& to_target = towards_[target.index()];
  if (to_target.empty()) to_target = ShortestRoutesTo(topology_, target);
  Route& route = to_target[source.index()];
  if (route.empty()) return index = kNone;
  index = static_cast<int32_t>(routes_->size());
  routes_->push_back(std::move(route));
  return index;
}

StatusOr<TreeEdge> RouteBook::Edge(Rank source, Rank target) {
  const int32_t index = IndexOf(source, target);
  if (index != kNone) return TreeEdge{source, target, index};
  return Impossible("topology '" + topology_.name() + "': rank " + std::to_string(source.value()) + " reaches rank " +
                    std::to_string(target.value()) +
                    " neither directly nor through switches alone; use a planner that relays through ranks");
}

}  // namespace mycel
