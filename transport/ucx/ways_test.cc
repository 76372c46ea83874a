#include "transport/ucx/ways.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mycel {
namespace {

using Pairs = std::vector<RailPair>;

Pairs Mirrored(const Pairs& pairs) {
  Pairs mirrored;
  for (const RailPair& pair : pairs) mirrored.push_back({pair.theirs, pair.mine});
  return mirrored;
}

TEST(PairRailsTest, KeepsToTheNetworksThatBothHave) {
  EXPECT_EQ(PairRails({"a", "b"}, {"a", "b"}), (Pairs{{0, 0}, {1, 1}}));
  EXPECT_EQ(PairRails({"a", "b"}, {"b", "a"}), (Pairs{{0, 1}, {1, 0}}));
  // A rank with one device of a server that has two.
  EXPECT_EQ(PairRails({"b"}, {"a", "b"}), (Pairs{{0, 1}}));
  EXPECT_EQ(PairRails({"a", "b"}, {"b"}), (Pairs{{1, 0}}));
}

TEST(PairRailsTest, EveryDeviceOfANetworkIsInAPair) {
  EXPECT_EQ(PairRails({"rdma"}, {"rdma", "rdma", "rdma"}), (Pairs{{0, 0}, {0, 1}, {0, 2}}));
  EXPECT_EQ(PairRails({"rdma", "rdma", "rdma"}, {"rdma", "rdma"}), (Pairs{{0, 0}, {1, 1}, {2, 0}}));
}

TEST(PairRailsTest, RanksWithoutACommonNetworkPairAllTheyHave) {
  EXPECT_EQ(PairRails({"a"}, {"b"}), (Pairs{{0, 0}}));
  EXPECT_EQ(PairRails({"a", "b"}, {"c", "d"}), (Pairs{{0, 0}, {1, 1}}));
}

TEST(PairRailsTest, BothSidesComeToTheSamePairs) {
  const std::vector<std::vector<std::string>> servers = {{"a"},      {"b"},    {"a", "b"},          {"b", "a", "a"},
                                                         {"c", "b"}, {"", ""}, {"a", "a", "a", "b"}};
  for (const auto& one : servers) {
    for (const auto& other : servers)
      EXPECT_THAT(PairRails(one, other), testing::UnorderedElementsAreArray(Mirrored(PairRails(other, one))));
  }
}

TEST(ChooseWayTest, GoesWhereThePlanSays) {
  const Pairs pairs = {{0, 0}, {0, 1}, {1, 0}, {1, 1}};
  for (size_t index = 0; index < 5; ++index) {
    EXPECT_EQ(ChooseWay(pairs, {1, 2}, index), 1U);
    EXPECT_EQ(ChooseWay(pairs, {2, 1}, index), 2U);
  }
}

TEST(ChooseWayTest, TheWayOutGoesBeforeTheWayIn) {
  const Pairs pairs = {{0, 0}, {1, 1}};
  EXPECT_EQ(ChooseWay(pairs, {1, 2}, 0), 0U);
  EXPECT_EQ(ChooseWay(pairs, {2, 1}, 0), 1U);
  EXPECT_EQ(ChooseWay(pairs, {0, 2}, 0), 1U);
}

TEST(ChooseWayTest, WhereThePlanIsSilentLanesSpread) {
  const Pairs pairs = {{0, 0}, {1, 1}, {2, 2}};
  for (size_t index = 0; index < 9; ++index) EXPECT_EQ(ChooseWay(pairs, Rails(), index), index % 3);
  // A rail that this rank has not got says nothing either.
  EXPECT_EQ(ChooseWay(pairs, {9, 9}, 4), 1U);
}

}  // namespace
}  // namespace mycel
