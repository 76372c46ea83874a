#include "core/topo/gallery.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "core/topo/topology_json.h"

namespace mycel {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

Topology Get(std::string_view name) {
  auto topology = GalleryTopology(name);
  EXPECT_TRUE(topology.ok()) << topology.status();
  return *std::move(topology);
}

TEST(GalleryTest, ReproducesEverySampleFile) {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("tests/topologies")) {
    if (entry.path().extension() != ".json") continue;
    const auto file = ReadTopologyFile(entry.path().string());
    ASSERT_TRUE(file.ok()) << file.status();
    const auto made = GalleryTopology(entry.path().stem().string());
    ASSERT_TRUE(made.ok()) << made.status();
    EXPECT_EQ(WriteTopology(*made), WriteTopology(*file));
    EXPECT_TRUE(*made == *file) << entry.path();
    ++count;
  }
  EXPECT_EQ(count, 23);
}

TEST(GalleryTest, EveryExampleIsMadeAndConnected) {
  std::set<std::string_view> patterns;
  for (const GalleryEntry& entry : GalleryList()) {
    EXPECT_TRUE(patterns.insert(entry.pattern).second) << entry.pattern;
    EXPECT_FALSE(entry.description.empty());
    EXPECT_EQ(entry.description.find('\n'), std::string_view::npos);
    const Topology topology = Get(entry.example);
    EXPECT_EQ(topology.name(), entry.example);
    EXPECT_TRUE(CheckConnected(topology).ok());
    const auto again = ReadTopologyText(WriteTopology(topology), "again");
    ASSERT_TRUE(again.ok());
    EXPECT_EQ(*again, topology);
  }
}

TEST(GalleryTest, CountsAreWhatTheNamesSay) {
  struct Expected {
    std::string_view name;
    int32_t ranks, nodes;
    size_t links;
  };
  for (const Expected& expected : std::vector<Expected>{{"ring1", 1, 1, 0},
                                                        {"ring2", 2, 2, 2},
                                                        {"ring5", 5, 5, 10},
                                                        {"torus-3x4x5", 60, 60, 360},
                                                        {"torus-2x3", 6, 6, 18},
                                                        {"torus-1x4", 4, 4, 8},
                                                        {"mesh-2x3", 6, 6, 14},
                                                        {"hypercube-4", 16, 16, 64},
                                                        {"fullmesh-6", 6, 6, 30},
                                                        {"star-1", 1, 2, 2},
                                                        {"fat-tree-4x8", 32, 37, 72},
                                                        {"dgx-h200", 8, 9, 16},
                                                        {"dgx-h200-x2", 16, 19, 64},
                                                        {"dgx-h200-x3-rails", 24, 35, 96},
                                                        {"dgx-h100-x128", 1024, 1153, 4096},
                                                        {"dgx-a100-x1", 8, 9, 16},
                                                        {"dgx-a100-x512", 4096, 4609, 16384},
                                                        {"mi250-x3", 48, 49, 264},
                                                        {"mi300x-x4", 32, 33, 288},
                                                        {"servers-4x8", 32, 37, 128},
                                                        {"servers-1x4", 4, 5, 8},
                                                        {"host-4", 4, 5, 8},
                                                        {"hypercube-12", 4096, 4096, 49152},
                                                        {"fullmesh-1024", 1024, 1024, 1047552}}) {
    const Topology topology = Get(expected.name);
    EXPECT_EQ(topology.rank_count(), expected.ranks) << expected.name;
    EXPECT_EQ(topology.node_count(), expected.nodes) << expected.name;
    EXPECT_EQ(topology.links().size(), expected.links) << expected.name;
    EXPECT_EQ(topology.name(), expected.name);
  }
}

// Ranks on unlike machines compare hashes, and plans are filed under them: they may not change by accident.
TEST(GalleryTest, HashesStayTheSame) {
  EXPECT_EQ(Get("dgx-h100-x2").hash(), 0xd4557a38c1e334d1U);
  EXPECT_EQ(Get("mixed-14").hash(), 0x11bcb338f379283aU);
}

TEST(GalleryTest, HostSharesMemory) {
  const Topology host = Get("host-3");
  for (const Rank rank : Ids<Rank>(3)) {
    const NodeId node = host.NodeOf(rank);
    EXPECT_EQ(host.node(node).server, "s0");
    const LinkId up = host.FindLink(node, NodeId(3));
    ASSERT_TRUE(up.valid());
    EXPECT_EQ(host.link(up), (Link{node, NodeId(3), Rational(8), 0.05, LinkKind::kShm}));
    EXPECT_TRUE(host.FindLink(NodeId(3), node).valid());
  }
  EXPECT_EQ(host.node(NodeId(3)).id, "memory");
}

TEST(GalleryTest, ServersHaveAScaleUpAndAScaleOutSwitch) {
  const Topology servers = Get("servers-2x2");
  const NodeId gpu3 = servers.NodeOf(Rank(3));
  EXPECT_EQ(servers.node(gpu3).server, "s1");
  Rational total;
  for (const LinkId id : servers.OutLinks(gpu3)) total += servers.link(id).bandwidth;
  EXPECT_EQ(total, Rational(55));
}

TEST(GalleryTest, ShortDimensionsOfATorusHaveBothOrNoLinks) {
  const Topology ring2 = Get("ring2");
  EXPECT_EQ(ring2.link(ring2.FindLink(NodeId(0), NodeId(1))).bandwidth, Rational(50));
  EXPECT_EQ(Get("torus-1x5").hash(), Get("ring5").hash());
}

TEST(GalleryTest, ParametersOutOfRangeNameTheRange) {
  for (const std::string_view name :
       {"ring4097", "torus-64x65", "torus-4096x4096x4096", "mesh-100x100", "hypercube-13", "hypercube-64",
        "hypercube-99999999999999999999", "fat-tree-1000x1000", "dgx-a100-x513", "dgx-h100-x99999999999999999999",
        "dgx-h200-x1000-rails", "mi250-x257", "mi300x-x513", "servers-4096x4096", "host-5000",
        "ring99999999999999999999999999"}) {
    const auto topology = GalleryTopology(name);
    EXPECT_EQ(topology.status().code(), StatusCode::kInvalidArgument) << name;
    EXPECT_THAT(StatusMessage(topology.status()),
                AllOf(HasSubstr("topology " + std::string(name)), HasSubstr("the gallery goes up to 4096")));
  }
  EXPECT_THAT(StatusMessage(GalleryTopology("fullmesh-1025").status()), HasSubstr("goes up to 1024"));
}

TEST(GalleryTest, UnknownNamesGetNearOnes) {
  EXPECT_THAT(StatusMessage(GalleryTopology("dgx-h100x16").status()),
              AllOf(HasSubstr("'dgx-h100x16'; near names: dgx-h100-x16"), HasSubstr("`mycel topo list`")));
  EXPECT_THAT(StatusMessage(GalleryTopology("torus4x4").status()), HasSubstr("near names: torus-4x4"));
  for (const std::string_view name : {"",
                                      "ring",
                                      "ring0",
                                      "ring08",
                                      "ring-8",
                                      "ring8 ",
                                      "ring8x8",
                                      "torus-4",
                                      "torus-4x",
                                      "torus-x4",
                                      "torus-2x2x2x2",
                                      "torus-4X4",
                                      "mesh-0x3",
                                      "dgx-a100-x",
                                      "dgx-a100-x0",
                                      "dgx-a100-rails",
                                      "dgx-h100-x2-rails",
                                      "mi250-8plus9",
                                      "star-",
                                      "star-4--2",
                                      "host-",
                                      "host--1",
                                      "servers-4",
                                      "Ring8"}) {
    EXPECT_EQ(GalleryTopology(name).status().code(), StatusCode::kInvalidArgument) << name;
    EXPECT_THAT(StatusMessage(GalleryTopology(name).status()), HasSubstr("near names: ")) << name;
  }
  EXPECT_LT(StatusMessage(GalleryTopology(std::string(1'000'000, 'r')).status()).size(), 400u);
}

TEST(LoadTopologyTest, TakesNamesThenFiles) {
  EXPECT_EQ(*LoadTopology("ring8"), Get("ring8"));
  EXPECT_EQ(*LoadTopology("tests/topologies/ring8.json"), Get("ring8"));
  EXPECT_THAT(StatusMessage(LoadTopology("tests/topologies/expected.tsv").status()), HasSubstr("not valid JSON"));
  EXPECT_THAT(StatusMessage(LoadTopology("ring9999").status()), HasSubstr("goes up to 4096"));
  EXPECT_THAT(StatusMessage(LoadTopology("rnig8").status()),
              AllOf(HasSubstr("'rnig8' is neither a topology of the gallery nor a file; near names: ring8")));
  EXPECT_THAT(StatusMessage(LoadTopology("no/such/file.json").status()), HasSubstr("nor a file"));
  EXPECT_EQ(LoadTopology(std::string("ring8\0x", 7)).status().code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace mycel
