#include "core/base/edit_distance.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "core/base/rng.h"

namespace mycel {
namespace {

TEST(EditDistance, KnownPairs) {
  EXPECT_EQ(EditDistance("", ""), 0U);
  EXPECT_EQ(EditDistance("", "abc"), 3U);
  EXPECT_EQ(EditDistance("kitten", "sitting"), 3U);
  EXPECT_EQ(EditDistance("TIMOEUT", "TIMEOUT"), 1U);  // swapped neighbours
  EXPECT_EQ(EditDistance("ring", "ring"), 0U);
}

TEST(EditDistance, IsSymmetricBoundedAndZeroOnlyForEquals) {
  constexpr uint64_t kSeed = 17;
  Rng rng(kSeed);
  const auto word = [&rng] {
    std::string text(static_cast<size_t>(rng.Below(7)), 'a');
    for (char& c : text) c = static_cast<char>('a' + rng.Below(3));
    return text;
  };
  for (int i = 0; i < 2000; ++i) {
    const std::string a = word();
    const std::string b = word();
    const size_t distance = EditDistance(a, b);
    ASSERT_EQ(distance, EditDistance(b, a)) << a << " " << b << " seed " << kSeed;
    ASSERT_EQ(distance == 0, a == b) << a << " " << b << " seed " << kSeed;
    ASSERT_LE(distance, std::max(a.size(), b.size()));
    ASSERT_GE(distance, std::max(a.size(), b.size()) - std::min(a.size(), b.size()));
  }
}

TEST(NearestName, PrefersTheLeastChangeAndGivesUpWhenAllAreFar) {
  const std::vector<std::string_view> names = {"forest", "fast", "bfb", "ring", "direct"};
  EXPECT_EQ(NearestName("forst", names), "forest");
  EXPECT_EQ(NearestName("rign", names), "ring");
  EXPECT_EQ(NearestName("hypercube", names), "");
  EXPECT_EQ(NearestName("x", {}), "");
}

}  // namespace
}  // namespace mycel
