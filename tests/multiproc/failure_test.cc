// What users hate most in collective libraries is a hang that names nobody. Each test makes one thing go wrong and
// reads what the other ranks say.
#include <dirent.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/clock.h"
#include "mycel_config.h"
#include "tests/multiproc/rank_processes.h"

namespace mycel::testing {
namespace {

using ::testing::HasSubstr;

constexpr int kWrongResult = 50;

/// The children's MYCEL_TIMEOUT, in seconds.
void UseTimeout(const char* seconds) { setenv("MYCEL_TIMEOUT", seconds, 1); }

std::set<std::string> SharedMemoryFiles() {
  std::set<std::string> names;
  if (DIR* directory = opendir("/dev/shm")) {
    while (const dirent* entry = readdir(directory)) names.insert(entry->d_name);
    closedir(directory);
  }
  return names;
}

void SleepMs(int ms) {
  const timespec pause{ms / 1000, (ms % 1000) * 1'000'000L};
  nanosleep(&pause, nullptr);
}

/// Exit code = the result of the first call that fails; the text goes to the parent.
int RunUntilFailure(mycelComm_t comm, size_t count, int iterations) {
  std::vector<float> send(count, 1);
  std::vector<float> recv(count);
  for (int i = 0; i < iterations; ++i) {
    const mycelResult_t result = mycelAllReduce(send.data(), recv.data(), count, mycelFloat, mycelSum, comm, nullptr);
    if (result == mycelSuccess) continue;
    Note(mycelGetLastError(comm));
    return result;
  }
  return 0;
}

TEST(Failure, KilledRankIsNamedByTheOthersAndNothingIsLeft) {
  const std::set<std::string> before = SharedMemoryFiles();
  UseTimeout("20");
  RunOptions options;
  options.meanwhile = [](const std::vector<pid_t>& pids) {
    SleepMs(700);
    kill(pids[2], SIGKILL);
  };
  const int64_t start = NowNs();
  const auto outcomes = RunRanks(
      4, [](mycelComm_t comm, int) { return RunUntilFailure(comm, 1 << 20, 1 << 30); }, options);
  EXPECT_LT(NowNs() - start, 15 * kNsPerSecond) << "a death must be noticed, not waited out";
  EXPECT_EQ(outcomes[2].signal, SIGKILL);
  for (int rank : {0, 1, 3}) {
    const RankOutcome& outcome = outcomes[static_cast<size_t>(rank)];
    EXPECT_EQ(outcome.exit_code, mycelRemoteError) << outcome.note;
    EXPECT_THAT(outcome.note, HasSubstr("rank 2 (pid " + std::to_string(outcomes[2].pid) + ")"));
    EXPECT_THAT(outcome.note, HasSubstr("allreduce(count 1048576, float, sum)"));
  }
  EXPECT_EQ(SharedMemoryFiles(), before);
}

TEST(Failure, StoppedRankEndsInATimeoutThatNamesIt) {
  UseTimeout("1.5");
  RunOptions options;
  options.meanwhile = [](const std::vector<pid_t>& pids) {
    SleepMs(500);
    kill(pids[1], SIGSTOP);
    SleepMs(4000);
    kill(pids[1], SIGKILL);
  };
  const auto outcomes = RunRanks(
      3, [](mycelComm_t comm, int) { return RunUntilFailure(comm, 1 << 18, 1 << 30); }, options);
  for (int rank : {0, 2}) {
    const RankOutcome& outcome = outcomes[static_cast<size_t>(rank)];
    EXPECT_TRUE(outcome.exit_code == mycelTimeout || outcome.exit_code == mycelRemoteError) << outcome.exit_code;
    EXPECT_THAT(outcome.note, HasSubstr("of rank 1"));
  }
}

TEST(Failure, RankThatNeverCallsIsNamedWithItsLastOperation) {
  UseTimeout("1");
  const auto outcomes = RunRanks(3, [](mycelComm_t comm, int rank) {
    const int first = RunUntilFailure(comm, 1000, 16);
    if (first != 0) return first;
    if (rank == 2) {
      SleepMs(3000);
      return 0;
    }
    return RunUntilFailure(comm, 1000, 1);
  });
  for (int rank : {0, 1}) {
    const RankOutcome& outcome = outcomes[static_cast<size_t>(rank)];
    EXPECT_TRUE(outcome.exit_code == mycelTimeout || outcome.exit_code == mycelRemoteError) << outcome.exit_code;
    EXPECT_THAT(outcome.note, HasSubstr("operation 17"));
    EXPECT_THAT(outcome.note, HasSubstr("rank 2, which has finished operation 16"));
  }
}

struct Disagreement {
  const char* name;
  mycelResult_t (*odd)(mycelComm_t, const void*, void*);   // rank 1
  mycelResult_t (*rest)(mycelComm_t, const void*, void*);  // the others
  const char* expected;
};

class Mismatch : public ::testing::TestWithParam<Disagreement> {};

TEST_P(Mismatch, EveryRankSaysWhatBothSidesCalled) {
  UseTimeout("5");
  const Disagreement& it = GetParam();
  const auto outcomes = RunRanks(3, [&it](mycelComm_t comm, int rank) {
    std::vector<double> send(1 << 18, 1);
    std::vector<double> recv(3 << 18);
    const mycelResult_t result = (rank == 1 ? it.odd : it.rest)(comm, send.data(), recv.data());
    // A rank may finish its half before the others notice; the next operation must tell it.
    const mycelResult_t last = result != mycelSuccess ? result : mycelBarrier(comm, nullptr);
    Note(mycelGetLastError(comm));
    return static_cast<int>(last);
  });
  for (const RankOutcome& outcome : outcomes) {
    EXPECT_EQ(outcome.exit_code, mycelInvalidUsage) << outcome.note << " signal " << outcome.signal;
  }
  EXPECT_THAT(outcomes[0].note + outcomes[1].note + outcomes[2].note, HasSubstr(it.expected));
}

#if MYCEL_HAVE_UCX
// Between servers a rank's board follows its messages: what it calls is known only after they were found unlike.
TEST(Failure, BetweenServersBothCallsAreNamedToo) {
  UseTimeout("10");
  RunOptions options;
  options.before_init = [](int) { setenv("MYCEL_TRANSPORT", "ucx", 1); };
  const auto outcomes = RunRanks(
      3,
      [](mycelComm_t comm, int rank) {
        std::vector<float> data(5000, 1);
        const mycelResult_t result =
            rank == 0 ? mycelBroadcast(data.data(), data.data(), data.size(), mycelFloat, 0, comm, nullptr)
                      : mycelAllReduce(data.data(), data.data(), 1000, mycelFloat, mycelSum, comm, nullptr);
        Note(mycelGetLastError(comm));
        return static_cast<int>(result);
      },
      options);
  for (const RankOutcome& outcome : outcomes) {
    EXPECT_EQ(outcome.exit_code, mycelInvalidUsage) << outcome.note << " signal " << outcome.signal;
    EXPECT_THAT(outcome.note, HasSubstr("broadcast(count 5000, float, root 0)"));
    EXPECT_THAT(outcome.note, HasSubstr("its operation 1 is "));
    EXPECT_THAT(outcome.note, HasSubstr("allreduce(count 1000, float, sum)"));
  }
}
#endif

#define MYCEL_CALL(expression) [](mycelComm_t c, const void* s, void* r) -> mycelResult_t { return expression; }
INSTANTIATE_TEST_SUITE_P(
    All, Mismatch,
    ::testing::Values(Disagreement{"count", MYCEL_CALL(mycelAllReduce(s, r, 1001, mycelFloat, mycelSum, c, nullptr)),
                                   MYCEL_CALL(mycelAllReduce(s, r, 1000, mycelFloat, mycelSum, c, nullptr)),
                                   "count 1000, float, sum"},
                      Disagreement{"count_far", MYCEL_CALL(mycelAllReduce(s, r, 1, mycelFloat, mycelSum, c, nullptr)),
                                   MYCEL_CALL(mycelAllReduce(s, r, 200000, mycelFloat, mycelSum, c, nullptr)),
                                   "disagrees"},
                      Disagreement{"type", MYCEL_CALL(mycelAllReduce(s, r, 1000, mycelInt32, mycelSum, c, nullptr)),
                                   MYCEL_CALL(mycelAllReduce(s, r, 1000, mycelFloat, mycelSum, c, nullptr)), "int32"},
                      Disagreement{"op", MYCEL_CALL(mycelAllReduce(s, r, 1000, mycelFloat, mycelMax, c, nullptr)),
                                   MYCEL_CALL(mycelAllReduce(s, r, 1000, mycelFloat, mycelSum, c, nullptr)), "max"},
                      Disagreement{"operation", MYCEL_CALL(mycelAllGather(s, r, 1000, mycelFloat, c, nullptr)),
                                   MYCEL_CALL(mycelAllReduce(s, r, 1000, mycelFloat, mycelSum, c, nullptr)),
                                   "allgather"},
                      Disagreement{"root", MYCEL_CALL(mycelBroadcast(s, r, 1000, mycelFloat, 1, c, nullptr)),
                                   MYCEL_CALL(mycelBroadcast(s, r, 1000, mycelFloat, 0, c, nullptr)), "disagrees"}),
    [](const ::testing::TestParamInfo<Disagreement>& test) { return test.param.name; });
#undef MYCEL_CALL

TEST(Failure, ReceiveOfAnotherSizeIsAnError) {
  UseTimeout("5");
  const auto outcomes = RunRanks(2, [](mycelComm_t comm, int rank) {
    std::vector<char> buffer(1000);
    const mycelResult_t result = rank == 0 ? mycelSend(buffer.data(), 1000, mycelInt8, 1, comm, nullptr)
                                           : mycelRecv(buffer.data(), 999, mycelInt8, 0, comm, nullptr);
    Note(mycelGetLastError(comm));
    return static_cast<int>(result);
  });
  EXPECT_EQ(outcomes[1].exit_code, mycelInvalidUsage) << outcomes[1].note;
  EXPECT_THAT(outcomes[1].note, HasSubstr("1000 bytes"));
}

TEST(Failure, AbortEndsTheBlockedCallAndTellsThePeers) {
  UseTimeout("20");
  const int64_t start = NowNs();
  const auto outcomes = RunRanks(2, [](mycelComm_t comm, int rank) {
    if (rank == 1) {
      SleepMs(500);
      return static_cast<int>(mycelCommAbort(comm));
    }
    return RunUntilFailure(comm, 1000, 1);
  });
  EXPECT_LT(NowNs() - start, 10 * kNsPerSecond);
  EXPECT_EQ(outcomes[1].exit_code, mycelSuccess);
  EXPECT_EQ(outcomes[0].exit_code, mycelRemoteError) << outcomes[0].note;
  EXPECT_THAT(outcomes[0].note, HasSubstr("rank 1 was aborted"));
}

TEST(Failure, SettingsThatDifferAreNamedAtCreation) {
  UseTimeout("10");
  RunOptions options;
  options.before_init = [](int rank) {
    if (rank == 1) setenv("MYCEL_PLANNER", "ring", 1);
  };
  const auto outcomes = RunRanks(
      2, [](mycelComm_t, int) { return 0; }, options);
  for (const RankOutcome& outcome : outcomes) {
    EXPECT_EQ(outcome.exit_code, kInitFailed);
    EXPECT_THAT(outcome.note, HasSubstr("MYCEL_PLANNER=ring"));
  }
}

TEST(Failure, BadSettingOfOneRankReachesAll) {
  UseTimeout("10");
  RunOptions options;
  options.before_init = [](int rank) {
    if (rank == 1) setenv("MYCEL_TOPO", "no-such-machine", 1);
  };
  const auto outcomes = RunRanks(
      2, [](mycelComm_t, int) { return 0; }, options);
  for (const RankOutcome& outcome : outcomes) {
    EXPECT_EQ(outcome.exit_code, kInitFailed);
    EXPECT_THAT(outcome.note, HasSubstr("no-such-machine"));
  }
}

TEST(Failure, ForkedChildGetsAnErrorAndTheParentGoesOn) {
  UseTimeout("20");
  const auto outcomes = RunRanks(2, [](mycelComm_t comm, int rank) {
    std::vector<float> data(100, 1);
    if (rank == 0) {
      const pid_t child = fork();
      if (child == 0) {
        const mycelResult_t result = mycelAllReduce(data.data(), data.data(), 100, mycelFloat, mycelSum, comm, nullptr);
        _exit(result == mycelInvalidUsage ? 0 : 1);
      }
      int status = 0;
      waitpid(child, &status, 0);
      if (status != 0) return kWrongResult;
    }
    return RunUntilFailure(comm, 100, 1000);
  });
  for (const RankOutcome& outcome : outcomes) EXPECT_EQ(outcome.exit_code, 0) << outcome.note;
}

TEST(Failure, KillAtRandomTimesLeavesNothing) {
  const std::set<std::string> before = SharedMemoryFiles();
  UseTimeout("20");
  for (int round = 0; round < 10; ++round) {
    RunOptions options;
    options.meanwhile = [round](const std::vector<pid_t>& pids) {
      SleepMs(round * 13 % 120);
      for (pid_t pid : pids) kill(pid, SIGKILL);
    };
    RunRanks(
        3, [](mycelComm_t comm, int) { return RunUntilFailure(comm, 1 << 16, 1 << 30); }, options);
    EXPECT_EQ(SharedMemoryFiles(), before) << "round " << round;
  }
}

}  // namespace
}  // namespace mycel::testing
