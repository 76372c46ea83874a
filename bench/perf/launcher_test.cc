// The launcher of --procs and the ways to meet, without the library.
#include "bench/perf/launcher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <map>
#include <thread>
#include <vector>

#include "bench/perf/team.h"

namespace mycel::perf {
namespace {

using testing::HasSubstr;

int CheckGather(Job& job) {
  // Longer than one slot, so that it goes in pieces; twice, so that slots are reused.
  for (int round = 0; round < 2; ++round) {
    std::vector<int> mine(3000, job.rank() * 10 + round);
    std::vector<int> all(mine.size() * static_cast<size_t>(job.size()));
    if (!job.AllGather(mine.data(), mine.size() * sizeof(int), all.data()).ok()) return 5;
    for (size_t i = 0; i < all.size(); ++i) {
      if (all[i] != static_cast<int>(i / mine.size()) * 10 + round) return 6;
    }
  }
  return 0;
}

TEST(Launcher, LocalProcessesMeet) { EXPECT_EQ(RunLocalProcesses("test", 4, 1, 5, CheckGather), 0); }

TEST(Launcher, ThreadsOfProcessesMeet) {
  const auto body = [](Job& job) {
    Team team(job, 3);
    std::vector<int> results(3);
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t) {
      threads.emplace_back([&, t] {
        Worker worker{team, t};
        for (int round = 0; round < 10; ++round) {
          StatusOr<std::vector<int>> all = worker.Gather(worker.index() + round);
          if (!all.ok() || all->size() != 6) results[static_cast<size_t>(t)] = 1;
          for (int i = 0; all.ok() && i < 6; ++i) {
            if ((*all)[static_cast<size_t>(i)] != i + round) results[static_cast<size_t>(t)] = 2;
          }
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    return results[0] + results[1] + results[2];
  };
  EXPECT_EQ(RunLocalProcesses("test", 2, 3, 5, body), 0);
}

TEST(Launcher, DeadRankIsNamedAndWakesTheOthers) {
  testing::internal::CaptureStderr();
  const int code = RunLocalProcesses("test", 3, 1, 30, [](Job& job) {
    if (job.rank() == 1) kill(getpid(), SIGKILL);
    char all[3];
    return job.AllGather("x", 1, all).ok() ? 0 : 3;  // must not wait for rank 1 until the grace ends
  });
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_EQ(code, 1);
  EXPECT_THAT(text, HasSubstr("rank 1 (pid "));
  EXPECT_THAT(text, HasSubstr("signal 9"));
  EXPECT_THAT(text, testing::Not(HasSubstr("did not end")));
}

TEST(Launcher, ExitCodeOfTheFailingRankIsTheRuns) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(RunLocalProcesses("test", 2, 4, 30, [](Job& job) { return job.rank() == 1 ? 7 : 0; }), 7);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("ranks 4 to 7 (pid "));
}

TEST(Launcher, WhoHangsAfterAFailureIsKilled) {
  testing::internal::CaptureStderr();
  int pids[2];
  ASSERT_EQ(pipe(pids), 0);
  const int code = RunLocalProcesses("test", 2, 1, 1, [&](Job& job) {
    if (job.rank() == 0) return 4;
    const pid_t self = getpid();
    if (write(pids[1], &self, sizeof(self)) != sizeof(self)) return 5;
    while (true) pause();
  });
  EXPECT_EQ(code, 4);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("rank 1 did not end within 1 s"));
  pid_t hung = 0;
  ASSERT_EQ(read(pids[0], &hung, sizeof(hung)), static_cast<ssize_t>(sizeof(hung)));
  EXPECT_NE(kill(hung, 0), 0) << "process " << hung << " survived";
  close(pids[0]);
  close(pids[1]);
}

Launch Detect(const std::map<std::string, std::string>& variables) {
  return DetectLaunch([&](const char* name) -> const char* {
    const auto at = variables.find(name);
    return at == variables.end() ? nullptr : at->second.c_str();
  });
}

TEST(Launch, EachLauncherIsRecognised) {
  EXPECT_EQ(Detect({}).launcher, Launcher::kNone);
  const Launch open_mpi = Detect({{"OMPI_COMM_WORLD_SIZE", "4"}, {"OMPI_COMM_WORLD_RANK", "2"}, {"PMIX_RANK", "2"}});
  EXPECT_EQ(open_mpi.launcher, Launcher::kOpenMpi);
  EXPECT_EQ(open_mpi.rank, 2);
  EXPECT_EQ(open_mpi.size, 4);
  EXPECT_EQ(Detect({{"PMI_SIZE", "4"}, {"PMI_RANK", "3"}}).launcher, Launcher::kMpich);
  EXPECT_EQ(Detect({{"SLURM_STEP_NUM_TASKS", "2"}, {"PMIX_RANK", "0"}, {"SLURM_PROCID", "0"}}).launcher,
            Launcher::kOpenMpi);
  EXPECT_EQ(Detect({{"SLURM_STEP_NUM_TASKS", "2"}, {"SLURM_PROCID", "1"}}).launcher, Launcher::kSlurm);
}

TEST(Launch, OneProcessOrNonsenseIsNoLauncher) {
  EXPECT_EQ(Detect({{"OMPI_COMM_WORLD_SIZE", "1"}, {"OMPI_COMM_WORLD_RANK", "0"}}).launcher, Launcher::kNone);
  EXPECT_EQ(Detect({{"PMI_SIZE", "four"}, {"PMI_RANK", "0"}}).launcher, Launcher::kNone);
  EXPECT_EQ(Detect({{"PMI_SIZE", "4"}, {"PMI_RANK", "4"}}).launcher, Launcher::kNone);
  EXPECT_EQ(Detect({{"SLURM_NTASKS", "4"}, {"SLURM_PROCID", "0"}}).launcher, Launcher::kNone);  // a batch script
}

TEST(SocketJob, ProcessesOfABareLauncherMeet) {
  const int port = 21000 + getpid() % 9000;
  std::vector<int> codes(3, 1);
  std::vector<std::thread> threads;
  for (int r = 0; r < 3; ++r) {
    threads.emplace_back([&, r] {
      StatusOr<std::unique_ptr<Job>> job = JoinSocketJob(r, 3, "127.0.0.1", port);
      codes[static_cast<size_t>(r)] = job.ok() ? CheckGather(**job) : 9;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(codes, (std::vector<int>{0, 0, 0}));
}

}  // namespace
}  // namespace mycel::perf
