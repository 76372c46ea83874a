#include "bindings/cli/calibration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "core/topo/gallery.h"

namespace mycel::cli {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

Rational Between(const Topology& topology, const std::string& from, const std::string& to) {
  for (const Link& link : topology.links()) {
    if (topology.node(link.source).id == from && topology.node(link.target).id == to) return link.bandwidth;
  }
  return Rational(0);
}

TEST(PatternsTest, InsideAcrossAndAll) {
  const Topology topology = *GalleryTopology("servers-2x2");
  EXPECT_THAT(PatternsFor(topology, 1),
              ElementsAre(ElementsAre(1, 0, 3, 2), ElementsAre(2, 3, 0, 1), ElementsAre(1, 2, 3, 0)));
  EXPECT_EQ(PatternsFor(topology, 100).size(), 4) << "shift by two is across, shift by three is new";
  EXPECT_TRUE(PatternsFor(*GalleryTopology("ring1"), 5).empty());
}

TEST(PatternsTest, EveryPairOccursAndNobodyTwiceInOne) {
  const Topology topology = *GalleryTopology("mixed-14");
  std::set<std::pair<int32_t, int32_t>> pairs;
  for (const SendPattern& pattern : PatternsFor(topology, 100)) {
    std::set<int32_t> targets;
    for (int32_t rank = 0; rank < topology.rank_count(); ++rank) {
      const int32_t to = pattern[static_cast<size_t>(rank)];
      if (to < 0) continue;
      EXPECT_NE(to, rank);
      EXPECT_TRUE(targets.insert(to).second);
      pairs.emplace(rank, to);
    }
  }
  EXPECT_EQ(pairs.size(), 14 * 13);
}

TEST(CalibrateTest, ALinkHasTheMostThatItCarried) {
  const Topology topology = *GalleryTopology("servers-2x2");  // gpu0 gpu1 | gpu2 gpu3; sw0, sw1, fabric
  const StatusOr<Calibration> calibrated =
      Calibrate(topology, {{{0, 1, 3'000'000'000, 0.1}, {1, 0, 3'000'000'000, 0.2}},
                           {{0, 2, 1'000'000'000, 0.5}, {1, 3, 1'000'000'000, 0.25}},
                           {{0, 2, 1'000'000'000, 0.8}}});
  ASSERT_TRUE(calibrated.ok()) << calibrated.status();
  const Topology& found = calibrated->topology;
  EXPECT_EQ(Between(found, "gpu0", "sw0"), Rational(30));
  EXPECT_EQ(Between(found, "sw0", "gpu1"), Rational(30));
  EXPECT_EQ(Between(found, "gpu1", "sw0"), Rational(15));
  EXPECT_EQ(Between(found, "gpu0", "fabric"), Rational(2)) << "the better of two measurements";
  EXPECT_EQ(Between(found, "fabric", "gpu3"), Rational(4));
  EXPECT_EQ(Between(found, "gpu2", "sw1"), Rational(50)) << "not measured";
  EXPECT_EQ(found.name(), "servers-2x2-calibrated");
  EXPECT_EQ(calibrated->links.size(), topology.links().size());
  EXPECT_TRUE(CheckConnected(found).ok());
}

TEST(CalibrateTest, FlowsThatShareALinkAddUpOverTheSlowest) {
  const Topology topology = *GalleryTopology("fat-tree-2x4-oversub");
  // Ranks 0 and 1 to the other leaf: both cross tor0 -> core.
  const StatusOr<Calibration> calibrated =
      Calibrate(topology, {{{0, 4, 2'000'000'000, 0.1}, {1, 5, 2'000'000'000, 0.4}}});
  ASSERT_TRUE(calibrated.ok()) << calibrated.status();
  EXPECT_EQ(Between(calibrated->topology, "tor0", "core"), Rational(10));
  EXPECT_EQ(Between(calibrated->topology, "gpu0", "tor0"), Rational(20));
}

TEST(CalibrateTest, ALinkThatIsNoBottleneckKeepsItsCapacity) {
  const Topology topology = *GalleryTopology("fat-tree-2x4-oversub");
  // One flow alone: 25 GB/s into the switch, 50 onwards.
  const StatusOr<Calibration> calibrated = Calibrate(topology, {{{0, 4, 2'000'000'000, 0.1}}});
  ASSERT_TRUE(calibrated.ok()) << calibrated.status();
  EXPECT_EQ(Between(calibrated->topology, "gpu0", "tor0"), Rational(20));
  EXPECT_EQ(Between(calibrated->topology, "tor1", "gpu4"), Rational(20));
  EXPECT_EQ(Between(calibrated->topology, "tor0", "core"), Rational(50));
}

TEST(CalibrateTest, FlowsThatCannotBeAreRefused) {
  const Topology topology = *GalleryTopology("ring8");
  EXPECT_THAT(StatusMessage(Calibrate(topology, {{{0, 1, 100, 0}}}).status()), HasSubstr("took no time"));
  EXPECT_THAT(StatusMessage(Calibrate(topology, {{{0, 4, 100, 1}}}).status()), HasSubstr("rank 0 to 4 has no route"));
}

}  // namespace
}  // namespace mycel::cli
