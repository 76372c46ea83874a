// D, F3: deaths, stops and aborts at random moments. The others end with an error that names the rank, within the
// timeout, and nothing is left behind.
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bindings/c/mycel.h"
#include "core/base/clock.h"
#include "core/base/rng.h"
#include "tests/multiproc/rank_processes.h"
#include "tests/reports/exact_call.h"
#include "tests/reports/ways.h"

namespace mycel::reports {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using testing::Note;
using testing::RankOutcome;
using testing::RunOptions;
using testing::RunRanks;

constexpr uint64_t kSeed = 20261130;

void SleepMs(uint64_t ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

/// allreduce in place without end; the first error is the exit code, and its text the note.
int ReduceForever(mycelComm_t comm, std::vector<float>* data) {
  while (true) {
    const mycelResult_t result =
        mycelAllReduce(data->data(), data->data(), data->size(), mycelFloat, mycelMax, comm, nullptr);
    if (result == mycelSuccess) continue;
    Note(mycelGetLastError(comm));
    return result;
  }
}

/// Memory that ranks and their parent share.
template <typename T>
class Shared {
 public:
  explicit Shared(size_t count)
      : bytes_(count * sizeof(T)),
        values_(static_cast<T*>(mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {}
  ~Shared() { munmap(values_, bytes_); }
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;
  T& operator[](size_t i) { return values_[i]; }

 private:
  size_t bytes_;
  T* values_;
};

// D1, F3: one of four ranks is killed in the middle of all_reduces of 64 MiB.
TEST(DrillsKill, InAllReducesOf64MiBTheOthersNameTheRankAndNothingIsLeft) {
  Rng rng(kSeed);
  const Environment environment({{"MYCEL_TIMEOUT", "60"}});
  for (int round = 0; round < Scaled(3); ++round) {
    const NothingLeft nothing_left;
    const uint64_t victim = rng.Below(4);
    const uint64_t after_ms = 150 + rng.Below(300);
    SCOPED_TRACE("seed " + std::to_string(kSeed) + ", round " + std::to_string(round) + ", rank " +
                 std::to_string(victim) + " after " + std::to_string(after_ms) + " ms");
    Shared<std::atomic<int>> started(1);
    Shared<std::atomic<int64_t>> killed_ns(1);
    RunOptions options;
    options.meanwhile = [&](const std::vector<pid_t>& pids) {
      while (started[0].load() < 4) SleepMs(1);
      SleepMs(after_ms);
      killed_ns[0] = NowNs();
      kill(pids[victim], SIGKILL);
    };
    const auto outcomes = RunRanks(
        4,
        [&](mycelComm_t comm, int) {
          std::vector<float> data(size_t{16} << 20, 1);
          started[0].fetch_add(1);
          return ReduceForever(comm, &data);
        },
        options);
    EXPECT_LT(NowNs() - killed_ns[0].load(), 30 * kNsPerSecond) << "noticed, not waited out";
    EXPECT_EQ(outcomes[victim].signal, SIGKILL);
    for (size_t rank = 0; rank < 4; ++rank) {
      if (rank == victim) continue;
      EXPECT_EQ(outcomes[rank].exit_code, mycelRemoteError) << outcomes[rank].note;
      EXPECT_THAT(outcomes[rank].note,
                  HasSubstr("rank " + std::to_string(victim) + " (pid " + std::to_string(outcomes[victim].pid) + ")"));
    }
  }
}

// Below the ports that the kernel gives to connections, one of which might have it just now.
constexpr char kPlace[] = "127.0.0.1:21897";

// F3: all ranks are killed at random moments, also while they meet; a next job in the same place works.
TEST(DrillsKill, AllAtRandomMomentsAndTheSamePlaceServesTheNextJob) {
  Rng rng(kSeed + 1);
  const NothingLeft nothing_left;
  for (int round = 0; round < Scaled(20); ++round) {
    const uint64_t after_ms = rng.Below(60);
    RunOptions options;
    options.meanwhile = [after_ms](const std::vector<pid_t>& pids) {
      SleepMs(after_ms);
      // Stopped first: else one may see another die and end by itself.
      for (const int signal : {SIGSTOP, SIGKILL}) {
        for (const pid_t pid : pids) kill(pid, signal);
      }
    };
    options.before_init = [](int) { setenv("MYCEL_COMM_ID", kPlace, 1); };
    const auto outcomes = RunRanks(
        3,
        [](mycelComm_t comm, int) {
          std::vector<float> data(10'000, 1);
          return ReduceForever(comm, &data);
        },
        options);
    for (const RankOutcome& outcome : outcomes) EXPECT_EQ(outcome.signal, SIGKILL) << outcome.note;
  }
  RunOptions options;
  options.before_init = [](int) { setenv("MYCEL_COMM_ID", kPlace, 1); };
  const auto outcomes = RunRanks(
      3,
      [](mycelComm_t comm, int rank) {
        Note(CheckCall({Collective::kAllReduce, DataType::kFloat32, ReduceOp::kSum, 1009}, comm, rank, 3));
        return 0;
      },
      options);
  for (const RankOutcome& outcome : outcomes) {
    EXPECT_EQ(outcome.exit_code, 0) << outcome.note;
    EXPECT_EQ(outcome.note, "");
  }
}

// D1: a stopped rank is alive and does not progress: a timeout that says so.
TEST(DrillsStop, AStoppedRankEndsInATimeoutThatSaysThatItLives) {
  const NothingLeft nothing_left;
  const Environment environment({{"MYCEL_TIMEOUT", "2"}});
  Shared<std::atomic<int>> ended(1);
  RunOptions options;
  options.meanwhile = [&](const std::vector<pid_t>& pids) {
    SleepMs(300);
    kill(pids[2], SIGSTOP);
    for (int i = 0; i < 3000 && ended[0].load() < 3; ++i) SleepMs(10);
    kill(pids[2], SIGKILL);
  };
  const auto outcomes = RunRanks(
      4,
      [&](mycelComm_t comm, int) {
        std::vector<float> data(1 << 16, 1);
        const int result = ReduceForever(comm, &data);
        ended[0].fetch_add(1);
        return result;
      },
      options);
  int timeouts = 0;
  for (const size_t rank : {0, 1, 3}) {
    // Who waits for the stopped rank runs into the deadline; who waits for that one hears of it.
    EXPECT_THAT(outcomes[rank].exit_code, AnyOf(mycelTimeout, mycelRemoteError)) << outcomes[rank].note;
    timeouts += outcomes[rank].exit_code == mycelTimeout ? 1 : 0;
    EXPECT_THAT(outcomes[rank].note, HasSubstr("of rank 2, which"));
    EXPECT_THAT(outcomes[rank].note, HasSubstr("alive but not progressing"));
  }
  EXPECT_GE(timeouts, 1);
}

// D3, D4 (more of it: tests/conformance/lifecycle_test): abort at random moments, by one rank or by all.
TEST(DrillsAbort, AtRandomMomentsEndsEveryRankWithItsReason) {
  Rng rng(kSeed + 2);
  const Environment environment({{"MYCEL_TIMEOUT", "60"}});
  for (int round = 0; round < Scaled(12); ++round) {
    const NothingLeft nothing_left;
    const bool all = round % 3 == 0;
    const uint64_t aborter = rng.Below(3);
    const uint64_t after_us = rng.Below(30'000);
    SCOPED_TRACE("seed " + std::to_string(kSeed + 2) + ", round " + std::to_string(round));
    const auto outcomes = RunRanks(3, [&](mycelComm_t comm, int rank) {
      std::vector<float> data(1 << 18, 1);
      mycelResult_t aborted = mycelSuccess;
      int64_t took_ns = 0;
      std::thread other([&] {
        if (!all && static_cast<uint64_t>(rank) != aborter) return;
        std::this_thread::sleep_for(std::chrono::microseconds(after_us));
        const int64_t start = NowNs();
        aborted = mycelCommAbort(comm);
        took_ns = NowNs() - start;
      });
      const int result = ReduceForever(comm, &data);
      other.join();
      if (aborted != mycelSuccess) return 90;
      return took_ns > 20 * kNsPerSecond ? 91 : result;  // under a second without company; here cores are shared
    });
    for (size_t rank = 0; rank < 3; ++rank) {
      const RankOutcome& outcome = outcomes[rank];
      // InvalidArgument: the handle had ended when the next call came.
      EXPECT_THAT(outcome.exit_code, AnyOf(mycelAborted, mycelRemoteError, mycelInvalidArgument)) << outcome.note;
      if (!all && rank != aborter) {
        EXPECT_EQ(outcome.exit_code, mycelRemoteError);
        EXPECT_THAT(outcome.note, AllOf(HasSubstr("rank " + std::to_string(aborter)), HasSubstr("was aborted")));
      }
    }
  }
}

// D7: a send, and the end of its communicator at once: everything arrives.
TEST(DrillsLeave, AfterASendEverythingArrives) {
  const NothingLeft nothing_left;
  for (const RanksLive live : {RanksLive::kLoopback, RanksLive::kProcesses}) {
    const int repetitions = Scaled(live == RanksLive::kLoopback ? 200 : 20);
    for (int i = 0; i < repetitions; ++i) {
      const size_t count = i % 2 == 0 ? 3 : 40'000;
      ExpectRight({live, "auto", 2}, [count, i](mycelComm_t comm, int rank) -> std::string {
        std::vector<int> data(count, rank == 0 ? i : -1);
        const mycelResult_t result = rank == 0 ? mycelSend(data.data(), count, mycelInt32, 1, comm, nullptr)
                                               : mycelRecv(data.data(), count, mycelInt32, 0, comm, nullptr);
        if (result != mycelSuccess) return mycelGetLastError(comm);
        if (mycelCommFinalize(comm) != mycelSuccess || mycelCommDestroy(comm) != mycelSuccess) return "the end";
        return data == std::vector<int>(count, i) ? "" : "wrong data";
      });
    }
  }
}

}  // namespace
}  // namespace mycel::reports
