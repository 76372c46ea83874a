// Known vectors (a changed generator would silently change every seeded test) and the shape of what is drawn.
#include "core/base/rng.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <limits>
#include <vector>

namespace mycel {
namespace {

TEST(SplitMix64, MatchesThePublishedVectors) {
  uint64_t state = 1234567;
  EXPECT_EQ(SplitMix64(state), 6457827717110365317U);
  EXPECT_EQ(SplitMix64(state), 3203168211198807973U);
  EXPECT_EQ(SplitMix64(state), 9817491932198370423U);
}

TEST(Rng, IsTheSameEverywhereAndKnownAtCompileTime) {
  static_assert(Rng(1).Next() == Rng(1).Next());
  static_assert(Rng(1).Next() != Rng(2).Next());
  Rng a(42);
  Rng b(42);
  for (int i = 0; i < 100; ++i) ASSERT_EQ(a.Next(), b.Next());
  Rng forked = a.Fork();
  EXPECT_NE(forked.Next(), a.Next());
}

TEST(Rng, BelowIsUniformEnough) {
  constexpr uint64_t kSeed = 7;
  constexpr int kDraws = 60'000;
  Rng rng(kSeed);
  std::array<int, 6> counts{};
  for (int i = 0; i < kDraws; ++i) ++counts[rng.Below(counts.size())];
  for (const int count : counts) EXPECT_NEAR(count, kDraws / 6, 500) << "seed " << kSeed;
  for (int i = 0; i < 100; ++i) ASSERT_EQ(rng.Below(1), 0U);
}

TEST(Rng, BetweenReachesBothEndsAndTheWholeRange) {
  Rng rng(3);
  bool low = false;
  bool high = false;
  for (int i = 0; i < 1000; ++i) {
    const int64_t value = rng.Between(-2, 2);
    ASSERT_GE(value, -2);
    ASSERT_LE(value, 2);
    low |= value == -2;
    high |= value == 2;
  }
  EXPECT_TRUE(low && high);
  const int64_t any = rng.Between(std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max());
  EXPECT_NE(any, rng.Between(std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()));
}

TEST(Rng, UnitStaysBelowOne) {
  Rng rng(5);
  double sum = 0;
  for (int i = 0; i < 10'000; ++i) {
    const double value = rng.Unit();
    ASSERT_GE(value, 0);
    ASSERT_LT(value, 1);
    sum += value;
  }
  EXPECT_NEAR(sum / 10'000, 0.5, 0.02);
}

TEST(Rng, ShuffleKeepsTheItemsAndReachesEveryOrder) {
  Rng rng(9);
  std::vector<int> seen(6, 0);
  for (int i = 0; i < 600; ++i) {
    std::vector<int> items = {0, 1, 2};
    rng.Shuffle(items);
    ++seen[static_cast<size_t>(items[0] * 2 + (items[1] > items[2] ? 1 : 0))];
    std::sort(items.begin(), items.end());
    ASSERT_EQ(items, (std::vector<int>{0, 1, 2}));
  }
  for (const int count : seen) EXPECT_GT(count, 60);
}

}  // namespace
}  // namespace mycel
