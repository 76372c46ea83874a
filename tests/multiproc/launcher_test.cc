// A running benchmark whose rank is killed, whose launcher is killed, or that is asked to stop: nothing may survive,
// and the user must read who died.
#include <dirent.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <set>
#include <string>
#include <vector>

#include "core/base/clock.h"

namespace mycel {
namespace {

using testing::HasSubstr;

constexpr int kRanks = 4;
constexpr int64_t kPatienceNs = 60 * kNsPerSecond;

std::set<std::string> SharedMemoryFiles() {
  std::set<std::string> names;
  if (DIR* directory = opendir("/dev/shm")) {
    while (const dirent* entry = readdir(directory)) names.insert(entry->d_name);
    closedir(directory);
  }
  return names;
}

// all_reduce_perf with four rank processes, running until something stops it.
class RunningBenchmark {
 public:
  RunningBenchmark() {
    int ends[2];
    EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
    launcher_ = fork();
    if (launcher_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGTERM);  // if the test itself dies
      dup2(ends[1], STDOUT_FILENO);
      dup2(ends[1], STDERR_FILENO);
      setenv("MYCEL_TIMEOUT", "20", 1);
      execl(MYCEL_PERF_PROGRAMS "/all_reduce_perf", "all_reduce_perf", "--procs", "4", "-b", "64K", "-e", "64K", "-n",
            "10", "-N", "0", static_cast<char*>(nullptr));
      _exit(127);
    }
    close(ends[1]);
    output_ = ends[0];
  }
  ~RunningBenchmark() {
    if (launcher_ > 0) {
      kill(launcher_, SIGKILL);
      waitpid(launcher_, nullptr, 0);
    }
    close(output_);
  }

  // Reads until the first row of results is there, so that the ranks are in the middle of their work.
  void AwaitRows() {
    while (text_.find("\n       65536 ") == std::string::npos && ReadMore()) {
    }
    ASSERT_THAT(text_, HasSubstr("\n       65536 "));
    for (int rank = 0; rank < kRanks; ++rank) {
      const std::string line = "#  Rank  " + std::to_string(rank) + " Group  0 Pid ";
      const size_t at = text_.find(line);
      ASSERT_NE(at, std::string::npos) << text_;
      pids_.push_back(std::stoi(text_.substr(at + line.size())));
    }
  }

  // Reads to the end and returns the exit status as waitpid gives it.
  int AwaitEnd() {
    while (ReadMore()) {
    }
    int status = 0;
    waitpid(launcher_, &status, 0);
    launcher_ = -1;
    return status;
  }

  // True when no rank process is left; killed ones may need a moment to go.
  bool RanksAreGone() const {
    const Deadline deadline = Deadline::After(5 * kNsPerSecond);
    for (const pid_t pid : pids_) {
      while (kill(pid, 0) == 0) {
        if (deadline.Passed()) return false;
        usleep(10'000);
      }
    }
    return true;
  }

  pid_t launcher() const { return launcher_; }
  pid_t rank(int rank) const { return pids_[static_cast<size_t>(rank)]; }
  const std::string& text() const { return text_; }

 private:
  bool ReadMore() {
    char buffer[4096];
    const ssize_t n = read(output_, buffer, sizeof(buffer));
    if (n > 0) text_.append(buffer, static_cast<size_t>(n));
    return n > 0;
  }

  pid_t launcher_ = -1;
  int output_ = -1;
  std::string text_;
  std::vector<pid_t> pids_;
};

TEST(Launcher, KilledRankIsNamedAndTheOthersEnd) {
  const std::set<std::string> shared_before = SharedMemoryFiles();
  RunningBenchmark benchmark;
  ASSERT_NO_FATAL_FAILURE(benchmark.AwaitRows());
  const int64_t start_ns = NowNs();
  ASSERT_EQ(kill(benchmark.rank(2), SIGKILL), 0);
  const int status = benchmark.AwaitEnd();
  EXPECT_LT(NowNs() - start_ns, kPatienceNs);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_NE(WEXITSTATUS(status), 0);
  EXPECT_THAT(benchmark.text(),
              HasSubstr("rank 2 (pid " + std::to_string(benchmark.rank(2)) + ") was killed by signal 9"));
  EXPECT_TRUE(benchmark.RanksAreGone());
  EXPECT_EQ(SharedMemoryFiles(), shared_before);
}

TEST(Launcher, RanksDieWithTheirLauncher) {
  RunningBenchmark benchmark;
  ASSERT_NO_FATAL_FAILURE(benchmark.AwaitRows());
  ASSERT_EQ(kill(benchmark.launcher(), SIGKILL), 0);
  EXPECT_TRUE(WIFSIGNALED(benchmark.AwaitEnd()));
  EXPECT_TRUE(benchmark.RanksAreGone());
}

TEST(Launcher, StopsWhenAsked) {
  RunningBenchmark benchmark;
  ASSERT_NO_FATAL_FAILURE(benchmark.AwaitRows());
  ASSERT_EQ(kill(benchmark.launcher(), SIGTERM), 0);
  const int status = benchmark.AwaitEnd();
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 128 + SIGTERM);
  EXPECT_THAT(benchmark.text(), HasSubstr("stopped by signal 15"));
  EXPECT_TRUE(benchmark.RanksAreGone());
}

}  // namespace
}  // namespace mycel
