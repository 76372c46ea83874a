// H: several communicators at once, one communicator from several threads, waiting that costs nothing.
#include <time.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "bindings/c/mycel.h"
#include "core/base/clock.h"
#include "core/base/rng.h"
#include "tests/reports/exact_call.h"
#include "tests/reports/ways.h"

namespace mycel::reports {
namespace {

#if defined(__SANITIZE_THREAD__)
constexpr int kSlower = 20;
#else
constexpr int kSlower = 1;
#endif

constexpr uint64_t kSeed = 208;

ExactCall RandomCall(Rng* rng, int ranks) {
  ExactCall it;
  it.collective = RegularCollectives()[rng->Below(RegularCollectives().size())];
  it.type = rng->OneIn(2) ? DataType::kInt32 : DataType::kUint8;
  it.op = InfoOf(it.collective).reduces && rng->OneIn(2) ? ReduceOp::kMax : ReduceOp::kSum;
  it.count = rng->Below(rng->OneIn(20) ? 5000 : 40);
  it.root = InfoOf(it.collective).rooted ? static_cast<int>(rng->Below(static_cast<uint64_t>(ranks))) : -1;
  it.in_place = rng->OneIn(3);
  it.seed = rng->Below(1000);
  return it;
}

// H1: four communicators over the same three ranks, a thread for each on every rank, everyone in its own order.
TEST(ConcurrencyOfCommunicators, FourAtOnceOverTheSameRanksEachInItsOwnThread) {
  const NothingLeft nothing_left;
  constexpr int kRanks = 3;
  constexpr size_t kCommunicators = 4;
  std::vector<std::vector<mycelComm_t>> comms(kCommunicators, std::vector<mycelComm_t>(kRanks));
  for (auto& communicator : comms) {
    ASSERT_EQ(mycelCommInitAll(communicator.data(), kRanks, nullptr), mycelSuccess);
  }
  std::vector<std::string> wrong(kCommunicators * kRanks);
  std::vector<std::thread> threads;
  for (size_t c = 0; c < kCommunicators; ++c) {
    for (int rank = 0; rank < kRanks; ++rank) {
      threads.emplace_back([&, c, rank] {
        Rng rng(kSeed + c);  // equal on the ranks of a communicator
        std::string& mine = wrong[c * kRanks + static_cast<size_t>(rank)];
        for (int i = 0; i < Scaled(2500) / kSlower && mine.empty(); ++i) {
          mine = CheckCall(RandomCall(&rng, kRanks), comms[c][static_cast<size_t>(rank)], rank, kRanks);
        }
      });
    }
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::string& text : wrong) EXPECT_EQ(text, "") << "seed " << kSeed;
  for (auto& communicator : comms) {
    for (mycelComm_t comm : communicator) EXPECT_EQ(mycelCommDestroy(comm), mycelSuccess);
  }
}

// H2: two threads of every rank in one communicator at once. Their calls are alike, so any order is right.
TEST(ConcurrencyOfThreads, TwoInOneCommunicatorTakeTurns) {
  const NothingLeft nothing_left;
  for (const RanksLive live : {RanksLive::kLoopback, RanksLive::kSharedMemory}) {
    ExpectRight({live, "auto", 2}, [](mycelComm_t comm, int rank) {
      std::vector<std::string> wrong(2);
      std::vector<std::thread> threads;
      for (std::string& mine : wrong) {
        threads.emplace_back([&mine, comm, rank] {
          for (int i = 0; i < Scaled(1000) / kSlower && mine.empty(); ++i) {
            mine = CheckCall({Collective::kAllReduce, DataType::kInt32, ReduceOp::kSum, 100}, comm, rank, 2);
          }
        });
      }
      for (std::thread& thread : threads) thread.join();
      return wrong[0] + wrong[1];
    });
  }
}

int64_t ThreadCpuNs() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return now.tv_sec * kNsPerSecond + now.tv_nsec;
}

// H4: a rank that waits for one that does not come uses less than a tenth of a core.
TEST(ConcurrencyOfWaiting, IdleRanksLeaveTheirCores) {
  const NothingLeft nothing_left;
  for (const RanksLive live : WaysToLive()) {
    if (live == RanksLive::kSharedMemory) continue;
    for (const int n : {2, 8}) {
      ExpectRight({live, "auto", n}, [](mycelComm_t comm, int rank) -> std::string {
        float value = 1;
        if (mycelAllReduce(&value, &value, 1, mycelFloat, mycelSum, comm, nullptr) != mycelSuccess) return "first";
        if (rank == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1000));
        const int64_t start_ns = NowNs();
        const int64_t cpu_ns = ThreadCpuNs();
        if (mycelAllReduce(&value, &value, 1, mycelFloat, mycelMax, comm, nullptr) != mycelSuccess) return "second";
        const int64_t waited_ns = NowNs() - start_ns;
        const int64_t used_ns = ThreadCpuNs() - cpu_ns;
        if (rank == 0 || used_ns * 10 < waited_ns) return {};
        return "used " + std::to_string(used_ns / 1000) + " us of " + std::to_string(waited_ns / 1000);
      });
    }
  }
}

// D11: every way to wait, also with more ranks than cores.
TEST(ConcurrencyOfWaiting, EveryWaitPolicyGivesTheSame) {
  for (const char* policy : {"spin", "yield", "sleep"}) {
    const Environment environment({{"MYCEL_WAIT", policy}});
    for (const int n : {2, 5}) {
      ExpectRight({RanksLive::kLoopback, "auto", n}, [n](mycelComm_t comm, int rank) {
        Rng rng(kSeed);
        std::string wrong;
        // A spinning rank holds its core for a time slice when its peer has none.
        for (int i = 0; i < 40 && wrong.empty(); ++i) wrong = CheckCall(RandomCall(&rng, n), comm, rank, n);
        return wrong;
      });
    }
  }
}

}  // namespace
}  // namespace mycel::reports
