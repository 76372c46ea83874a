// Ends of communicators while other threads use them, and operations of one communicator on several streams.
#include <atomic>
#include <chrono>
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

std::vector<mycelComm_t> Create(int n) {
  std::vector<mycelComm_t> comms(static_cast<size_t>(n));
  EXPECT_EQ(mycelCommInitAll(comms.data(), n, nullptr), mycelSuccess) << mycelGetLastError(nullptr);
  return comms;
}

/// Until the rank is inside an operation that waits for a peer that never comes.
void LetItWait() { std::this_thread::sleep_for(std::chrono::milliseconds(20)); }

TEST(Abort, FreesARankThatWaitsInsideACall) {
  const auto comms = Create(2);
  std::thread waiting([&] {
    int value = 1;
    EXPECT_EQ(mycelAllReduce(&value, &value, 1, mycelInt32, mycelSum, comms[0], nullptr), mycelAborted);
    EXPECT_THAT(mycelGetLastError(nullptr), HasSubstr("was aborted"));
  });
  LetItWait();
  EXPECT_EQ(mycelCommAbort(comms[0]), mycelSuccess);
  waiting.join();
  EXPECT_EQ(mycelCommDestroy(comms[1]), mycelSuccess);
}

TEST(Abort, MeetsOtherAbortsAndDestroys) {
  for (int trial = 0; trial < 20; ++trial) {
    const auto comms = Create(2);
    std::atomic<int> ended = 0;
    std::thread waiting([&] {
      int value = 1;
      EXPECT_NE(mycelAllReduce(&value, &value, 1, mycelInt32, mycelSum, comms[0], nullptr), mycelSuccess);
    });
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&, i] {
        const mycelResult_t result = i % 2 == 0 ? mycelCommAbort(comms[0]) : mycelCommDestroy(comms[0]);
        EXPECT_THAT(result, AnyOf(Eq(mycelSuccess), Eq(mycelInvalidArgument)));
        ended += result == mycelSuccess ? 1 : 0;
      });
    }
    for (std::thread& thread : threads) thread.join();
    waiting.join();
    EXPECT_GE(ended, 1);
    EXPECT_EQ(mycelCommDestroy(comms[1]), mycelSuccess);
  }
}

TEST(Destroy, RacingWithCallsOfAnotherThreadRefusesThem) {
  for (int trial = 0; trial < 50; ++trial) {
    const auto comms = Create(1);
    std::atomic<bool> started = false;
    std::thread caller([&] {
      int value = 1;
      int count = 0;
      mycelResult_t result = mycelSuccess;
      while (result == mycelSuccess) {
        result = mycelAllReduce(&value, &value, 1, mycelInt32, mycelSum, comms[0], nullptr);
        if (result == mycelSuccess && mycelCommGetAsyncError(comms[0], &result) != mycelSuccess)
          result = mycelInvalidArgument;
        if (result == mycelSuccess) result = mycelCommCount(comms[0], &count);
        started = true;
      }
      EXPECT_EQ(result, mycelInvalidArgument);
    });
    while (!started) std::this_thread::yield();
    EXPECT_EQ(mycelCommDestroy(comms[0]), mycelSuccess);
    caller.join();
  }
}

TEST(Abort, DoesNotWaitForOtherCommunicatorsOnItsStream) {
  const auto stuck = Create(2);   // rank 1 never comes
  const auto behind = Create(1);  // queued behind it on the same stream
  mycelStream_t stream = nullptr;
  ASSERT_EQ(mycelStreamCreate(&stream), mycelSuccess);
  int a = 1;
  int b = 1;
  EXPECT_EQ(mycelAllReduce(&a, &a, 1, mycelInt32, mycelSum, stuck[0], stream), mycelSuccess);
  EXPECT_EQ(mycelAllReduce(&b, &b, 1, mycelInt32, mycelSum, behind[0], stream), mycelSuccess);
  LetItWait();
  EXPECT_EQ(mycelCommAbort(behind[0]), mycelSuccess);  // returns although its operation cannot run yet
  EXPECT_EQ(mycelCommAbort(stuck[0]), mycelSuccess);
  EXPECT_EQ(mycelStreamSynchronize(stream), mycelAborted);
  EXPECT_EQ(mycelStreamDestroy(stream), mycelSuccess);
  EXPECT_EQ(mycelCommDestroy(stuck[1]), mycelSuccess);
}

TEST(Abort, InAGroupLeavesTheOtherCommunicatorsAlone) {
  const auto stuck = Create(2);
  const auto fine = Create(2);
  std::vector<int> values = {1, 2, 3};
  std::thread group([&] {
    mycelGroupStart();
    mycelAllReduce(&values[0], &values[0], 1, mycelInt32, mycelSum, stuck[0], nullptr);
    mycelAllReduce(&values[1], &values[1], 1, mycelInt32, mycelSum, fine[0], nullptr);
    EXPECT_NE(mycelGroupEnd(), mycelSuccess);
  });
  LetItWait();
  EXPECT_EQ(mycelCommAbort(stuck[0]), mycelSuccess);  // while the part of `fine` still waits
  EXPECT_EQ(mycelAllReduce(&values[2], &values[2], 1, mycelInt32, mycelSum, fine[1], nullptr), mycelSuccess);
  group.join();
  EXPECT_EQ(values[1], 5);
  EXPECT_EQ(values[2], 5);
  EXPECT_EQ(mycelCommDestroy(stuck[1]), mycelSuccess);
  for (mycelComm_t comm : fine) EXPECT_EQ(mycelCommDestroy(comm), mycelSuccess);
}

TEST(Destroy, BetweenAGroupsCallAndItsEndIsAnError) {
  const auto comms = Create(1);
  int value = 1;
  mycelGroupStart();
  EXPECT_EQ(mycelAllReduce(&value, &value, 1, mycelInt32, mycelSum, comms[0], nullptr), mycelSuccess);
  EXPECT_EQ(mycelCommDestroy(comms[0]), mycelSuccess);
  const auto next = Create(1);  // must not inherit the call
  EXPECT_EQ(mycelGroupEnd(), mycelInvalidArgument);
  EXPECT_THAT(mycelGetLastError(nullptr), HasSubstr("destroyed"));
  EXPECT_EQ(mycelCommDestroy(next[0]), mycelSuccess);
}

/// Rank r queues operation i on stream (i + r) % 2: each stream alone would mix the order of the two ranks.
TEST(Streams, OperationsOfOneCommunicatorKeepTheOrderOfTheirCalls) {
  constexpr int kOperations = 200;
  const auto comms = Create(2);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 2; ++rank) {
    threads.emplace_back([&comms, rank] {
      mycelComm_t comm = comms[static_cast<size_t>(rank)];
      std::vector<mycelStream_t> streams(2);
      for (mycelStream_t& stream : streams) ASSERT_EQ(mycelStreamCreate(&stream), mycelSuccess);
      std::vector<int> values(kOperations);
      for (int i = 0; i < kOperations; ++i) {
        values[static_cast<size_t>(i)] = i + rank;
        EXPECT_EQ(mycelAllReduce(&values[static_cast<size_t>(i)], &values[static_cast<size_t>(i)], 1, mycelInt32,
                                 i % 3 == 0 ? mycelMax : mycelSum, comm, streams[static_cast<size_t>((i + rank) % 2)]),
                  mycelSuccess);
      }
      for (mycelStream_t stream : streams) {
        EXPECT_EQ(mycelStreamSynchronize(stream), mycelSuccess) << mycelGetLastError(nullptr);
        EXPECT_EQ(mycelStreamDestroy(stream), mycelSuccess);
      }
      for (int i = 0; i < kOperations; ++i) {
        EXPECT_EQ(values[static_cast<size_t>(i)], i % 3 == 0 ? i + 1 : 2 * i + 1);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (mycelComm_t comm : comms) EXPECT_EQ(mycelCommDestroy(comm), mycelSuccess);
}

}  // namespace
}  // namespace mycel
