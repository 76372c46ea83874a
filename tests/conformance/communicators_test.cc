// Communicators made with a config, from another communicator, and without waiting.
#include <algorithm>
#include <chrono>
#include <functional>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bindings/c/mycel.h"
#include "tests/conformance/comms.h"

namespace mycel {
namespace {

using ::testing::AnyOf;
using ::testing::Eq;
using ::testing::HasSubstr;

struct BadConfig {
  const char* field;
  void (*spoil)(mycelConfig_t*);
};

TEST(Config, EachBadFieldIsRefusedByName) {
  const std::string long_name(64, 'x');
  const BadConfig kBad[] = {
      {"config.size", [](mycelConfig_t* c) { c->size = 8; }},
      {"config.size", [](mycelConfig_t* c) { c->size = sizeof(*c) + 8; }},
      {"config.magic", [](mycelConfig_t* c) { c->magic = 1; }},
      {"config.version", [](mycelConfig_t* c) { c->version = 0; }},
      {"config.version", [](mycelConfig_t* c) { c->version = 999999; }},
      {"config.blocking", [](mycelConfig_t* c) { c->blocking = 2; }},
      {"config.minLanes", [](mycelConfig_t* c) { c->minLanes = 0; }},
      {"config.maxLanes", [](mycelConfig_t* c) { c->maxLanes = 33; }},
      {"config.minLanes", [](mycelConfig_t* c) { c->minLanes = 3, c->maxLanes = 2; }},
      {"config.reproducible", [](mycelConfig_t* c) { c->reproducible = -1; }},
      {"config.commName", [](mycelConfig_t* c) { c->commName = ""; }},
      {"config.commName", [](mycelConfig_t* c) { c->commName = "two\nlines"; }},
      {"config.commName",
       [](mycelConfig_t* c) { c->commName = "0123456789012345678901234567890123456789012345678901234567890123"; }},
      {"config.planner", [](mycelConfig_t* c) { c->planner = ""; }},
      {"config.timeout", [](mycelConfig_t* c) { c->timeout = 0; }},
      {"config.timeout", [](mycelConfig_t* c) { c->timeout = 2e9; }},
      {"config.wait", [](mycelConfig_t* c) { c->wait = 4; }},
  };
  for (const BadConfig& bad : kBad) {
    mycelConfig_t config = MYCEL_CONFIG_INITIALIZER;
    bad.spoil(&config);
    mycelComm_t comm = nullptr;
    EXPECT_EQ(mycelCommInitAllConfig(&comm, 1, nullptr, &config), mycelInvalidArgument) << bad.field;
    EXPECT_THAT(mycelGetLastError(nullptr), HasSubstr(bad.field));
    EXPECT_EQ(comm, nullptr);
  }
}

TEST(Config, PlannerThatDoesNotExistIsRefused) {
  mycelConfig_t config = MYCEL_CONFIG_INITIALIZER;
  config.topology = "no-such-machine";
  mycelComm_t comm = nullptr;
  EXPECT_EQ(mycelCommInitAllConfig(&comm, 1, nullptr, &config), mycelInvalidArgument);
  EXPECT_THAT(mycelGetLastError(nullptr), HasSubstr("no-such-machine"));
}

TEST(Config, TimeoutAndNameCount) {
  mycelConfig_t config = MYCEL_CONFIG_INITIALIZER;
  config.timeout = 1;
  config.commName = "tp0";
  const auto comms = Create(2, &config);
  int value = 1;
  const double seconds = SecondsOf(
      [&] { EXPECT_EQ(mycelAllReduce(&value, &value, 1, mycelInt32, mycelSum, comms[0], nullptr), mycelTimeout); });
  EXPECT_GE(seconds, 1);
  EXPECT_LT(seconds, 10);
  EXPECT_THAT(mycelGetLastError(comms[0]), HasSubstr("rank 0 of tp0, operation 1"));
  Destroy(comms);
}

TEST(Config, RanksThatDisagreeAreNamedWithTheField) {
  mycelUniqueId id;
  ASSERT_EQ(mycelGetUniqueId(&id), mycelSuccess);
  OnThreads(2, [&](size_t rank) {
    mycelConfig_t config = MYCEL_CONFIG_INITIALIZER;
    config.maxLanes = rank == 0 ? 2 : 4;
    mycelComm_t comm = nullptr;
    EXPECT_EQ(mycelCommInitRankConfig(&comm, 2, id, static_cast<int>(rank), &config), mycelInvalidUsage);
    EXPECT_THAT(mycelGetLastError(nullptr),
                HasSubstr("rank 0 has 'config.maxLanes=2', rank 1 has 'config.maxLanes=4'"));
    EXPECT_EQ(comm, nullptr);
  });
}

TEST(Config, LanesBoundWhatPlansUse) {
  for (const int lanes : {1, 2, 4}) {
    mycelConfig_t config = MYCEL_CONFIG_INITIALIZER;
    config.minLanes = lanes;
    config.maxLanes = lanes;
    const auto comms = Create(3, &config);
    OnThreads(3, [&](size_t rank) {
      std::vector<float> data(1 << 16, 1);
      EXPECT_EQ(mycelAllReduce(data.data(), data.data(), data.size(), mycelFloat, mycelSum, comms[rank], nullptr),
                mycelSuccess)
          << mycelGetLastError(comms[rank]);
      EXPECT_EQ(data, std::vector<float>(1 << 16, 3));
      mycelCallInfo info;
      info.size = sizeof(info);
      ASSERT_EQ(mycelCommQueryLast(comms[rank], &info), mycelSuccess) << mycelGetLastError(nullptr);
      EXPECT_EQ(info.lanes, lanes);
    });
    Destroy(comms);
  }
}

TEST(Split, ColorsAndKeysMakeTheGroupsAndTheirOrder) {
  constexpr size_t kRanks = 5;
  const auto comms = Create(kRanks);
  // Rank: color, key -> rank in the group. Ranks 1 and 3 have equal keys; rank 4 is alone.
  constexpr int kColors[kRanks] = {7, 0, MYCEL_SPLIT_NOCOLOR, 0, 2};
  constexpr int kKeys[kRanks] = {0, -5, 0, -5, 100};
  constexpr int kRanksIn[kRanks] = {0, 0, -1, 1, 0};
  constexpr int kSums[kRanks] = {1, 2 + 8, 0, 2 + 8, 16};
  OnThreads(kRanks, [&](size_t rank) {
    auto child = reinterpret_cast<mycelComm_t>(1);
    ASSERT_EQ(mycelCommSplit(comms[rank], kColors[rank], kKeys[rank], &child, nullptr), mycelSuccess)
        << mycelGetLastError(nullptr);
    if (kColors[rank] == MYCEL_SPLIT_NOCOLOR) {
      EXPECT_EQ(child, nullptr);
      return;
    }
    EXPECT_EQ(RankIn(child), kRanksIn[rank]);
    EXPECT_EQ(SumOver(child, 1 << rank), kSums[rank]);
    EXPECT_EQ(mycelCommDestroy(child), mycelSuccess);
  });
  // The parent goes on.
  OnThreads(kRanks, [&](size_t rank) { EXPECT_EQ(SumOver(comms[rank], 1 << rank), 31); });
  Destroy(comms);
}

TEST(Split, KeysReverseTheOrder) {
  const auto comms = Create(4);
  OnThreads(4, [&](size_t rank) {
    mycelComm_t child = nullptr;
    ASSERT_EQ(mycelCommSplit(comms[rank], 0, -static_cast<int>(rank), &child, nullptr), mycelSuccess);
    EXPECT_EQ(RankIn(child), 3 - static_cast<int>(rank));
    const auto mine = static_cast<int>(rank);
    std::vector<int> all(4);
    EXPECT_EQ(mycelAllGather(&mine, all.data(), 1, mycelInt32, child, nullptr), mycelSuccess);
    EXPECT_EQ(all, (std::vector<int>{3, 2, 1, 0}));
    EXPECT_EQ(mycelCommDestroy(child), mycelSuccess);
  });
  Destroy(comms);
}

TEST(Split, FiveDeepAndParentsDestroyedBeforeChildren) {
  const auto comms = Create(6);
  OnThreads(6, [&](size_t rank) {
    // Each level leaves its last rank alone, and drops the parent at once.
    mycelComm_t comm = comms[rank];
    for (int depth = 0; depth < 5; ++depth) {
      const int last = CountOf(comm) - 1;
      mycelComm_t child = nullptr;
      ASSERT_EQ(mycelCommSplit(comm, RankIn(comm) == last ? 1 : 0, 0, &child, nullptr), mycelSuccess)
          << mycelGetLastError(nullptr);
      EXPECT_EQ(mycelCommDestroy(comm), mycelSuccess);
      comm = child;
      const int count = CountOf(comm);
      EXPECT_EQ(SumOver(comm, 1), count);
      if (count == 1 && static_cast<int>(rank) != 0) break;
    }
    EXPECT_EQ(CountOf(comm), 1);
    EXPECT_EQ(mycelCommDestroy(comm), mycelSuccess);
  });
}

TEST(Split, OneThreadSplitsAllItsRanksInAGroup) {
  const auto comms = Create(4);
  std::vector<mycelComm_t> children(4);
  ASSERT_EQ(mycelGroupStart(), mycelSuccess);
  for (size_t rank = 0; rank < 4; ++rank) {
    EXPECT_EQ(mycelCommSplit(comms[rank], static_cast<int>(rank) % 2, 0, &children[rank], nullptr), mycelSuccess);
  }
  ASSERT_EQ(mycelGroupEnd(), mycelSuccess) << mycelGetLastError(nullptr);
  OnThreads(4, [&](size_t rank) { EXPECT_EQ(SumOver(children[rank], 1 << rank), rank % 2 == 0 ? 5 : 10); });
  Destroy(children);
  Destroy(comms);
}

TEST(Split, TakesThePartOfTheTopologyThatIsLeft) {
  mycelConfig_t config = MYCEL_CONFIG_INITIALIZER;
  config.topology = "servers-2x2";
  const auto comms = Create(4, &config);
  OnThreads(4, [&](size_t rank) {
    mycelComm_t child = nullptr;
    ASSERT_EQ(mycelCommSplit(comms[rank], static_cast<int>(rank) / 3, 0, &child, nullptr), mycelSuccess)
        << mycelGetLastError(nullptr);
    EXPECT_EQ(SumOver(child, 1), rank == 3 ? 1 : 3);
    mycelComm_t grandchild = nullptr;
    ASSERT_EQ(mycelCommSplit(child, 0, 0, &grandchild, nullptr), mycelSuccess) << mycelGetLastError(nullptr);
    EXPECT_EQ(SumOver(grandchild, 1), rank == 3 ? 1 : 3);
    EXPECT_EQ(mycelCommDestroy(child), mycelSuccess);
    EXPECT_EQ(mycelCommDestroy(grandchild), mycelSuccess);
  });
  Destroy(comms);
}

TEST(Split, MeetingAnotherOperationIsAMismatch) {
  mycelConfig_t config = MYCEL_CONFIG_INITIALIZER;
  config.timeout = 20;
  const auto comms = Create(2, &config);
  std::string texts[2];
  OnThreads(2, [&](size_t rank) {
    mycelComm_t child = nullptr;
    int64_t mine = 0;
    int64_t all[2];
    // The same bytes as the split's own exchange.
    const mycelResult_t result = rank == 0 ? mycelCommSplit(comms[0], 0, 0, &child, nullptr)
                                           : mycelAllGather(&mine, all, 8, mycelInt8, comms[1], nullptr);
    EXPECT_EQ(result, mycelInvalidUsage);
    texts[rank] = mycelGetLastError(comms[rank]);
  });
  EXPECT_THAT(texts[0] + texts[1], HasSubstr("split"));
  EXPECT_THAT(texts[0] + texts[1], HasSubstr("allgather"));
  Destroy(comms);
}

TEST(Split, BadArgumentsLeaveTheParentUsable) {
  const auto comms = Create(1);
  mycelComm_t child = nullptr;
  EXPECT_EQ(mycelCommSplit(comms[0], -2, 0, &child, nullptr), mycelInvalidArgument);
  EXPECT_THAT(mycelGetLastError(nullptr), HasSubstr("color -2"));
  EXPECT_EQ(mycelCommSplit(comms[0], 0, 0, nullptr, nullptr), mycelInvalidArgument);
  EXPECT_EQ(mycelCommSplit(nullptr, 0, 0, &child, nullptr), mycelInvalidArgument);
  EXPECT_EQ(SumOver(comms[0], 5), 5);
  Destroy(comms);
}

TEST(Dup, RunsOperationsOfItsOwn) {
  const auto comms = Create(3);
  OnThreads(3, [&](size_t rank) {
    mycelComm_t twin = nullptr;
    ASSERT_EQ(mycelCommDup(comms[rank], &twin, nullptr), mycelSuccess) << mycelGetLastError(nullptr);
    EXPECT_EQ(RankIn(twin), static_cast<int>(rank));
    // Rank 0 makes the two calls in the other order, on two threads.
    std::thread other([&] { EXPECT_EQ(SumOver(twin, 10), 30); });
    EXPECT_EQ(SumOver(comms[rank], 1), 3);
    other.join();
    EXPECT_EQ(mycelCommDestroy(twin), mycelSuccess);
  });
  Destroy(comms);
}

TEST(Shrink, LeavesTheExcludedRanksBehind) {
  const auto comms = Create(4);
  OnThreads(4, [&](size_t rank) {
    if (rank == 1) return;
    const int excluded[] = {1};
    mycelComm_t rest = nullptr;
    ASSERT_EQ(mycelCommShrink(comms[rank], excluded, 1, &rest, nullptr, MYCEL_SHRINK_DEFAULT), mycelSuccess)
        << mycelGetLastError(nullptr);
    EXPECT_EQ(RankIn(rest), rank == 0 ? 0 : static_cast<int>(rank) - 1);
    EXPECT_EQ(SumOver(rest, 1 << rank), 1 + 4 + 8);
    EXPECT_EQ(mycelCommDestroy(rest), mycelSuccess);
  });
  // The parent was well and stays so.
  OnThreads(4, [&](size_t rank) { EXPECT_EQ(SumOver(comms[rank], 1), 4); });
  Destroy(comms);
}

TEST(Shrink, AfterAFailureTheOthersGoOn) {
  mycelConfig_t config = MYCEL_CONFIG_INITIALIZER;
  config.timeout = 1;
  const auto comms = Create(4, &config);
  std::vector<mycelComm_t> rest(4);
  OnThreads(4, [&](size_t rank) {
    if (rank == 0) return;  // never comes
    std::vector<double> data(100000, 1);
    EXPECT_NE(mycelAllReduce(data.data(), data.data(), data.size(), mycelDouble, mycelSum, comms[rank], nullptr),
              mycelSuccess);
    const int excluded[] = {0};
    EXPECT_EQ(mycelCommShrink(comms[rank], excluded, 1, &rest[rank], nullptr, MYCEL_SHRINK_DEFAULT), mycelInvalidUsage);
    EXPECT_THAT(mycelGetLastError(nullptr), HasSubstr("MYCEL_SHRINK_ABORT"));
    ASSERT_EQ(mycelCommShrink(comms[rank], excluded, 1, &rest[rank], nullptr, MYCEL_SHRINK_ABORT), mycelSuccess)
        << mycelGetLastError(nullptr);
    EXPECT_THAT(mycelAllReduce(data.data(), data.data(), 1, mycelDouble, mycelSum, comms[rank], nullptr),
                AnyOf(Eq(mycelTimeout), Eq(mycelRemoteError), Eq(mycelAborted)));
    for (int i = 0; i < 10; ++i) {
      std::fill(data.begin(), data.end(), 1 << rank);
      EXPECT_EQ(mycelAllReduce(data.data(), data.data(), data.size(), mycelDouble, mycelSum, rest[rank], nullptr),
                mycelSuccess);
      EXPECT_EQ(data, std::vector<double>(100000, 14));
    }
  });
  rest.erase(rest.begin());
  Destroy(rest);
  Destroy(comms);
}

TEST(Shrink, RanksThatExcludeOthersAreToldSo) {
  mycelConfig_t config = MYCEL_CONFIG_INITIALIZER;
  config.timeout = 20;
  const auto comms = Create(4, &config);
  OnThreads(2, [&](size_t rank) {
    const int excluded[] = {static_cast<int>(rank) + 2};
    mycelComm_t rest = nullptr;
    EXPECT_EQ(mycelCommShrink(comms[rank], excluded, 1, &rest, nullptr, MYCEL_SHRINK_DEFAULT), mycelInvalidUsage);
    EXPECT_THAT(mycelGetLastError(nullptr), HasSubstr("excludes other ranks"));
  });
  Destroy(comms);
}

TEST(Shrink, AMissingRankIsNamedInTime) {
  mycelConfig_t config = MYCEL_CONFIG_INITIALIZER;
  config.timeout = 1;
  const auto comms = Create(3, &config);
  const int excluded[] = {0};
  mycelComm_t rest = nullptr;
  EXPECT_EQ(mycelCommShrink(comms[1], excluded, 1, &rest, nullptr, MYCEL_SHRINK_ABORT), mycelTimeout);
  EXPECT_THAT(mycelGetLastError(nullptr), HasSubstr("for rank 2 to call mycelCommShrink"));
  // Both call now: the first attempt left nothing behind.
  std::vector<mycelComm_t> both(2);
  OnThreads(2, [&](size_t i) {
    EXPECT_EQ(mycelCommShrink(comms[i + 1], excluded, 1, &both[i], nullptr, MYCEL_SHRINK_ABORT), mycelSuccess)
        << mycelGetLastError(nullptr);
    EXPECT_EQ(SumOver(both[i], 1), 2);
  });
  Destroy(both);
  Destroy(comms);
}

TEST(Shrink, BadArgumentsAreNamed) {
  const auto comms = Create(2);
  mycelComm_t rest = nullptr;
  const int self[] = {0};
  const int twice[] = {1, 1};
  const int far[] = {2};
  EXPECT_EQ(mycelCommShrink(comms[0], self, 1, &rest, nullptr, 0), mycelInvalidArgument);
  EXPECT_THAT(mycelGetLastError(nullptr), HasSubstr("excludeRanksList[0] is 0, this rank itself"));
  EXPECT_EQ(mycelCommShrink(comms[0], far, 1, &rest, nullptr, 0), mycelInvalidArgument);
  EXPECT_EQ(mycelCommShrink(comms[0], twice, 2, &rest, nullptr, 0), mycelInvalidArgument);
  EXPECT_EQ(mycelCommShrink(comms[0], nullptr, 1, &rest, nullptr, 0), mycelInvalidArgument);
  EXPECT_EQ(mycelCommShrink(comms[0], far, -1, &rest, nullptr, 0), mycelInvalidArgument);
  EXPECT_EQ(mycelCommShrink(comms[0], nullptr, 0, &rest, nullptr, 7), mycelInvalidArgument);
  EXPECT_EQ(mycelCommShrink(comms[0], nullptr, 0, nullptr, nullptr, 0), mycelInvalidArgument);
  // To itself alone it needs nobody.
  const int other[] = {1};
  EXPECT_EQ(mycelCommShrink(comms[0], other, 1, &rest, nullptr, 0), mycelSuccess) << mycelGetLastError(nullptr);
  EXPECT_EQ(CountOf(rest), 1);
  EXPECT_EQ(mycelCommDestroy(rest), mycelSuccess);
  Destroy(comms);
}

TEST(Revoke, EndsWhatRunsAndLeavesTheCommunicatorForShrink) {
  const auto comms = Create(3);
  std::thread waiting([&] {
    int value = 1;
    EXPECT_EQ(mycelAllReduce(&value, &value, 1, mycelInt32, mycelSum, comms[0], nullptr), mycelAborted);
    EXPECT_THAT(mycelGetLastError(comms[0]), HasSubstr("revoked"));
  });
  std::thread peer([&] {
    int value = 1;
    EXPECT_EQ(mycelAllReduce(&value, &value, 1, mycelInt32, mycelSum, comms[1], nullptr), mycelRemoteError);
    EXPECT_THAT(mycelGetLastError(comms[1]), HasSubstr("rank 0"));
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_LT(SecondsOf([&] { EXPECT_EQ(mycelCommRevoke(comms[0], MYCEL_REVOKE_DEFAULT), mycelSuccess); }), 1);
  EXPECT_EQ(mycelCommRevoke(comms[0], MYCEL_REVOKE_DEFAULT), mycelSuccess);
  EXPECT_EQ(mycelCommRevoke(comms[0], 5), mycelInvalidArgument);
  waiting.join();
  peer.join();
  int value = 1;
  EXPECT_EQ(mycelBarrier(comms[0], nullptr), mycelAborted);
  EXPECT_EQ(mycelSend(&value, 1, mycelInt32, 1, comms[0], nullptr), mycelAborted);
  OnThreads(2, [&](size_t rank) {
    const int excluded[] = {2};
    mycelComm_t rest = nullptr;
    ASSERT_EQ(mycelCommShrink(comms[rank], excluded, 1, &rest, nullptr, MYCEL_SHRINK_ABORT), mycelSuccess)
        << mycelGetLastError(nullptr);
    EXPECT_EQ(SumOver(rest, 1), 2);
    EXPECT_EQ(mycelCommDestroy(rest), mycelSuccess);
  });
  Destroy(comms);
}

TEST(Finalize, LeavesQuestionsAndTheEnd) {
  const auto comms = Create(2);
  OnThreads(2, [&](size_t rank) {
    mycelComm_t comm = comms[rank];
    EXPECT_EQ(SumOver(comm, 1), 2);
    EXPECT_EQ(mycelCommFinalize(comm), mycelSuccess);
    EXPECT_EQ(mycelCommFinalize(comm), mycelSuccess);
    int value = 1;
    EXPECT_EQ(mycelAllReduce(&value, &value, 1, mycelInt32, mycelSum, comm, nullptr), mycelInvalidUsage);
    EXPECT_THAT(mycelGetLastError(nullptr), HasSubstr("was finalized"));
    EXPECT_EQ(CountOf(comm), 2);
    mycelCommStats stats;
    stats.size = sizeof(stats);
    EXPECT_EQ(mycelCommGetStats(comm, &stats), mycelSuccess);
  });
  Destroy(comms);
}

}  // namespace
}  // namespace mycel
