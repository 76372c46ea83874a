// Default routes. One backward search from the target finds, for every node, how many hops it is away and the widest
// bottleneck among its shortest ways; a route then walks forwards, taking the lowest node that keeps both promises.
#include <algorithm>
#include <limits>

#include "core/base/check.h"
#include "core/topo/topology.h"

namespace mycel {
namespace {

class RouteSearch {
 public:
  RouteSearch(const Topology& topology, Rank target)
      : topology_(topology), target_(topology.NodeOf(target)), places_(topology.nodes().size()) {
    Search();
  }

  std::vector<NodeId> RouteFrom(Rank source) const {
    NodeId node = topology_.NodeOf(source);
    if (node == target_) return {node};
    Place here = PlaceOf(node);
    std::vector<NodeId> route;
    if (here.hops == kFar) return route;
    const Rational width = here.width;
    route.push_back(node);
    while (node != target_) {
      node = NextOf(node, here.hops, width);
      here = places_[node.index()];
      route.push_back(node);
    }
    return route;
  }

 private:
  static constexpr int32_t kFar = std::numeric_limits<int32_t>::max();

  struct Place {
    int32_t hops = kFar;
    Rational width;  // meaningless at the target, which every width fits
  };

  // Only switches pass traffic on, so only they and the target have a place of their own.
  bool PassesOn(NodeId node) const { return topology_.node(node).type == NodeType::kSwitch; }

  Rational WidthThrough(const Link& link) const {
    return link.target == target_ ? link.bandwidth : std::min(link.bandwidth, places_[link.target.index()].width);
  }

  // Hops and width of `node`, from those of its out-neighbours.
  Place PlaceOf(NodeId node) const {
    Place best;
    for (const LinkId id : topology_.OutLinks(node)) {
      const Link& link = topology_.link(id);
      const int32_t beyond = places_[link.target.index()].hops;
      if (beyond == kFar || beyond + 1 > best.hops) continue;
      const Rational width = WidthThrough(link);
      if (beyond + 1 < best.hops || width > best.width) best = {beyond + 1, width};
    }
    return best;
  }

  void Search() {
    places_[target_.index()].hops = 0;
    std::vector<NodeId> layer{target_};
    for (int32_t hops = 1; !layer.empty(); ++hops) {
      std::vector<NodeId> next_layer;
      for (const NodeId node : layer) {
        for (const LinkId id : topology_.InLinks(node)) {
          const NodeId next = topology_.link(id).source;
          if (!PassesOn(next) || places_[next.index()].hops != kFar) continue;
          places_[next.index()].hops = hops;
          next_layer.push_back(next);
        }
      }
      for (const NodeId node : next_layer) {
        // The layer below is complete, and nodes of this layer lie too far to be taken for a next hop.
        const Place place = PlaceOf(node);
        MYCEL_CHECK_EQ(place.hops, hops);
        places_[node.index()] = place;
      }
      layer = std::move(next_layer);
    }
  }

  NodeId NextOf(NodeId node, int32_t hops, const Rational& width) const {
    for (const LinkId id : topology_.OutLinks(node)) {  // by ascending target
      const Link& link = topology_.link(id);
      if (places_[link.target.index()].hops == hops - 1 && WidthThrough(link) >= width) return link.target;
    }
    CheckFailed(__FILE__, __LINE__, "a next hop", topology_.node(node).id);
  }

  const Topology& topology_;
  const NodeId target_;
  std::vector<Place> places_;
};

}  // namespace

std::vector<NodeId> ShortestRoute(const Topology& topology, Rank source, Rank target) {
  return RouteSearch(topology, target).RouteFrom(source);
}

std::vector<std::vector<NodeId>> ShortestRoutesTo(const Topology& topology, Rank target) {
  const RouteSearch search(topology, target);
  std::vector<std::vector<NodeId>> routes;
  routes.reserve(static_cast<size_t>(topology.rank_count()));
  for (const Rank source : Ids<Rank>(topology.rank_count())) routes.push_back(search.RouteFrom(source));
  return routes;
}

}  // namespace mycel
