// Layouts of all named machines: everything on the canvas, nothing on top of anything else, links from node to node.
#include "bindings/cli/fabric_layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "bindings/cli/cut_outline.h"
#include "core/topo/gallery.h"

namespace mycel::cli {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr double kBarHeight = 40;

bool Overlap(const Box& a, const Box& b) {
  return a.left < b.right() && b.left < a.right() && a.top < b.bottom() && b.top < a.bottom();
}

bool Within(const Box& inner, const Box& outer) {
  return inner.left >= outer.left && inner.top >= outer.top && inner.right() <= outer.right() &&
         inner.bottom() <= outer.bottom();
}

bool Holds(const Box& box, Point point) { return Within({point.x, point.y, 0, 0}, box.Grown(1e-6)); }

void CheckLayout(const Topology& topology) {
  SCOPED_TRACE(topology.name());
  const FabricLayout layout = LayOut(topology, kBarHeight);
  const Box canvas{0, 0, layout.width, layout.height};
  ASSERT_EQ(layout.nodes.size(), topology.nodes().size());
  for (const NodeId a : Ids<NodeId>(topology.node_count())) {
    const Box& box = layout.nodes[a.index()];
    EXPECT_TRUE(Within(box, canvas)) << topology.node(a).id;
    for (int64_t b = a.value() + 1; b < topology.node_count(); ++b) {
      EXPECT_FALSE(Overlap(box, layout.nodes[static_cast<size_t>(b)]))
          << topology.node(a).id << " and " << topology.node(NodeId(b)).id;
    }
  }
  for (size_t i = 0; i < layout.servers.size(); ++i) {
    const ServerBox& server = layout.servers[i];
    EXPECT_TRUE(Within(server.box, canvas)) << server.name;
    for (size_t j = i + 1; j < layout.servers.size(); ++j) {
      EXPECT_FALSE(Overlap(server.box, layout.servers[j].box)) << server.name << " and " << layout.servers[j].name;
    }
    for (const NodeId node : Ids<NodeId>(topology.node_count())) {
      const bool inside = topology.node(node).server == server.name;
      EXPECT_EQ(Within(layout.nodes[node.index()], server.box), inside)
          << topology.node(node).id << ", " << server.name;
    }
  }
  for (const Link& link : topology.links()) {
    const Curve curve = layout.CurveOf(link.source, link.target);
    EXPECT_TRUE(Holds(layout.nodes[link.source.index()], curve.from)) << topology.node(link.source).id;
    EXPECT_TRUE(Holds(layout.nodes[link.target.index()], curve.to)) << topology.node(link.target).id;
  }
}

TEST(FabricLayout, NamedMachines) {
  for (const GalleryEntry& entry : GalleryList()) CheckLayout(*GalleryTopology(entry.example));
}

TEST(FabricLayout, FromOneRankToAThousand) {
  for (const char* name : {"ring1", "ring2", "ring3", "host-1", "host-40", "servers-2x2", "servers-1x20", "servers-9x8",
                           "servers-3x24", "dgx-a100-x8", "mi300x-x8", "fat-tree-12x10", "torus-16x16", "fullmesh-40",
                           "dgx-h200-x4-rails", "ring1024", "servers-128x8"}) {
    CheckLayout(*GalleryTopology(name));
  }
}

/// A switch between two switches of a server, switches that are joined on one level, a rank outside every server, a
/// server of switches alone, and a node without links.
TEST(FabricLayout, OddMachines) {
  TopologyBuilder builder("odd");
  const NodeId a = builder.AddRank("a", Rank(0), "s0");
  const NodeId b = builder.AddRank("b", Rank(1), "s0");
  const NodeId lonely = builder.AddRank("c", Rank(2));
  const NodeId pcie = builder.AddSwitch("pcie", "s0");
  const NodeId bridge = builder.AddSwitch("bridge", "s0");
  const NodeId nic = builder.AddSwitch("nic", "s0");
  const NodeId leaf = builder.AddSwitch("leaf", "rack");
  const NodeId twin = builder.AddSwitch("twin", "rack");
  builder.AddSwitch("unused");
  builder.AddDuplex(a, pcie, Rational(1));
  builder.AddDuplex(b, pcie, Rational(1));
  builder.AddDuplex(pcie, bridge, Rational(1));
  builder.AddDuplex(bridge, nic, Rational(1));
  builder.AddDuplex(nic, leaf, Rational(1));
  builder.AddDuplex(leaf, twin, Rational(1));
  builder.AddDuplex(lonely, twin, Rational(1));
  builder.AddLink(a, lonely, Rational(1));
  CheckLayout(*std::move(builder).Build());
}

TEST(FabricLayout, RecognisesGrids) {
  EXPECT_THAT(GridShapeOf(*GalleryTopology("torus-4x4")), ElementsAre(4, 4));
  EXPECT_THAT(GridShapeOf(*GalleryTopology("torus-2x8")), ElementsAre(2, 8));
  EXPECT_THAT(GridShapeOf(*GalleryTopology("mesh-3x5")), ElementsAre(3, 5));
  EXPECT_THAT(GridShapeOf(*GalleryTopology("torus-3x3x3")), ElementsAre(3, 3, 3));
  EXPECT_THAT(GridShapeOf(*GalleryTopology("hypercube-3")), ElementsAre(2, 2, 2));
  for (const char* name : {"ring8", "ring9", "fullmesh-6", "dgx1-v100", "dgx-a100", "ring3", "hypercube-5"}) {
    EXPECT_THAT(GridShapeOf(*GalleryTopology(name)), IsEmpty()) << name;
  }
}

TEST(FabricLayout, ACircleKeepsNeighboursTogether) {
  // The ring 0 - 3 - 1 - 4 - 2 - 0 in another order of ranks.
  TopologyBuilder builder("shuffled");
  std::vector<NodeId> ranks;
  for (int i = 0; i < 5; ++i) ranks.push_back(builder.AddRank("r" + std::to_string(i), Rank(i)));
  const int order[] = {0, 3, 1, 4, 2};
  for (size_t i = 0; i < 5; ++i) {
    builder.AddDuplex(ranks[static_cast<size_t>(order[i])], ranks[static_cast<size_t>(order[(i + 1) % 5])],
                      Rational(1));
  }
  const Topology topology = *std::move(builder).Build();
  const FabricLayout layout = LayOut(topology, kBarHeight);
  double longest = 0;
  double shortest = 1e9;
  for (const Link& link : topology.links()) {
    const double length =
        Distance(layout.nodes[link.source.index()].center(), layout.nodes[link.target.index()].center());
    longest = std::max(longest, length);
    shortest = std::min(shortest, length);
  }
  EXPECT_NEAR(longest, shortest, 1e-6);
}

TEST(CutOutline, GoesRoundTheNodesAndNoOthers) {
  const Topology topology = *GalleryTopology("dgx-a100-x2");
  const FabricLayout layout = LayOut(topology, kBarHeight);
  const auto outlined = [&](const std::vector<int>& nodes) {
    std::vector<NodeId> ids;
    for (const int node : nodes) ids.emplace_back(node);
    const std::vector<Outline> outlines = OutlinesOf(layout, topology, ids);
    for (const NodeId node : Ids<NodeId>(topology.node_count())) {
      const bool wanted = std::find(ids.begin(), ids.end(), node) != ids.end();
      const Point at = layout.nodes[node.index()].center();
      EXPECT_EQ(std::count_if(outlines.begin(), outlines.end(),
                              [&](const Outline& outline) { return Contains(ConvexHull(outline.corners), at); }),
                wanted ? 1 : 0)
          << topology.node(node).id;
    }
    return outlines.size();
  };
  EXPECT_EQ(outlined({0}), 1U);
  EXPECT_EQ(outlined({0, 1, 2}), 1U);
  EXPECT_EQ(outlined({0, 2}), 2U);                        // rank 1 stands between
  EXPECT_EQ(outlined({0, 1, 2, 3, 4, 5, 6, 7, 16}), 1U);  // a whole server with its switch
  EXPECT_EQ(outlined({8, 9, 18}), 2U);                    // two ranks and the spine
  EXPECT_EQ(outlined({}), 0U);
}

}  // namespace
}  // namespace mycel::cli
