// Communicators whose calls do not block, and the question what served the last call.
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

mycelConfig_t NonBlocking() {
  mycelConfig_t config = MYCEL_CONFIG_INITIALIZER;
  config.blocking = 0;
  return config;
}

TEST(NonBlocking, OneThreadDoesEverythingByPolling) {
  mycelConfig_t config = NonBlocking();
  mycelUniqueId id;
  ASSERT_EQ(mycelGetUniqueId(&id), mycelSuccess);
  std::vector<mycelComm_t> comms(3);
  for (int rank = 0; rank < 3; ++rank) {
    EXPECT_EQ(mycelCommInitRankConfig(&comms[static_cast<size_t>(rank)], 3, id, rank, &config), mycelInProgress);
  }
  for (mycelComm_t comm : comms) EXPECT_EQ(Settle(comm), mycelSuccess) << mycelGetLastError(comm);
  // Operations with a NULL stream are queued.
  std::vector<int> values = {1, 2, 4};
  for (size_t rank = 0; rank < 3; ++rank) {
    EXPECT_EQ(mycelAllReduce(&values[rank], &values[rank], 1, mycelInt32, mycelSum, comms[rank], nullptr),
              mycelInProgress);
  }
  for (mycelComm_t comm : comms) EXPECT_EQ(Settle(comm), mycelSuccess);
  EXPECT_EQ(values, (std::vector<int>{7, 7, 7}));
  // A group that ends before its operations do; messages in it.
  std::vector<int> in(3);
  mycelGroupStart();
  for (size_t rank = 0; rank < 3; ++rank) {
    EXPECT_EQ(mycelSend(&values[rank], 1, mycelInt32, static_cast<int>(rank + 1) % 3, comms[rank], nullptr),
              mycelSuccess);
    EXPECT_EQ(mycelRecv(&in[rank], 1, mycelInt32, static_cast<int>(rank + 2) % 3, comms[rank], nullptr), mycelSuccess);
  }
  EXPECT_EQ(mycelGroupEnd(), mycelInProgress);
  for (mycelComm_t comm : comms) EXPECT_EQ(Settle(comm), mycelSuccess);
  EXPECT_EQ(in, (std::vector<int>{7, 7, 7}));
  // Split: the parent is in progress, too; one rank joins nothing.
  std::vector<mycelComm_t> children(3, comms[0]);
  for (size_t rank = 0; rank < 3; ++rank) {
    EXPECT_EQ(mycelCommSplit(comms[rank], rank == 1 ? MYCEL_SPLIT_NOCOLOR : 3, 0, &children[rank], nullptr),
              mycelInProgress);
  }
  EXPECT_EQ(children[1], nullptr);
  for (mycelComm_t comm : comms) EXPECT_EQ(Settle(comm), mycelSuccess) << mycelGetLastError(comm);
  for (const size_t rank : {0, 2}) {
    EXPECT_EQ(Settle(children[rank]), mycelSuccess) << mycelGetLastError(children[rank]);
    EXPECT_EQ(CountOf(children[rank]), 2);
    EXPECT_EQ(mycelBarrier(children[rank], nullptr), mycelInProgress);
  }
  for (const size_t rank : {0, 2}) {
    EXPECT_THAT(mycelCommFinalize(children[rank]), AnyOf(Eq(mycelInProgress), Eq(mycelSuccess)));
    EXPECT_EQ(Settle(children[rank]), mycelSuccess);
    EXPECT_EQ(mycelCommDestroy(children[rank]), mycelSuccess);
  }
  // Shrink.
  const int excluded[] = {1};
  for (const size_t rank : {0, 2}) {
    EXPECT_EQ(mycelCommShrink(comms[rank], excluded, 1, &children[rank], nullptr, MYCEL_SHRINK_ABORT), mycelInProgress);
  }
  for (const size_t rank : {0, 2}) {
    EXPECT_EQ(Settle(children[rank]), mycelSuccess) << mycelGetLastError(children[rank]);
    EXPECT_EQ(CountOf(children[rank]), 2);
    EXPECT_EQ(mycelCommDestroy(children[rank]), mycelSuccess);
  }
  Destroy(comms);
}

TEST(NonBlocking, PlansOfExchangesAreThereWhenTheirCreationReturns) {
  mycelConfig_t config = NonBlocking();
  const auto comms = Create(2, &config);
  OnThreads(2, [&](size_t rank) {
    const size_t counts[] = {3, 3};
    const size_t places[] = {0, 3};
    mycelAllToAllvPlan_t plan = nullptr;
    ASSERT_EQ(mycelAllToAllvPlanCreate(&plan, counts, counts, mycelInt32, comms[rank]), mycelSuccess)
        << mycelGetLastError(nullptr);
    std::vector<int> send(6, static_cast<int>(rank));
    std::vector<int> recv(6, -1);
    EXPECT_EQ(mycelAllToAllvPlanRun(plan, mycelDispatch, send.data(), places, recv.data(), places, nullptr),
              mycelInProgress);
    EXPECT_EQ(Settle(comms[rank]), mycelSuccess);
    EXPECT_EQ(recv, (std::vector<int>{0, 0, 0, 1, 1, 1}));
    EXPECT_EQ(mycelAllToAllvPlanDestroy(plan), mycelSuccess);
  });
  Destroy(comms);
}

TEST(NonBlocking, ErrorsOfQueuedOperationsAreToldOnce) {
  mycelConfig_t config = NonBlocking();
  const auto comms = Create(1, &config);
  int value = 1;
  // A message to oneself without its other half leaves the communicator usable.
  EXPECT_EQ(mycelSend(&value, 1, mycelInt32, 0, comms[0], nullptr), mycelInProgress);
  EXPECT_EQ(Settle(comms[0]), mycelInvalidUsage);
  EXPECT_EQ(Settle(comms[0]), mycelSuccess);
  EXPECT_EQ(mycelAllReduce(&value, &value, 1, mycelInt32, mycelSum, comms[0], nullptr), mycelInProgress);
  EXPECT_EQ(Settle(comms[0]), mycelSuccess);
  Destroy(comms);
}

TEST(NonBlocking, ACommunicatorInTheMakingTakesNoOperations) {
  mycelConfig_t config = NonBlocking();
  mycelUniqueId id;
  ASSERT_EQ(mycelGetUniqueId(&id), mycelSuccess);
  mycelComm_t comm = nullptr;
  ASSERT_EQ(mycelCommInitRankConfig(&comm, 2, id, 0, &config), mycelInProgress);
  int value = 1;
  EXPECT_EQ(mycelAllReduce(&value, &value, 1, mycelInt32, mycelSum, comm, nullptr), mycelInvalidUsage);
  EXPECT_THAT(mycelGetLastError(nullptr), HasSubstr("still being created"));
  EXPECT_EQ(mycelCommCount(comm, &value), mycelInvalidUsage);
  mycelResult_t state = mycelSuccess;
  EXPECT_EQ(mycelCommGetAsyncError(comm, &state), mycelSuccess);
  EXPECT_EQ(state, mycelInProgress);
  // Nobody else comes: giving up is quick, and the handle is over.
  EXPECT_LT(SecondsOf([&] { EXPECT_EQ(mycelCommAbort(comm), mycelSuccess); }), 1);
  EXPECT_EQ(mycelCommAbort(comm), mycelInvalidArgument);
}

TEST(NonBlocking, AbortDuringCreationIsToldToTheOthers) {
  mycelConfig_t config = NonBlocking();
  mycelUniqueId id;
  ASSERT_EQ(mycelGetUniqueId(&id), mycelSuccess);
  mycelComm_t gone = nullptr;
  mycelComm_t waiting = nullptr;
  ASSERT_EQ(mycelCommInitRankConfig(&waiting, 3, id, 0, &config), mycelInProgress);
  ASSERT_EQ(mycelCommInitRankConfig(&gone, 3, id, 1, &config), mycelInProgress);
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_EQ(mycelCommDestroy(gone), mycelSuccess);
  EXPECT_EQ(Settle(waiting), mycelRemoteError);
  EXPECT_THAT(mycelGetLastError(waiting), HasSubstr("rank 1"));
  EXPECT_EQ(mycelCommDestroy(waiting), mycelSuccess);
}

TEST(QueryLast, TellsWhatServedTheCall) {
  const auto comms = Create(3);
  mycelCallInfo infos[3];
  OnThreads(3, [&](size_t rank) {
    mycelCallInfo& info = infos[rank];
    info.size = 4;
    EXPECT_EQ(mycelCommQueryLast(comms[rank], &info), mycelInvalidArgument);
    info.size = sizeof(info);
    EXPECT_EQ(mycelCommQueryLast(comms[rank], &info), mycelInvalidUsage);
    std::vector<float> data(1 << 18, 1);
    EXPECT_EQ(mycelAllReduce(data.data(), data.data(), data.size(), mycelFloat, mycelSum, comms[rank], nullptr),
              mycelSuccess);
    ASSERT_EQ(mycelCommQueryLast(comms[rank], &info), mycelSuccess) << mycelGetLastError(nullptr);
    char line[400];
    ASSERT_EQ(mycelCommExplain(comms[rank], "allreduce", data.size(), mycelFloat, line, sizeof(line)), mycelSuccess);
    EXPECT_THAT(line, HasSubstr(std::string("planner ") + info.planner + ", protocol " + info.protocol));
    EXPECT_STREQ(info.transport, "loopback");
    EXPECT_STREQ(info.call, "allreduce(count 262144, float, sum)");
    EXPECT_EQ(info.operation, 1U);
    EXPECT_GE(info.slices, 1);
    EXPECT_EQ(info.lanes, 1);
    int value = 0;
    mycelCallInfo message;
    message.size = sizeof(message);
    if (rank == 2) return;
    EXPECT_EQ(rank == 0 ? mycelSend(&value, 1, mycelInt32, 1, comms[rank], nullptr)
                        : mycelRecv(&value, 1, mycelInt32, 0, comms[rank], nullptr),
              mycelSuccess);
    ASSERT_EQ(mycelCommQueryLast(comms[rank], &message), mycelSuccess);
    EXPECT_STREQ(message.planner, "none");
    EXPECT_EQ(message.plan_hash, 0U);
  });
  EXPECT_NE(infos[0].plan_hash, 0U);
  EXPECT_EQ(infos[0].plan_hash, infos[1].plan_hash);
  EXPECT_EQ(infos[0].plan_hash, infos[2].plan_hash);
  Destroy(comms);
}

}  // namespace
}  // namespace mycel
