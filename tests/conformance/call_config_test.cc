// What single calls ask for: mycelCallConfigStart and End.
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bindings/c/mycel.h"
#include "tests/conformance/comms.h"

namespace mycel {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

mycelCallConfig_t With(const char* planner, int lanes = MYCEL_CONFIG_UNDEF_INT) {
  mycelCallConfig_t config = MYCEL_CALL_CONFIG_INITIALIZER;
  config.planner = planner;
  config.minLanes = config.maxLanes = lanes;
  return config;
}

/// Open while it lives.
class Configured {
 public:
  explicit Configured(const mycelCallConfig_t& config) {
    EXPECT_EQ(mycelCallConfigStart(&config), mycelSuccess) << mycelGetLastError(nullptr);
  }
  ~Configured() { EXPECT_EQ(mycelCallConfigEnd(), mycelSuccess); }
  Configured(const Configured&) = delete;
  Configured& operator=(const Configured&) = delete;
};

mycelResult_t AllReduce(mycelComm_t comm, size_t count = 4096, mycelStream_t stream = nullptr) {
  std::vector<float> data(count, 1);
  const mycelResult_t result = mycelAllReduce(data.data(), data.data(), count, mycelFloat, mycelSum, comm, stream);
  if (result == mycelSuccess && stream == nullptr) {
    EXPECT_EQ(data, std::vector<float>(count, static_cast<float>(CountOf(comm))));
  }
  return result;
}

mycelCallInfo LastOf(mycelComm_t comm) {
  mycelCallInfo info;
  info.size = sizeof(info);
  EXPECT_EQ(mycelCommQueryLast(comm, &info), mycelSuccess) << mycelGetLastError(nullptr);
  return info;
}

TEST(CallConfig, EachBadFieldIsRefusedByNameAndNothingBegins) {
  const struct {
    const char* field;
    void (*spoil)(mycelCallConfig_t*);
  } kBad[] = {
      {"config.size", [](mycelCallConfig_t* c) { c->size = 8; }},
      {"config.size", [](mycelCallConfig_t* c) { c->size = sizeof(*c) + 8; }},
      {"config.magic", [](mycelCallConfig_t* c) { c->magic = MYCEL_CONFIG_MAGIC; }},
      {"config.version", [](mycelCallConfig_t* c) { c->version = 999999; }},
      {"config.minLanes", [](mycelCallConfig_t* c) { c->minLanes = 0; }},
      {"config.maxLanes", [](mycelCallConfig_t* c) { c->maxLanes = 33; }},
      {"config.minLanes", [](mycelCallConfig_t* c) { c->minLanes = 3, c->maxLanes = 2; }},
      {"config.reproducible", [](mycelCallConfig_t* c) { c->reproducible = 2; }},
      {"config.planner", [](mycelCallConfig_t* c) { c->planner = ""; }},
      {"config.planner", [](mycelCallConfig_t* c) { c->planner = "rinq"; }},
      {"config.timeout", [](mycelCallConfig_t* c) { c->timeout = 0; }},
  };
  for (const auto& bad : kBad) {
    mycelCallConfig_t config = MYCEL_CALL_CONFIG_INITIALIZER;
    bad.spoil(&config);
    EXPECT_EQ(mycelCallConfigStart(&config), mycelInvalidArgument) << bad.field;
    EXPECT_THAT(mycelGetLastError(nullptr), HasSubstr(bad.field));
    EXPECT_EQ(mycelCallConfigEnd(), mycelInvalidUsage);
  }
  EXPECT_EQ(mycelCallConfigStart(nullptr), mycelInvalidArgument);
}

TEST(CallConfig, PlannerAndLanesCountForTheCallsInsideAndNoOthers) {
  mycelConfig_t wide = MYCEL_CONFIG_INITIALIZER;
  wide.planner = "direct";
  wide.maxLanes = 4;
  wide.minLanes = 1;
  const auto comms = Create(3, &wide);
  OnThreads(3, [&](size_t rank) {
    mycelComm_t comm = comms[rank];
    ASSERT_EQ(AllReduce(comm), mycelSuccess);
    EXPECT_THAT(LastOf(comm).planner, StartsWith("direct"));
    const uint64_t before = LastOf(comm).plan_hash;
    {
      const Configured ring(With("ring", 2));
      ASSERT_EQ(AllReduce(comm), mycelSuccess);
      EXPECT_THAT(LastOf(comm).planner, StartsWith("ring"));
      EXPECT_THAT(LastOf(comm).call, HasSubstr("{planner=ring, minLanes=2, maxLanes=2}"));
      EXPECT_EQ(LastOf(comm).lanes, 2);
      {
        // What the inner one leaves unset comes from the outer one.
        const Configured four(With(nullptr, 4));
        ASSERT_EQ(AllReduce(comm), mycelSuccess);
        EXPECT_THAT(LastOf(comm).planner, StartsWith("ring"));
        EXPECT_EQ(LastOf(comm).lanes, 4);
      }
      EXPECT_EQ(AllReduce(comm), mycelSuccess);
      EXPECT_EQ(LastOf(comm).lanes, 2);
    }
    ASSERT_EQ(AllReduce(comm), mycelSuccess);
    EXPECT_EQ(LastOf(comm).plan_hash, before);
    EXPECT_THAT(LastOf(comm).call, Not(HasSubstr("{")));
    // Each plan was made once.
    mycelCommStats stats;
    stats.size = sizeof(stats);
    ASSERT_EQ(mycelCommGetStats(comm, &stats), mycelSuccess);
    EXPECT_EQ(stats.plans_made, 3U);
  });
  Destroy(comms);
}

TEST(CallConfig, ReproducibleForOneCall) {
  const auto comms = Create(3);
  OnThreads(3, [&](size_t rank) {
    // 1 + 2^24 + 1: in rank order both ones are lost, and no other order gives the same.
    const float values[3] = {16777216.0F, 1.0F, 1.0F};
    std::vector<float> data(5000, values[rank]);
    mycelCallConfig_t config = MYCEL_CALL_CONFIG_INITIALIZER;
    config.reproducible = 1;
    const Configured reproducible(config);
    ASSERT_EQ(mycelAllReduce(data.data(), data.data(), data.size(), mycelFloat, mycelSum, comms[rank], nullptr),
              mycelSuccess);
    EXPECT_EQ(data, std::vector<float>(5000, 16777216.0F));
    EXPECT_THAT(LastOf(comms[rank]).call, HasSubstr("{reproducible=1}"));
  });
  Destroy(comms);
}

TEST(CallConfig, GroupsStreamsAndQueuesKeepWhatTheCallHad) {
  mycelConfig_t queued = MYCEL_CONFIG_INITIALIZER;
  queued.blocking = 0;
  for (const bool blocking : {true, false}) {
    const auto comms = Create(2, blocking ? nullptr : &queued);
    OnThreads(2, [&](size_t rank) {
      mycelComm_t comm = comms[rank];
      float a = 1, b = 1;
      ASSERT_EQ(mycelGroupStart(), mycelSuccess);
      {
        const Configured ring(With("ring"));
        ASSERT_EQ(mycelAllReduce(&a, &a, 1, mycelFloat, mycelSum, comm, nullptr), mycelSuccess);
      }
      ASSERT_EQ(mycelGroupEnd(), blocking ? mycelSuccess : mycelInProgress) << mycelGetLastError(nullptr);
      if (!blocking) {
        ASSERT_EQ(Settle(comm), mycelSuccess);
      }
      EXPECT_EQ(a, 2);
      EXPECT_THAT(LastOf(comm).planner, StartsWith("ring"));
      mycelStream_t stream = nullptr;
      ASSERT_EQ(mycelStreamCreate(&stream), mycelSuccess);
      {
        const Configured direct(With("direct"));
        ASSERT_EQ(mycelAllReduce(&b, &b, 1, mycelFloat, mycelSum, comm, blocking ? stream : nullptr),
                  blocking ? mycelSuccess : mycelInProgress);
      }
      ASSERT_EQ(mycelStreamSynchronize(stream), mycelSuccess);
      if (!blocking) {
        ASSERT_EQ(Settle(comm), mycelSuccess);
      }
      EXPECT_EQ(b, 2);
      EXPECT_THAT(LastOf(comm).planner, StartsWith("direct"));
      EXPECT_EQ(mycelStreamDestroy(stream), mycelSuccess);
    });
    Destroy(comms);
  }
}

// Also when both sides' plans have run before, so that nobody asks about them any more.
TEST(CallConfig, RanksThatAskForUnlikePlansAreToldBothSides) {
  for (const bool known : {false, true}) {
    mycelConfig_t wide = MYCEL_CONFIG_INITIALIZER;
    wide.maxLanes = 2;
    wide.minLanes = 1;
    const auto comms = Create(3, &wide);
    OnThreads(3, [&](size_t rank) {
      if (known) {
        for (const char* planner : {"ring", "direct"}) {
          const Configured each(With(planner, 2));
          ASSERT_EQ(AllReduce(comms[rank]), mycelSuccess);
        }
      }
      const Configured unlike(With(rank == 1 ? "direct" : "ring", 2));
      mycelResult_t result = AllReduce(comms[rank]);
      if (result == mycelSuccess) result = mycelBarrier(comms[rank], nullptr);
      EXPECT_EQ(result, mycelInvalidUsage);
      const std::string text = mycelGetLastError(comms[rank]);
      EXPECT_THAT(text, HasSubstr("sum) {planner=ring, minLanes=2, maxLanes=2}"));
      EXPECT_THAT(text, HasSubstr("sum) {planner=direct, minLanes=2, maxLanes=2}"));
    });
    Destroy(comms);
  }
}

TEST(CallConfig, MoreLanesThanTheCommunicatorHasAreRefusedOnAllRanks) {
  const auto comms = Create(3);
  OnThreads(3, [&](size_t rank) {
    {
      const Configured wide(With(nullptr, 4));
      EXPECT_EQ(AllReduce(comms[rank]), mycelInvalidArgument);
      EXPECT_THAT(mycelGetLastError(nullptr), HasSubstr("more lanes than the 1 of the communicator"));
    }
    EXPECT_EQ(AllReduce(comms[rank]), mycelSuccess) << mycelGetLastError(comms[rank]);
  });
  Destroy(comms);
}

// A planner that cannot serve the call's collective refuses it on all ranks; the group's other calls run.
TEST(CallConfig, ARefusedCallOfAGroupLeavesTheOthers) {
  mycelConfig_t cube = MYCEL_CONFIG_INITIALIZER;
  cube.topology = "ring4";
  const auto comms = Create(4, &cube);
  OnThreads(4, [&](size_t rank) {
    float before = 1, refused = 1, after = 1;
    mycelComm_t comm = comms[rank];
    ASSERT_EQ(mycelGroupStart(), mycelSuccess);
    ASSERT_EQ(mycelAllReduce(&before, &before, 1, mycelFloat, mycelSum, comm, nullptr), mycelSuccess);
    {
      const Configured direct(With("direct"));
      ASSERT_EQ(mycelAllReduce(&refused, &refused, 1, mycelFloat, mycelSum, comm, nullptr), mycelSuccess);
    }
    ASSERT_EQ(mycelAllReduce(&after, &after, 1, mycelFloat, mycelSum, comm, nullptr), mycelSuccess);
    EXPECT_EQ(mycelGroupEnd(), mycelInvalidUsage);
    EXPECT_THAT(mycelGetLastError(nullptr), HasSubstr("operation 2 allreduce(count 1, float, sum) {planner=direct}"));
    EXPECT_EQ(before, 4);
    EXPECT_EQ(refused, 1);
    EXPECT_EQ(after, 4);
  });
  Destroy(comms);
}

TEST(CallConfig, TheTimeoutIsTheCallsOwn) {
  const auto comms = Create(2);
  mycelCallConfig_t config = MYCEL_CALL_CONFIG_INITIALIZER;
  config.timeout = 0.2;
  const Configured hasty(config);
  float value = 1;
  const double seconds = SecondsOf(
      [&] { EXPECT_EQ(mycelAllReduce(&value, &value, 1, mycelFloat, mycelSum, comms[0], nullptr), mycelTimeout); });
  EXPECT_GE(seconds, 0.2);
  EXPECT_LT(seconds, 20);
  EXPECT_THAT(mycelGetLastError(comms[0]), HasSubstr("the call's config sets the limit"));
  EXPECT_EQ(mycelRecv(&value, 1, mycelFloat, 0, comms[1], nullptr), mycelRemoteError);
  Destroy(comms);
  const auto others = Create(2);
  EXPECT_EQ(mycelRecv(&value, 1, mycelFloat, 0, others[1], nullptr), mycelTimeout);
  Destroy(others);
}

// With a planner an exchange runs by plan, also on a communicator that would send messages.
TEST(CallConfig, AnExchangeByPlanner) {
  const auto comms = Create(3);
  OnThreads(3, [&](size_t rank) {
    const std::vector<size_t> counts(3, 5), at = {0, 5, 10};
    for (const char* planner : {"", "direct", ""}) {
      std::vector<int32_t> send(15, static_cast<int32_t>(rank)), recv(15, -1);
      const auto exchange = [&] {
        return mycelAllToAllv(send.data(), counts.data(), at.data(), recv.data(), counts.data(), at.data(), mycelInt32,
                              comms[rank], nullptr);
      };
      if (*planner == 0) {
        EXPECT_EQ(exchange(), mycelSuccess) << mycelGetLastError(nullptr);
        EXPECT_STREQ(LastOf(comms[rank]).planner, "none");
      } else {
        const Configured by(With(planner));
        EXPECT_EQ(exchange(), mycelSuccess) << mycelGetLastError(nullptr);
        EXPECT_THAT(LastOf(comms[rank]).planner, StartsWith(planner));
      }
      for (size_t i = 0; i < 15; ++i) EXPECT_EQ(recv[i], static_cast<int32_t>(i / 5));
    }
  });
  Destroy(comms);
}

}  // namespace
}  // namespace mycel
