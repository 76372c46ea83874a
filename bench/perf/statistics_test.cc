#include "bench/perf/statistics.h"

#include <gtest/gtest.h>

#include <numeric>

namespace mycel::perf {
namespace {

TEST(Statistics, PercentilesAreNearestRank) {
  std::vector<double> samples(1000);
  std::iota(samples.rbegin(), samples.rend(), 1.0);  // 1 to 1000, backwards
  const Summary s = Summarize(samples);
  EXPECT_EQ(s.min, 1);
  EXPECT_EQ(s.max, 1000);
  EXPECT_EQ(s.mean, 500.5);
  EXPECT_EQ(s.p50, 500);
  EXPECT_EQ(s.p90, 900);
  EXPECT_EQ(s.p99, 990);
  EXPECT_EQ(s.p999, 999);
}

TEST(Statistics, OneSampleIsEveryPercentile) {
  const Summary s = Summarize({7});
  EXPECT_EQ(s.p50, 7);
  EXPECT_EQ(s.p999, 7);
  EXPECT_EQ(s.stdev, 0);
}

TEST(Statistics, AveragesOverRanks) {
  const std::vector<double> by_rank = {4, 1, 7};
  EXPECT_EQ(Combine(Average::kRank0, by_rank), 4);
  EXPECT_EQ(Combine(Average::kMean, by_rank), 4);
  EXPECT_EQ(Combine(Average::kMin, by_rank), 1);
  EXPECT_EQ(Combine(Average::kMax, by_rank), 7);
}

TEST(Statistics, ListsAreCombinedEntryByEntry) {
  EXPECT_EQ(CombineLists(Average::kMax, {1, 20, 10, 2}, 2), (std::vector<double>{10, 20}));
}

TEST(Statistics, NumbersKeepTheirWidthAsInNcclTests) {
  EXPECT_EQ(FixedWidth(0.2384, 7), "   0.24");
  EXPECT_EQ(FixedWidth(1234.56, 7), "1234.56");
  EXPECT_EQ(FixedWidth(12345.67, 7), "12345.7");
  EXPECT_EQ(FixedWidth(1234567.8, 7), "1234568");
  EXPECT_EQ(FixedWidth(123456789, 7), "1.2e+08");
  EXPECT_EQ(FixedWidth(9999.996, 7), "10000.0");  // rounding widens it: one decimal less
  EXPECT_EQ(FixedWidth(99999999, 6), " 1e+08");
}

}  // namespace
}  // namespace mycel::perf
