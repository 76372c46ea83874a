#include "core/base/clock.h"

#include <gtest/gtest.h>
#include <time.h>

namespace mycel {
namespace {

TEST(Clock, IsTheMonotonicClockOfTheSystem) {
  timespec before{};
  clock_gettime(CLOCK_MONOTONIC, &before);
  const int64_t now = NowNs();
  timespec after{};
  clock_gettime(CLOCK_MONOTONIC, &after);
  EXPECT_GE(now, before.tv_sec * kNsPerSecond + before.tv_nsec);
  EXPECT_LE(now, after.tv_sec * kNsPerSecond + after.tv_nsec);
}

TEST(Clock, SecondsSaturateInsteadOfOverflowing) {
  EXPECT_EQ(SecondsToNs(0.5), 500 * kNsPerMs);
  EXPECT_EQ(SecondsToNs(300), 300 * kNsPerSecond);
  EXPECT_EQ(SecondsToNs(1e12), kNeverNs);
  EXPECT_EQ(SecondsToNs(-1), 0);
  EXPECT_EQ(SaturatingAddNs(kNeverNs - 1, 2), kNeverNs);
  EXPECT_EQ(SaturatingAddNs(1, 2), 3);
}

TEST(Deadline, PassesAtItsTimeAndNotBefore) {
  const Deadline deadline = Deadline::After(10, 100);
  EXPECT_FALSE(deadline.Passed(109));
  EXPECT_TRUE(deadline.Passed(110));
  EXPECT_EQ(deadline.LeftNs(104), 6);
  EXPECT_EQ(deadline.LeftNs(111), 0);
  EXPECT_EQ(Deadline::After(-5, 100), Deadline::At(100));
}

TEST(Deadline, NeverNeverPasses) {
  EXPECT_FALSE(Deadline::Never().Passed(kNeverNs));
  EXPECT_FALSE(Deadline().Passed());
  EXPECT_EQ(Deadline::Never().LeftNs(5), kNeverNs);
  EXPECT_EQ(Deadline::After(kNeverNs, 100), Deadline::Never());
}

}  // namespace
}  // namespace mycel
