#include "scheduler/route/route_book.h"

#include <gtest/gtest.h>

#include "core/topo/gallery.h"

namespace mycel {
namespace {

Topology Named(const char* name) {
  StatusOr<Topology> topology = GalleryTopology(name);
  EXPECT_TRUE(topology.ok()) << name;
  return *std::move(topology);
}

TEST(RouteBook, DirectLinksNeedNoRoute) {
  const Topology ring = Named("ring4");
  std::vector<Route> routes;
  RouteBook book(ring, &routes);
  const StatusOr<TreeEdge> edge = book.Edge(Rank(3), Rank(0));
  ASSERT_TRUE(edge.ok());
  EXPECT_EQ(edge->route, -1);
  EXPECT_TRUE(routes.empty());
}

TEST(RouteBook, RanksAreNotPassedThrough) {
  const Topology ring = Named("ring4");
  std::vector<Route> routes;
  RouteBook book(ring, &routes);
  EXPECT_FALSE(book.Joins(Rank(0), Rank(2)));
  const Status refusal = book.Edge(Rank(0), Rank(2)).status();
  EXPECT_EQ(refusal.code(), StatusCode::kUnimplemented);
  EXPECT_NE(StatusMessage(refusal).find("rank 0 reaches rank 2"), std::string::npos) << refusal;
}

TEST(RouteBook, RoutesThroughSwitchesAreStoredOnce) {
  const Topology machine = Named("dgx-a100");
  std::vector<Route> routes;
  RouteBook book(machine, &routes);
  const StatusOr<TreeEdge> first = book.Edge(Rank(0), Rank(5));
  const StatusOr<TreeEdge> again = book.Edge(Rank(0), Rank(5));
  ASSERT_TRUE(first.ok() && again.ok());
  EXPECT_EQ(first->route, 0);
  EXPECT_EQ(again->route, 0);
  ASSERT_EQ(routes.size(), 1u);
  EXPECT_EQ(routes[0], ShortestRoute(machine, Rank(0), Rank(5)));
}

}  // namespace
}  // namespace mycel
