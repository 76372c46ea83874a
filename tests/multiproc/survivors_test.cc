// Processes that lose one of them and go on without it; and children of fork, which have no part in it.
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/clock.h"
#include "tests/multiproc/rank_processes.h"

namespace mycel::testing {
namespace {

using ::testing::HasSubstr;

constexpr int kWrongResult = 50;

int Fail(const std::string& what) {
  Note(what + ": " + mycelGetLastError(nullptr));
  return kWrongResult;
}

/// 0 when `comm` sums what its ranks have, `times` times.
int Sum(mycelComm_t comm, int expected_ranks, int times) {
  int count = 0;
  if (mycelCommCount(comm, &count) != mycelSuccess || count != expected_ranks) return Fail("wrong rank count");
  std::vector<float> data(70000);
  for (int i = 0; i < times; ++i) {
    for (float& value : data) value = static_cast<float>(i);
    if (mycelAllReduce(data.data(), data.data(), data.size(), mycelFloat, mycelSum, comm, nullptr) != mycelSuccess) {
      return Fail("allreduce");
    }
    for (const float value : data) {
      if (value != static_cast<float>(i * expected_ranks)) return Fail("wrong sum");
    }
  }
  return 0;
}

TEST(Survivors, ShrinkAfterAKillAndGoOnTwice) {
  setenv("MYCEL_TIMEOUT", "20", 1);
  RunOptions options;
  options.meanwhile = [](const std::vector<pid_t>& pids) {
    const timespec pause{0, 300'000'000};
    nanosleep(&pause, nullptr);
    kill(pids[0], SIGKILL);  // the maker of the unique id, and leader of the shared memory
  };
  const auto outcomes = RunRanks(
      4,
      [](mycelComm_t comm, int rank) {
        std::vector<float> data(1 << 18, 1);
        mycelResult_t result = mycelSuccess;
        while (result == mycelSuccess) {
          result = mycelAllReduce(data.data(), data.data(), data.size(), mycelFloat, mycelMax, comm, nullptr);
        }
        if (result != mycelRemoteError) return Fail("the death was not told");
        const int dead[] = {0};
        mycelComm_t rest = nullptr;
        if (mycelCommShrink(comm, dead, 1, &rest, nullptr, MYCEL_SHRINK_ABORT) != mycelSuccess) return Fail("shrink");
        if (mycelCommDestroy(comm) != mycelSuccess) return Fail("destroy");
        const int summed = Sum(rest, 3, 20);
        if (summed != 0) return summed;
        // Rank 3 (now 2) goes, too, this time by itself; the survivors know its number in `rest`.
        if (rank == 3) _exit(77);
        while (mycelBarrier(rest, nullptr) == mycelSuccess) {
        }
        const int gone[] = {2};
        mycelComm_t two = nullptr;
        if (mycelCommShrink(rest, gone, 1, &two, nullptr, MYCEL_SHRINK_ABORT) != mycelSuccess) return Fail("shrink 2");
        mycelCommDestroy(rest);
        const int code = Sum(two, 2, 20);
        mycelCommDestroy(two);
        // RunRanks destroys `comm`, which is over; so is this process.
        _exit(code);
      },
      options);
  EXPECT_EQ(outcomes[0].signal, SIGKILL);
  EXPECT_EQ(outcomes[1].exit_code, 0) << outcomes[1].note;
  EXPECT_EQ(outcomes[2].exit_code, 0) << outcomes[2].note;
  EXPECT_EQ(outcomes[3].exit_code, 77) << outcomes[3].note;
}

TEST(Survivors, ADeadRankThatIsNotExcludedIsNamed) {
  setenv("MYCEL_TIMEOUT", "20", 1);
  const auto outcomes = RunRanks(4, [](mycelComm_t comm, int rank) {
    if (rank >= 2) _exit(77);
    while (mycelBarrier(comm, nullptr) == mycelSuccess) {
    }
    const int64_t start = NowNs();
    const int dead[] = {3};
    mycelComm_t rest = nullptr;
    const mycelResult_t result = mycelCommShrink(comm, dead, 1, &rest, nullptr, MYCEL_SHRINK_ABORT);
    Note(mycelGetLastError(nullptr));
    if (NowNs() - start > 10 * kNsPerSecond) return kWrongResult;
    return static_cast<int>(result);
  });
  // The one that sees it first leaves, which the other may see first.
  for (const size_t rank : {0, 1}) {
    EXPECT_EQ(outcomes[rank].exit_code, mycelRemoteError) << outcomes[rank].note;
    EXPECT_THAT(outcomes[rank].note, HasSubstr("exclude it, too"));
  }
  EXPECT_THAT(outcomes[0].note + outcomes[1].note, HasSubstr("rank 2 (pid " + std::to_string(outcomes[2].pid) + ")"));
}

TEST(Survivors, SplitWorksBetweenProcesses) {
  setenv("MYCEL_TIMEOUT", "20", 1);
  const auto outcomes = RunRanks(4, [](mycelComm_t comm, int rank) {
    mycelComm_t child = nullptr;
    if (mycelCommSplit(comm, rank == 3 ? 1 : 0, -rank, &child, nullptr) != mycelSuccess) return Fail("split");
    int child_rank = -1;
    if (mycelCommUserRank(child, &child_rank) != mycelSuccess || child_rank != (rank == 3 ? 0 : 2 - rank)) {
      return Fail("wrong rank");
    }
    const int summed = Sum(child, rank == 3 ? 1 : 3, 5);
    if (summed != 0) return summed;
    mycelCommDestroy(child);
    return Sum(comm, 4, 5);
  });
  for (const RankOutcome& outcome : outcomes) EXPECT_EQ(outcome.exit_code, 0) << outcome.note;
}

/// Reads of peers' memory that went through windows in `times` large sums; negative: something was wrong.
int64_t WindowReads(mycelComm_t comm, float* data, size_t count, int times) {
  mycelCommStats before;
  mycelCommStats after;
  before.size = after.size = sizeof(before);
  if (mycelCommGetStats(comm, &before) != mycelSuccess) return -1;
  for (int i = 0; i < times; ++i) {
    for (size_t k = 0; k < count; ++k) data[k] = static_cast<float>(i + static_cast<int>(k % 5));
    if (mycelAllReduce(data, data, count, mycelFloat, mycelSum, comm, nullptr) != mycelSuccess) return -2;
    for (size_t k = 0; k < count; ++k) {
      if (data[k] != static_cast<float>(3 * (i + static_cast<int>(k % 5)))) return -3;
    }
  }
  if (mycelCommGetStats(comm, &after) != mycelSuccess) return -4;
  return static_cast<int64_t>(after.window_reads - before.window_reads);
}

/// Registers, sums, deregisters, sums; then once more in the same place with other memory.
int UseWindows(mycelComm_t comm, int rank, bool expect_mapped) {
  constexpr size_t kCount = size_t{1} << 21;
  for (int round = 0; round < 2; ++round) {
    void* memory = nullptr;
    // Sizes and places differ from rank to rank.
    const size_t offset = 64 * static_cast<size_t>(rank + 1);
    if (mycelMemAlloc(&memory, kCount * sizeof(float) + 4096) != mycelSuccess) return Fail("alloc");
    auto* data = reinterpret_cast<float*>(static_cast<char*>(memory) + offset);
    mycelWindow_t window = nullptr;
    if (mycelCommWindowRegister(comm, data, kCount * sizeof(float) + static_cast<size_t>(rank), &window, 0) !=
        mycelSuccess) {
      return Fail("register");
    }
    mycelWindowInfo info;
    info.size = sizeof(info);
    if (mycelWindowGetInfo(window, &info) != mycelSuccess) return Fail("info");
    Note(std::to_string(info.peers_mapped) + " " + info.reason);
    if (info.peers_mapped != (expect_mapped ? 2 : 0) || (info.reason[0] == 0) != expect_mapped) return kWrongResult;
    const int64_t reads = WindowReads(comm, data, kCount, 3);
    if (reads < 0 || (reads > 0) != expect_mapped) return Fail("reads " + std::to_string(reads));
    if (mycelCommWindowDeregister(comm, window) != mycelSuccess) return Fail("deregister");
    const int64_t later = WindowReads(comm, data, kCount, 2);
    if (later != 0) return Fail("later " + std::to_string(later));
    if (mycelMemFree(memory) != mycelSuccess) return Fail("free");
  }
  return 0;
}

TEST(Windows, PeersReadThroughMappings) {
  setenv("MYCEL_TIMEOUT", "20", 1);
  setenv("MYCEL_DIRECT", "on", 1);
  const auto outcomes = RunRanks(3, [](mycelComm_t comm, int rank) { return UseWindows(comm, rank, true); });
  unsetenv("MYCEL_DIRECT");
  for (const RankOutcome& outcome : outcomes) EXPECT_EQ(outcome.exit_code, 0) << outcome.note;
}

TEST(Windows, WithoutDirectReadsTheyChangeNothingAndSaySo) {
  setenv("MYCEL_TIMEOUT", "20", 1);
  setenv("MYCEL_DIRECT", "off", 1);
  const auto outcomes = RunRanks(3, [](mycelComm_t comm, int rank) { return UseWindows(comm, rank, false); });
  unsetenv("MYCEL_DIRECT");
  for (const RankOutcome& outcome : outcomes) {
    EXPECT_EQ(outcome.exit_code, 0) << outcome.note;
    EXPECT_THAT(outcome.note, HasSubstr("do not read each other's memory"));
  }
}

std::set<int> OpenDescriptors() {
  std::set<int> open;
  DIR* directory = opendir("/proc/self/fd");
  while (const dirent* entry = readdir(directory)) {
    const int fd = std::atoi(entry->d_name);
    if (entry->d_name[0] != '.' && fd != dirfd(directory)) open.insert(fd);
  }
  closedir(directory);
  return open;
}

TEST(Fork, ChildrenAreRefusedEverywhereAndLeaveTheParentAlone) {
  setenv("MYCEL_TIMEOUT", "20", 1);
  const auto outcomes = RunRanks(2, [](mycelComm_t comm, int rank) {
    mycelStream_t stream = nullptr;
    if (mycelStreamCreate(&stream) != mycelSuccess) return Fail("stream");
    if (Sum(comm, 2, 10) != 0) return kWrongResult;
    for (int round = 0; round < 4 && rank == 0; ++round) {
      const pid_t child = fork();
      if (child == 0) {
        int value = 0;
        mycelComm_t made = nullptr;
        mycelResult_t state = mycelSuccess;
        const mycelResult_t results[] = {
            mycelAllReduce(&value, &value, 1, mycelInt32, mycelSum, comm, nullptr),
            mycelSend(&value, 1, mycelInt32, 1, comm, nullptr),
            mycelCommSplit(comm, 0, 0, &made, nullptr),
            mycelCommShrink(comm, nullptr, 0, &made, nullptr, MYCEL_SHRINK_ABORT),
            mycelCommRevoke(comm, 0),
            mycelCommGetAsyncError(comm, &state),
            mycelCommFinalize(comm),
            mycelCommAbort(comm),
            mycelCommDestroy(comm),
            mycelStreamSynchronize(stream),
            mycelStreamDestroy(stream),
        };
        int code = 0;
        for (const mycelResult_t result : results) {
          if (result != mycelInvalidUsage) code = 1;
        }
        if (std::string(mycelGetLastError(nullptr)).find("created in another process") == std::string::npos) code = 2;
        // It may make its own; and leave by exit, so that destructors run.
        mycelComm_t own = nullptr;
        if (mycelCommInitAll(&own, 1, nullptr) != mycelSuccess || mycelCommDestroy(own) != mycelSuccess) code = 3;
        std::vector<char> touched(1 << 20, 1);
        std::exit(code + touched[5] - 1);
      }
      int status = 0;
      waitpid(child, &status, 0);
      if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        return Fail("child: " + std::to_string(WEXITSTATUS(status)));
      }
    }
    mycelStreamDestroy(stream);
    return Sum(comm, 2, 100);
  });
  for (const RankOutcome& outcome : outcomes) EXPECT_EQ(outcome.exit_code, 0) << outcome.note;
}

TEST(Fork, NoDescriptorSurvivesExec) {
  setenv("MYCEL_TIMEOUT", "20", 1);
  static std::set<int> before;
  RunOptions options;
  options.before_init = [](int) { before = OpenDescriptors(); };
  const auto outcomes = RunRanks(
      3,
      [](mycelComm_t comm, int) {
        if (Sum(comm, 3, 3) != 0) return kWrongResult;
        int seen = 0;
        for (const int fd : OpenDescriptors()) {
          if (before.count(fd) != 0) continue;
          ++seen;
          if ((fcntl(fd, F_GETFD) & FD_CLOEXEC) == 0) return Fail("descriptor " + std::to_string(fd));
        }
        return seen > 0 ? 0 : Fail("no descriptors: the test sees nothing");
      },
      options);
  for (const RankOutcome& outcome : outcomes) EXPECT_EQ(outcome.exit_code, 0) << outcome.note;
}

}  // namespace
}  // namespace mycel::testing
