// Every call that may wait for another rank ends within its timeout, and says whom it waited for; and an abort ends it
// sooner.
#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bindings/c/mycel.h"

namespace mycel {
namespace {

using ::testing::AnyOf;
using ::testing::Eq;
using ::testing::HasSubstr;

constexpr double kTimeout = 0.2;

double SecondsOf(const std::function<void()>& body) {
  const auto start = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

std::vector<mycelComm_t> Create(int n, double timeout, int blocking = 1) {
  mycelConfig_t config = MYCEL_CONFIG_INITIALIZER;
  config.timeout = timeout;
  config.blocking = blocking;
  std::vector<mycelComm_t> comms(static_cast<size_t>(n));
  // The timeout holds for the creation, too, and a busy machine may need more: then it is tried again.
  mycelResult_t created = mycelTimeout;
  for (int attempt = 0; attempt < 20 && created == mycelTimeout; ++attempt) {
    created = mycelCommInitAllConfig(comms.data(), n, nullptr, &config);
  }
  EXPECT_EQ(created, mycelSuccess) << mycelGetLastError(nullptr);
  return comms;
}

mycelResult_t Settle(mycelComm_t comm) {
  mycelResult_t state = mycelInProgress;
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (state == mycelInProgress && std::chrono::steady_clock::now() < until) {
    EXPECT_EQ(mycelCommGetAsyncError(comm, &state), mycelSuccess);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return state;
}

/// More than a channel holds, so that senders wait, too.
constexpr size_t kMany = size_t{1} << 20;
float g_send[2 * kMany];
float g_recv[2 * kMany];

struct Waiting {
  const char* name;
  /// What rank 0 of two calls; rank 1 does not.
  mycelResult_t (*call)(mycelComm_t);
};

/// Queues a call on a stream of its own and asks `how` it went; or what the call said, when it was refused.
mycelResult_t Queued(mycelComm_t comm, mycelResult_t (*how)(mycelComm_t, mycelStream_t)) {
  mycelStream_t stream = nullptr;
  EXPECT_EQ(mycelStreamCreate(&stream), mycelSuccess);
  mycelResult_t result = mycelAllReduce(g_send, g_recv, 1, mycelFloat, mycelSum, comm, stream);
  if (result == mycelSuccess) result = how(comm, stream);
  EXPECT_EQ(mycelStreamDestroy(stream), mycelSuccess);
  return result;
}

mycelResult_t OnStream(mycelComm_t comm) {
  return Queued(comm, [](mycelComm_t, mycelStream_t stream) { return mycelStreamSynchronize(stream); });
}

mycelResult_t Finalized(mycelComm_t comm) {
  return Queued(comm, [](mycelComm_t queued, mycelStream_t) { return mycelCommFinalize(queued); });
}

constexpr size_t kCounts[] = {kMany, kMany};
constexpr size_t kPlaces[] = {0, kMany};

#define MYCEL_WAITING(name, expression)                             \
  Waiting {                                                         \
    name, [](mycelComm_t c) -> mycelResult_t { return expression; } \
  }
const Waiting kWaiting[] = {
    MYCEL_WAITING("allreduce", mycelAllReduce(g_send, g_recv, 10, mycelFloat, mycelSum, c, nullptr)),
    MYCEL_WAITING("allgather", mycelAllGather(g_send, g_recv, 10, mycelFloat, c, nullptr)),
    MYCEL_WAITING("reduce_scatter", mycelReduceScatter(g_send, g_recv, 10, mycelFloat, mycelSum, c, nullptr)),
    MYCEL_WAITING("broadcast_from_it", mycelBroadcast(g_send, g_recv, 10, mycelFloat, 1, c, nullptr)),
    MYCEL_WAITING("broadcast_to_it", mycelBroadcast(g_send, g_recv, kMany, mycelFloat, 0, c, nullptr)),
    MYCEL_WAITING("bcast", mycelBcast(g_recv, 10, mycelFloat, 1, c, nullptr)),
    MYCEL_WAITING("reduce", mycelReduce(g_send, g_recv, 10, mycelFloat, mycelSum, 0, c, nullptr)),
    MYCEL_WAITING("reduce_to_it", mycelReduce(g_send, g_recv, kMany, mycelFloat, mycelSum, 1, c, nullptr)),
    MYCEL_WAITING("alltoall", mycelAllToAll(g_send, g_recv, 10, mycelFloat, c, nullptr)),
    MYCEL_WAITING("gather", mycelGather(g_send, g_recv, 10, mycelFloat, 0, c, nullptr)),
    MYCEL_WAITING("scatter", mycelScatter(g_send, g_recv, 10, mycelFloat, 1, c, nullptr)),
    MYCEL_WAITING("scatter_to_it", mycelScatter(g_send, g_recv, kMany, mycelFloat, 0, c, nullptr)),
    MYCEL_WAITING("alltoallv",
                  mycelAllToAllv(g_send, kCounts, kPlaces, g_recv, kCounts, kPlaces, mycelFloat, c, nullptr)),
    MYCEL_WAITING("barrier", mycelBarrier(c, nullptr)),
    MYCEL_WAITING("send", mycelSend(g_send, kMany, mycelFloat, 1, c, nullptr)),
    MYCEL_WAITING("recv", mycelRecv(g_recv, 10, mycelFloat, 1, c, nullptr)),
    MYCEL_WAITING("group", (mycelGroupStart(), mycelSend(g_send, kMany, mycelFloat, 1, c, nullptr),
                            mycelRecv(g_recv, 10, mycelFloat, 1, c, nullptr), mycelGroupEnd())),
    MYCEL_WAITING("stream", OnStream(c)),
    MYCEL_WAITING("finalize", Finalized(c)),
    Waiting{"split",
            [](mycelComm_t c) {
              mycelComm_t child = nullptr;
              return mycelCommSplit(c, 0, 0, &child, nullptr);
            }},
    Waiting{"dup",
            [](mycelComm_t c) {
              mycelComm_t child = nullptr;
              return mycelCommDup(c, &child, nullptr);
            }},
    Waiting{"shrink",
            [](mycelComm_t c) {
              mycelComm_t child = nullptr;
              return mycelCommShrink(c, nullptr, 0, &child, nullptr, MYCEL_SHRINK_DEFAULT);
            }},
    Waiting{"window",
            [](mycelComm_t c) {
              mycelWindow_t window = nullptr;
              return mycelCommWindowRegister(c, g_recv, 100, &window, MYCEL_WIN_DEFAULT);
            }},
    Waiting{"plan",
            [](mycelComm_t c) {
              mycelAllToAllvPlan_t plan = nullptr;
              const mycelResult_t result = mycelAllToAllvPlanCreate(&plan, kCounts, kCounts, mycelFloat, c);
              EXPECT_EQ(mycelAllToAllvPlanDestroy(plan), mycelSuccess);
              return result;
            }},
};
#undef MYCEL_WAITING

class EveryCall : public ::testing::TestWithParam<Waiting> {};

TEST_P(EveryCall, EndsInItsTimeoutAndNamesTheMissingRank) {
  const auto comms = Create(2, kTimeout);
  mycelResult_t result = mycelSuccess;
  const double seconds = SecondsOf([&] { result = GetParam().call(comms[0]); });
  EXPECT_EQ(result, mycelTimeout) << mycelGetLastError(comms[0]);
  EXPECT_GE(seconds, kTimeout);
  EXPECT_LT(seconds, 10);
  EXPECT_THAT(std::string(mycelGetLastError(nullptr)) + mycelGetLastError(comms[0]), HasSubstr("rank 1"));
  for (mycelComm_t comm : comms) EXPECT_EQ(mycelCommDestroy(comm), mycelSuccess);
}

TEST_P(EveryCall, IsEndedByAnAbort) {
  const auto comms = Create(2, 60);
  mycelResult_t result = mycelSuccess;
  std::thread caller([&] { result = GetParam().call(comms[0]); });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_LT(SecondsOf([&] {
              EXPECT_EQ(mycelCommAbort(comms[0]), mycelSuccess);
              caller.join();
            }),
            10);
  // Where the handle had ended before the call came to use it, that is what it says.
  EXPECT_THAT(result, AnyOf(Eq(mycelAborted), Eq(mycelInvalidArgument))) << mycelGetLastError(nullptr);
  EXPECT_EQ(mycelCommAbort(comms[0]), mycelInvalidArgument);
  EXPECT_EQ(mycelCommAbort(comms[1]), mycelSuccess);
}

INSTANTIATE_TEST_SUITE_P(Of, EveryCall, ::testing::ValuesIn(kWaiting),
                         [](const ::testing::TestParamInfo<Waiting>& test) { return std::string(test.param.name); });

TEST(EveryCallNonBlocking, TellsTheTimeoutWhenPolled) {
  const auto comms = Create(2, kTimeout, 0);
  EXPECT_EQ(mycelAllReduce(g_send, g_recv, 1, mycelFloat, mycelSum, comms[0], nullptr), mycelInProgress);
  EXPECT_EQ(Settle(comms[0]), mycelTimeout);
  EXPECT_THAT(mycelGetLastError(comms[0]), HasSubstr("rank 1"));
  for (mycelComm_t comm : comms) EXPECT_EQ(mycelCommDestroy(comm), mycelSuccess);
}

TEST(AbortOf, AnotherThreadsDestroyEndsBoth) {
  const auto comms = Create(2, 60, 0);
  EXPECT_EQ(mycelAllReduce(g_send, g_recv, 1, mycelFloat, mycelSum, comms[0], nullptr), mycelInProgress);
  std::thread destroying(
      [&] { EXPECT_THAT(mycelCommDestroy(comms[0]), AnyOf(Eq(mycelSuccess), Eq(mycelInvalidArgument))); });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_LT(SecondsOf([&] {
              EXPECT_EQ(mycelCommAbort(comms[0]), mycelSuccess);
              destroying.join();
            }),
            10);
  EXPECT_EQ(mycelCommDestroy(comms[1]), mycelSuccess);
}

TEST(AbortOf, TwoBusyCommunicatorsInEitherOrder) {
  for (const size_t first : {0, 1}) {
    std::vector<std::vector<mycelComm_t>> pairs = {Create(2, 60), Create(2, 60)};
    std::vector<std::thread> callers;
    for (const auto& comms : pairs) {
      callers.emplace_back([&comms] {
        float value = 0;
        EXPECT_EQ(mycelAllReduce(&value, &value, 1, mycelFloat, mycelSum, comms[0], nullptr), mycelAborted);
      });
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_LT(SecondsOf([&] {
                EXPECT_EQ(mycelCommAbort(pairs[first][0]), mycelSuccess);
                EXPECT_EQ(mycelCommAbort(pairs[1 - first][0]), mycelSuccess);
                for (std::thread& caller : callers) caller.join();
              }),
              10);
    for (const auto& comms : pairs) EXPECT_EQ(mycelCommAbort(comms[1]), mycelSuccess);
  }
}

/// All at the same time, since each must run into its deadline; long, since a busy machine meets slowly.
TEST(Creation, MissingRanksAreNamedByAllOthers) {
  mycelConfig_t config = MYCEL_CONFIG_INITIALIZER;
  config.timeout = 2;
  const auto expect_missing = [&config](int count, const mycelUniqueId& id, int rank, const std::string& missing) {
    mycelComm_t comm = nullptr;
    EXPECT_EQ(mycelCommInitRankConfig(&comm, count, id, rank, &config), mycelTimeout);
    EXPECT_THAT(mycelGetLastError(nullptr), HasSubstr("rank " + missing));
  };
  std::vector<std::thread> threads;
  // Three of four.
  mycelUniqueId id;
  ASSERT_EQ(mycelGetUniqueId(&id), mycelSuccess);
  for (int rank = 0; rank < 3; ++rank) {
    threads.emplace_back([&expect_missing, id, rank] { expect_missing(4, id, rank, "3"); });
  }
  // Ids of two jobs do not meet.
  for (int rank = 0; rank < 2; ++rank) {
    mycelUniqueId own;
    ASSERT_EQ(mycelGetUniqueId(&own), mycelSuccess);
    threads.emplace_back([&expect_missing, own, rank] { expect_missing(2, own, rank, std::to_string(1 - rank)); });
  }
  // Without waiting: the handle says it, until it is destroyed.
  mycelConfig_t polled = config;
  polled.blocking = 0;
  mycelUniqueId alone;
  ASSERT_EQ(mycelGetUniqueId(&alone), mycelSuccess);
  mycelComm_t comm = nullptr;
  ASSERT_EQ(mycelCommInitRankConfig(&comm, 2, alone, 0, &polled), mycelInProgress);
  EXPECT_EQ(Settle(comm), mycelTimeout);
  EXPECT_THAT(mycelGetLastError(comm), HasSubstr("rank 1"));
  int count = 0;
  EXPECT_EQ(mycelCommCount(comm, &count), mycelTimeout);
  EXPECT_EQ(mycelCommDestroy(comm), mycelSuccess);
  for (std::thread& thread : threads) thread.join();
}

TEST(Creation, RanksThatCannotBeAreRefused) {
  struct Pair {
    int counts[2];
    int ranks[2];
    const char* text;
  };
  for (const Pair& pair : {Pair{{3, 3}, {1, 1}, "claimed twice"}, Pair{{3, 2}, {0, 1}, "ranks"}}) {
    mycelUniqueId id;
    ASSERT_EQ(mycelGetUniqueId(&id), mycelSuccess);
    std::vector<std::thread> threads;
    for (size_t i = 0; i < 2; ++i) {
      threads.emplace_back([&, i] {
        mycelComm_t comm = nullptr;
        EXPECT_EQ(mycelCommInitRank(&comm, pair.counts[i], id, pair.ranks[i]), mycelInvalidUsage);
        EXPECT_THAT(mycelGetLastError(nullptr), HasSubstr(pair.text));
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  mycelUniqueId id;
  ASSERT_EQ(mycelGetUniqueId(&id), mycelSuccess);
  mycelComm_t comm = nullptr;
  for (const int rank : {-1, 2}) {
    EXPECT_EQ(mycelCommInitRank(&comm, 2, id, rank), mycelInvalidArgument);
    EXPECT_THAT(mycelGetLastError(nullptr), HasSubstr("rank " + std::to_string(rank)));
  }
}

}  // namespace
}  // namespace mycel
