// The C API beyond collectives: messages, groups, streams, life cycle, and an error for every wrong argument.
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bindings/c/mycel.h"
#include "core/base/rng.h"

namespace mycel {
namespace {

using ::testing::HasSubstr;

std::vector<mycelComm_t> Create(int n) {
  std::vector<mycelComm_t> comms(static_cast<size_t>(n));
  EXPECT_EQ(mycelCommInitAll(comms.data(), n, nullptr), mycelSuccess) << mycelGetLastError(nullptr);
  return comms;
}

void Destroy(const std::vector<mycelComm_t>& comms) {
  for (mycelComm_t comm : comms) EXPECT_EQ(mycelCommDestroy(comm), mycelSuccess);
}

template <typename Body>
void OnThreads(const std::vector<mycelComm_t>& comms, const Body& body) {
  std::vector<std::thread> threads;
  for (size_t rank = 0; rank < comms.size(); ++rank) {
    threads.emplace_back([&body, &comms, rank] { body(static_cast<int>(rank), comms[rank]); });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(Messages, ExchangeInAGroupOfSeveralToTheSamePeerInOrder) {
  const auto comms = Create(3);
  OnThreads(comms, [](int rank, mycelComm_t comm) {
    for (size_t count : {0, 1, 11, 5000, 300000}) {
      std::vector<std::vector<int>> in(6, std::vector<int>(count, -1));
      std::vector<std::vector<int>> out(6);
      mycelGroupStart();
      for (int peer = 0; peer < 3; ++peer) {
        for (int message = 0; message < 2; ++message) {
          const auto slot = static_cast<size_t>(peer * 2 + message);
          out[slot].assign(count, rank * 100 + peer * 10 + message);
          EXPECT_EQ(mycelSend(out[slot].data(), count, mycelInt32, peer, comm, nullptr), mycelSuccess);
          EXPECT_EQ(mycelRecv(in[slot].data(), count, mycelInt32, peer, comm, nullptr), mycelSuccess);
        }
      }
      EXPECT_EQ(mycelGroupEnd(), mycelSuccess) << mycelGetLastError(comm);
      for (int peer = 0; peer < 3; ++peer) {
        for (int message = 0; message < 2; ++message) {
          const auto slot = static_cast<size_t>(peer * 2 + message);
          EXPECT_EQ(in[slot], std::vector<int>(count, peer * 100 + rank * 10 + message)) << "from " << peer;
        }
      }
    }
  });
  Destroy(comms);
}

TEST(Messages, WithoutAGroupASendNeedsNoReceiveForSmallData) {
  const auto comms = Create(2);
  OnThreads(comms, [](int rank, mycelComm_t comm) {
    for (int i = 0; i < 1000; ++i) {
      int value = i;
      if (rank == 0) {
        EXPECT_EQ(mycelSend(&value, 1, mycelInt32, 1, comm, nullptr), mycelSuccess);
      } else {
        value = -1;
        EXPECT_EQ(mycelRecv(&value, 1, mycelInt32, 0, comm, nullptr), mycelSuccess);
        EXPECT_EQ(value, i);
      }
    }
  });
  Destroy(comms);
}

TEST(Messages, ToOneselfNeedBothHalvesInOneGroup) {
  const auto comms = Create(1);
  int a = 5;
  int b = 0;
  EXPECT_EQ(mycelSend(&a, 1, mycelInt32, 0, comms[0], nullptr), mycelInvalidUsage);
  EXPECT_THAT(mycelGetLastError(nullptr), HasSubstr("put both halves in one group"));
  mycelGroupStart();
  mycelRecv(&b, 1, mycelInt32, 0, comms[0], nullptr);
  EXPECT_EQ(mycelGroupEnd(), mycelInvalidUsage);
  mycelGroupStart();
  mycelRecv(&b, 1, mycelInt32, 0, comms[0], nullptr);
  mycelSend(&a, 1, mycelInt32, 0, comms[0], nullptr);
  EXPECT_EQ(mycelGroupEnd(), mycelSuccess) << mycelGetLastError(comms[0]);
  EXPECT_EQ(b, 5);
  Destroy(comms);
}

TEST(AllToAllV, RandomCountsWithEmptyLegsAndSilentRanks) {
  constexpr int kRanks = 4;
  const auto comms = Create(kRanks);
  const uint64_t seed = 31;
  SCOPED_TRACE("seed " + std::to_string(seed));
  for (int round = 0; round < 60; ++round) {
    size_t counts[kRanks][kRanks];
    Rng rng(seed + static_cast<uint64_t>(round));
    const uint64_t silent = rng.Below(kRanks);
    for (auto& row : counts) {
      for (size_t& count : row) count = rng.OneIn(2) ? 0 : rng.Below(round % 5 == 0 ? 30000 : 60);
    }
    for (int peer = 0; peer < kRanks; ++peer) counts[silent][peer] = counts[peer][silent] = 0;
    OnThreads(comms, [&counts](int rank, mycelComm_t comm) {
      std::vector<size_t> send_counts(kRanks), send_at(kRanks), recv_counts(kRanks), recv_at(kRanks);
      size_t out = 0;
      size_t in = 0;
      for (int k = 0; k < kRanks; ++k) {
        // Displacements in descending rank order, with gaps.
        const auto peer = static_cast<size_t>(kRanks - 1 - k);
        send_counts[peer] = counts[rank][peer];
        recv_counts[peer] = counts[peer][rank];
        send_at[peer] = out;
        recv_at[peer] = in;
        out += send_counts[peer] + 3;
        in += recv_counts[peer] + 3;
      }
      std::vector<int64_t> send(out, -5);
      std::vector<int64_t> recv(in, -7);
      for (size_t peer = 0; peer < kRanks; ++peer) {
        for (size_t i = 0; i < send_counts[peer]; ++i) {
          send[send_at[peer] + i] =
              static_cast<int64_t>(rank * 1000000 + static_cast<int>(peer) * 100000 + static_cast<int>(i));
        }
      }
      EXPECT_EQ(mycelAllToAllv(send.data(), send_counts.data(), send_at.data(), recv.data(), recv_counts.data(),
                               recv_at.data(), mycelInt64, comm, nullptr),
                mycelSuccess)
          << mycelGetLastError(comm);
      for (size_t peer = 0; peer < kRanks; ++peer) {
        for (size_t i = 0; i < recv_counts[peer]; ++i) {
          ASSERT_EQ(recv[recv_at[peer] + i],
                    static_cast<int64_t>(static_cast<int>(peer) * 1000000 + rank * 100000 + static_cast<int>(i)));
        }
        for (size_t gap = 0; gap < 3; ++gap) ASSERT_EQ(recv[recv_at[peer] + recv_counts[peer] + gap], -7);
      }
    });
  }
  Destroy(comms);
}

TEST(Groups, OneThreadDrivesAllRanks) {
  const auto comms = Create(4);
  std::vector<std::vector<float>> send(4, std::vector<float>(100003, 1.5F));
  std::vector<std::vector<float>> sum(4, std::vector<float>(100003));
  std::vector<std::vector<float>> gathered(4, std::vector<float>(40));
  for (int round = 0; round < 3; ++round) {
    mycelGroupStart();
    for (size_t rank = 0; rank < 4; ++rank) {
      EXPECT_EQ(mycelAllReduce(send[rank].data(), sum[rank].data(), 100003, mycelFloat, mycelSum, comms[rank], nullptr),
                mycelSuccess);
      EXPECT_EQ(mycelAllGather(send[rank].data(), gathered[rank].data(), 10, mycelFloat, comms[rank], nullptr),
                mycelSuccess);
    }
    EXPECT_EQ(mycelGroupEnd(), mycelSuccess);
    for (size_t rank = 0; rank < 4; ++rank) {
      EXPECT_EQ(sum[rank], std::vector<float>(100003, 6.0F));
      EXPECT_EQ(gathered[rank], std::vector<float>(40, 1.5F));
    }
  }
  Destroy(comms);
}

TEST(Groups, OneThreadCreatesSeveralRanks) {
  mycelUniqueId id;
  ASSERT_EQ(mycelGetUniqueId(&id), mycelSuccess) << mycelGetLastError(nullptr);
  std::vector<mycelComm_t> comms(3);
  mycelGroupStart();
  for (int rank = 0; rank < 3; ++rank) {
    EXPECT_EQ(mycelCommInitRank(&comms[static_cast<size_t>(rank)], 3, id, rank), mycelSuccess);
  }
  ASSERT_EQ(mycelGroupEnd(), mycelSuccess) << mycelGetLastError(nullptr);
  OnThreads(comms, [](int rank, mycelComm_t comm) {
    int sum = rank;
    int count = 0;
    int user_rank = -1;
    EXPECT_EQ(mycelAllReduce(&sum, &sum, 1, mycelInt32, mycelSum, comm, nullptr), mycelSuccess);
    EXPECT_EQ(sum, 3);
    EXPECT_EQ(mycelCommCount(comm, &count), mycelSuccess);
    EXPECT_EQ(mycelCommUserRank(comm, &user_rank), mycelSuccess);
    EXPECT_EQ(count, 3);
    EXPECT_EQ(user_rank, rank);
  });
  Destroy(comms);
}

TEST(Groups, AnErrorInsideRunsNothingAndIsReportedAtTheEnd) {
  const auto comms = Create(1);
  float value = 1;
  mycelGroupStart();
  EXPECT_EQ(mycelAllReduce(&value, nullptr, 1, mycelFloat, mycelSum, comms[0], nullptr), mycelInvalidArgument);
  EXPECT_EQ(mycelGroupEnd(), mycelInvalidArgument);
  EXPECT_EQ(mycelGroupEnd(), mycelInvalidUsage);
  EXPECT_EQ(mycelAllReduce(&value, &value, 1, mycelFloat, mycelSum, comms[0], nullptr), mycelSuccess);
  Destroy(comms);
}

TEST(Streams, RunInOrderAndReportAtSynchronize) {
  const auto comms = Create(2);
  OnThreads(comms, [](int rank, mycelComm_t comm) {
    mycelStream_t stream = nullptr;
    ASSERT_EQ(mycelStreamCreate(&stream), mycelSuccess);
    std::vector<int64_t> data(5000, rank + 1);
    for (int i = 0; i < 10; ++i) {
      EXPECT_EQ(mycelAllReduce(data.data(), data.data(), data.size(), mycelInt64, mycelSum, comm, stream),
                mycelSuccess);
    }
    EXPECT_EQ(mycelStreamSynchronize(stream), mycelSuccess) << mycelGetLastError(comm);
    EXPECT_EQ(data, std::vector<int64_t>(5000, 3 << 9));
    // A NULL-stream call comes after what is queued.
    EXPECT_EQ(mycelAllReduce(data.data(), data.data(), data.size(), mycelInt64, mycelSum, comm, stream), mycelSuccess);
    EXPECT_EQ(mycelAllReduce(data.data(), data.data(), data.size(), mycelInt64, mycelSum, comm, nullptr), mycelSuccess);
    EXPECT_EQ(data, std::vector<int64_t>(5000, 3 << 11));
    mycelResult_t state = mycelInternalError;
    EXPECT_EQ(mycelCommGetAsyncError(comm, &state), mycelSuccess);
    EXPECT_EQ(state, mycelSuccess);
    EXPECT_EQ(mycelStreamDestroy(stream), mycelSuccess);
    EXPECT_EQ(mycelStreamDestroy(stream), mycelInvalidArgument);
    EXPECT_EQ(mycelAllReduce(data.data(), data.data(), 1, mycelInt64, mycelSum, comm, stream), mycelInvalidArgument);
  });
  Destroy(comms);
}

/// A wrong call and what its text must say.
struct Wrong {
  const char* name;
  mycelResult_t (*call)(mycelComm_t comm, float* data);
  const char* says;
};

class WrongArguments : public ::testing::TestWithParam<Wrong> {};

TEST_P(WrongArguments, AreNamed) {
  const auto comms = Create(1);
  std::vector<float> data(64);
  EXPECT_EQ(GetParam().call(comms[0], data.data()), mycelInvalidArgument);
  EXPECT_THAT(mycelGetLastError(nullptr), HasSubstr(GetParam().says));
  float value = 2;
  EXPECT_EQ(mycelAllReduce(&value, &value, 1, mycelFloat, mycelSum, comms[0], nullptr), mycelSuccess)
      << "a refused call leaves the communicator usable";
  Destroy(comms);
}

const auto kBadType = static_cast<mycelDataType_t>(77);
const auto kBadOp = static_cast<mycelRedOp_t>(-1);

#define MYCEL_CALL(expression) [](mycelComm_t c, float* d) -> mycelResult_t { return (void)c, (void)d, expression; }
INSTANTIATE_TEST_SUITE_P(
    All, WrongArguments,
    ::testing::Values(
        Wrong{"null_comm", MYCEL_CALL(mycelAllReduce(d, d, 1, mycelFloat, mycelSum, nullptr, nullptr)),
              "communicator is NULL"},
        Wrong{"null_send", MYCEL_CALL(mycelAllReduce(nullptr, d, 1, mycelFloat, mycelSum, c, nullptr)),
              "sendbuff is NULL"},
        Wrong{"null_recv", MYCEL_CALL(mycelAllGather(d, nullptr, 1, mycelFloat, c, nullptr)), "recvbuff is NULL"},
        Wrong{"type", MYCEL_CALL(mycelAllReduce(d, d, 1, kBadType, mycelSum, c, nullptr)), "datatype 77"},
        Wrong{"op", MYCEL_CALL(mycelAllReduce(d, d, 1, mycelFloat, kBadOp, c, nullptr)), "op -1"},
        Wrong{"root", MYCEL_CALL(mycelBroadcast(d, d, 1, mycelFloat, 1, c, nullptr)), "root 1 is not a rank of 0..0"},
        Wrong{"negative_root", MYCEL_CALL(mycelReduce(d, d, 1, mycelFloat, mycelSum, -1, c, nullptr)), "root -1"},
        Wrong{"peer", MYCEL_CALL(mycelSend(d, 1, mycelFloat, 5, c, nullptr)), "peer 5"},
        Wrong{"overlap", MYCEL_CALL(mycelAllReduce(d, d + 1, 8, mycelFloat, mycelSum, c, nullptr)), "overlap"},
        Wrong{"huge", MYCEL_CALL(mycelAllReduce(d, d, ~size_t{0} / 2, mycelFloat, mycelSum, c, nullptr)), "2^62"},
        Wrong{"stream", MYCEL_CALL(mycelAllReduce(d, d, 1, mycelFloat, mycelSum, c, d)), "stream"},
        Wrong{"null_counts",
              MYCEL_CALL(mycelAllToAllv(d, nullptr, nullptr, d, nullptr, nullptr, mycelFloat, c, nullptr)),
              "must not be NULL"},
        Wrong{"null_version", MYCEL_CALL(mycelGetVersion(nullptr)), "version is NULL"},
        Wrong{"null_id", MYCEL_CALL(mycelGetUniqueId(nullptr)), "id is NULL"},
        Wrong{"null_comms", MYCEL_CALL(mycelCommInitAll(nullptr, 2, nullptr)), "comms is NULL"},
        Wrong{"no_ranks", MYCEL_CALL(mycelCommInitAll(&c, 0, nullptr)), "rank count 0"},
        Wrong{"stats_size", MYCEL_CALL(mycelCommGetStats(c, nullptr)), "stats"},
        Wrong{"explain", MYCEL_CALL(mycelCommExplain(c, "allreduce", 1, mycelFloat, nullptr, 0)), "text is NULL"}),
    [](const ::testing::TestParamInfo<Wrong>& test) { return test.param.name; });
#undef MYCEL_CALL

TEST(InPlace, NearMissesOfTheOffsetRuleAreRefused) {
  const auto comms = Create(3);
  OnThreads(comms, [](int rank, mycelComm_t comm) {
    std::vector<float> data(300, 1);
    float* wrong = data.data() + (rank == 0 ? 100 : 0);  // in place would be data + rank * 100
    EXPECT_EQ(mycelAllGather(wrong, data.data(), 100, mycelFloat, comm, nullptr), mycelInvalidArgument);
    EXPECT_THAT(mycelGetLastError(nullptr), HasSubstr("in-place rule"));
    EXPECT_EQ(mycelAllGather(data.data() + rank * 100, data.data(), 100, mycelFloat, comm, nullptr), mycelSuccess);
  });
  Destroy(comms);
}

TEST(LifeCycle, HandlesAreCheckedAfterDestroy) {
  const auto comms = Create(1);
  EXPECT_EQ(mycelCommDestroy(comms[0]), mycelSuccess);
  float value = 0;
  EXPECT_EQ(mycelAllReduce(&value, &value, 1, mycelFloat, mycelSum, comms[0], nullptr), mycelInvalidArgument);
  EXPECT_THAT(mycelGetLastError(nullptr), HasSubstr("destroyed"));
  EXPECT_EQ(mycelCommDestroy(comms[0]), mycelInvalidArgument);
  EXPECT_EQ(mycelCommAbort(comms[0]), mycelInvalidArgument);
  EXPECT_EQ(mycelCommDestroy(nullptr), mycelSuccess);
}

TEST(LifeCycle, OneRankHoldsNoPayload) {
  const auto comms = Create(1);
  std::vector<float> data(1000, 3);
  EXPECT_EQ(mycelAllReduce(data.data(), data.data(), 1000, mycelFloat, mycelAvg, comms[0], nullptr), mycelSuccess);
  EXPECT_EQ(data, std::vector<float>(1000, 3));
  mycelCommStats stats;
  stats.size = sizeof(stats);
  EXPECT_EQ(mycelCommGetStats(comms[0], &stats), mycelSuccess);
  EXPECT_EQ(stats.payload_bytes, 0U);
  EXPECT_EQ(stats.operations, 1U);
  EXPECT_EQ(stats.messages, 0U);
  Destroy(comms);
}

TEST(LifeCycle, EqualSizesPlanOnce) {
  const auto comms = Create(2);
  OnThreads(comms, [](int, mycelComm_t comm) {
    std::vector<float> data(1000);
    for (size_t count : {520, 800, 1000, 520}) {  // one power-of-two bucket of bytes
      EXPECT_EQ(mycelAllReduce(data.data(), data.data(), count, mycelFloat, mycelSum, comm, nullptr), mycelSuccess);
    }
    mycelCommStats stats;
    stats.size = sizeof(stats);
    EXPECT_EQ(mycelCommGetStats(comm, &stats), mycelSuccess);
    EXPECT_EQ(stats.plans_made, 1U);
    char text[300];
    EXPECT_EQ(mycelCommExplain(comm, "allreduce", 520, mycelFloat, text, sizeof(text)), mycelSuccess);
    EXPECT_THAT(text, HasSubstr("planner "));
  });
  Destroy(comms);
}

TEST(LifeCycle, CreateAndDestroyManyTimes) {
  for (int round = 0; round < 50; ++round) {
    const auto comms = Create(3);
    OnThreads(comms, [](int, mycelComm_t comm) {
      float value = 1;
      EXPECT_EQ(mycelAllReduce(&value, &value, 1, mycelFloat, mycelSum, comm, nullptr), mycelSuccess);
      EXPECT_EQ(value, 3);
    });
    Destroy(comms);
  }
}

}  // namespace
}  // namespace mycel
