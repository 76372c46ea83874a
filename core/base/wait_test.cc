// The waiter's ladder: polls, yields, sleeps, and the bell that ends a sleep.
#include "core/base/wait.h"

#include <thread>

#include <gtest/gtest.h>

#include "core/base/clock.h"

namespace mycel {
namespace {

TEST(Waiter, SleepModeAnnouncesItselfPollsOnceMoreAndSleeps) {
  Bell bell{};
  WaitPolicy policy;
  policy.mode = WaitMode::kSleep;
  Waiter waiter(policy, &bell);
  waiter.Pause();
  EXPECT_EQ(bell.sleepers.load(), 1U);
  EXPECT_EQ(waiter.sleeps(), 0U) << "the caller must poll between the announcement and the sleep";
  waiter.Pause();
  EXPECT_EQ(waiter.sleeps(), 1U);
  EXPECT_EQ(bell.sleepers.load(), 0U);
}

TEST(Waiter, ResetAndDestructionTakeTheAnnouncementBack) {
  Bell bell{};
  WaitPolicy policy;
  policy.mode = WaitMode::kSleep;
  {
    Waiter waiter(policy, &bell);
    waiter.Pause();
    waiter.Reset();
    EXPECT_EQ(bell.sleepers.load(), 0U);
    waiter.Pause();
    EXPECT_EQ(bell.sleepers.load(), 1U);
  }
  EXPECT_EQ(bell.sleepers.load(), 0U);
}

TEST(Waiter, ARingBetweenAnnouncementAndSleepIsNotLost) {
  Bell bell{};
  WaitPolicy policy;
  policy.mode = WaitMode::kSleep;
  Waiter waiter(policy, &bell);
  waiter.Pause();
  Ring(bell);
  const int64_t start = NowNs();
  for (int i = 0; i < 100; ++i) {
    waiter.Pause();  // returns at once: the word has changed
    waiter.Pause();
    Ring(bell);
  }
  EXPECT_LT(NowNs() - start, 5 * kNsPerSecond);
}

TEST(Waiter, ReportsTimeForSlowChecksInEveryMode) {
  for (WaitMode mode : {WaitMode::kAuto, WaitMode::kSpin, WaitMode::kYield, WaitMode::kSleep}) {
    WaitPolicy policy;
    policy.mode = mode;
    Waiter waiter(policy, nullptr);
    const int64_t start = NowNs();
    while (!waiter.Pause()) ASSERT_LT(NowNs() - start, 10 * kNsPerSecond);
    EXPECT_GE(waiter.WaitedNs(), Waiter::kSlowPeriodNs);
  }
}

TEST(Waiter, SpinModeNeverSleeps) {
  WaitPolicy policy;
  policy.mode = WaitMode::kSpin;
  Bell bell{};
  Waiter waiter(policy, &bell);
  for (int i = 0; i < 100000; ++i) waiter.Pause();
  EXPECT_EQ(waiter.sleeps(), 0U);
}

TEST(AvailableCores, IsAtLeastOne) { EXPECT_GE(AvailableCores(), 1); }

}  // namespace
}  // namespace mycel
