#include "transport/bootstrap/in_process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "transport/bootstrap/rank_list.h"

namespace mycel {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;
using testing::HasSubstr;

TEST(RankListTest, FoldsRunsAndCutsLongLists) {
  EXPECT_EQ(RankList({Rank(3)}), "rank 3");
  EXPECT_EQ(RankList({Rank(5), Rank(1), Rank(2)}), "ranks 1, 2 and 5");
  EXPECT_EQ(RankList({Rank(0), Rank(1), Rank(2), Rank(3), Rank(7)}), "ranks 0-3 and 7");
  std::vector<Rank> even;
  for (int i = 0; i < 100; i += 2) even.push_back(Rank(i));
  EXPECT_THAT(RankList(even), HasSubstr("28, 30 and 34 more"));
}

TEST(MeetingTest, RefusesRanksThatDoNotExistOrAreTaken) {
  const auto meeting = Meeting::Make(2);
  EXPECT_EQ(meeting->Join(Rank(2)).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(meeting->Join(Rank()).status().code(), StatusCode::kInvalidArgument);
  const auto first = meeting->Join(Rank(1));
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(meeting->Join(Rank(1)).status().code(), StatusCode::kFailedPrecondition);
}

TEST(MeetingTest, ALateRankLearnsThatAnotherGaveUp) {
  const auto meeting = Meeting::Make(3);
  auto early = meeting->Join(Rank(0)).value();
  auto late = meeting->Join(Rank(1)).value();
  const Status timeout = early->AllGather("x", steady_clock::now() + milliseconds(20)).status();
  EXPECT_EQ(timeout.code(), StatusCode::kDeadlineExceeded);
  EXPECT_THAT(StatusMessage(timeout), HasSubstr("ranks 1 and 2"));
  const Status told = late->AllGather("y", steady_clock::now() + seconds(10)).status();
  EXPECT_EQ(told, timeout);
}

TEST(MeetingTest, ALeaverIsNamed) {
  const auto meeting = Meeting::Make(2);
  auto waiting = meeting->Join(Rank(0)).value();
  auto leaving = meeting->Join(Rank(1)).value();
  std::thread leaver([&] { leaving.reset(); });
  const Status told = waiting->AllGather("x", steady_clock::now() + seconds(10)).status();
  leaver.join();
  EXPECT_EQ(told.code(), StatusCode::kUnavailable);
  EXPECT_THAT(StatusMessage(told), HasSubstr("rank 1 left"));
}

}  // namespace
}  // namespace mycel
