#include "tests/conformance/rank_runner.h"

#include <dirent.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <fstream>
#include <thread>

#include "transport/bootstrap/in_process.h"

namespace mycel {
namespace {

using std::chrono::steady_clock;

constexpr double kPatienceSeconds = 60;

/// Meets processes in memory that they inherit: for tests of transports, which must not depend on another bootstrap.
class InheritedPage final : public Bootstrap {
 public:
  static constexpr size_t kValueBytes = 1000;
  static constexpr size_t kRounds = 2;  // a rank is at most one round ahead of the slowest reader
  struct Place {
    std::atomic<uint64_t> rounds;  // values brought so far; writer: the place's rank
    uint64_t lengths[kRounds];
    char values[kRounds][kValueBytes];
  };

  InheritedPage(Place* places, Rank rank, int32_t rank_count) : places_(places), rank_(rank), rank_count_(rank_count) {}
  Rank rank() const override { return rank_; }
  int32_t rank_count() const override { return rank_count_; }

  StatusOr<std::vector<std::string>> AllGather(const std::string& mine, Deadline deadline) override {
    if (mine.size() > kValueBytes) return InternalError("too much for the test's bootstrap");
    Place& place = places_[rank_.index()];
    const size_t row = round_ % kRounds;
    std::memcpy(place.values[row], mine.data(), mine.size());
    place.lengths[row] = mine.size();
    // release: publishes the value; pairs with the acquire below.
    place.rounds.store(round_ + 1, std::memory_order_release);
    std::vector<std::string> all;
    for (int32_t r = 0; r < rank_count_; ++r) {
      // acquire: pairs with the release above.
      while (places_[r].rounds.load(std::memory_order_acquire) <= round_) {
        if (deadline.Passed()) return TimeoutError("rank " + std::to_string(r) + " is missing");
        sched_yield();
      }
      all.emplace_back(places_[r].values[row], places_[r].lengths[row]);
    }
    ++round_;
    return all;
  }

 private:
  Place* const places_;
  const Rank rank_;
  const int32_t rank_count_;
  uint64_t round_ = 0;
};

void RunThreads(int32_t rank_count, const std::function<void(const RankContext&)>& body) {
  const auto meeting = Meeting::Make(rank_count);
  std::vector<std::thread> threads;
  for (Rank rank : Ids<Rank>(rank_count)) {
    threads.emplace_back([&, rank] {
      auto bootstrap = meeting->Join(rank);
      ASSERT_TRUE(bootstrap.ok()) << bootstrap.status();
      body({rank, rank_count, bootstrap->get()});
    });
  }
  for (std::thread& thread : threads) thread.join();
}

/// Waits for a child; kills it when it takes too long.
int StatusOfChild(pid_t pid, Deadline deadline) {
  int status = 0;
  while (waitpid(pid, &status, WNOHANG) == 0) {
    if (deadline.Passed()) kill(pid, SIGKILL);
    usleep(1000);
  }
  return status;
}

void RunProcesses(int32_t rank_count, const std::function<void(const RankContext&)>& body, Rank expect_killed) {
  const size_t bytes = sizeof(InheritedPage::Place) * static_cast<size_t>(rank_count);
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  auto* places = static_cast<InheritedPage::Place*>(memory);
  std::vector<pid_t> children;
  std::fflush(nullptr);
  for (Rank rank : Ids<Rank>(rank_count)) {
    const pid_t pid = fork();
    ASSERT_GE(pid, 0);
    if (pid == 0) {
      InheritedPage bootstrap(places, rank, rank_count);
      body({rank, rank_count, &bootstrap});
      std::fflush(nullptr);
      _exit(testing::Test::HasFailure() ? 1 : 0);
    }
    children.push_back(pid);
  }
  const Deadline deadline = InSeconds(2 * kPatienceSeconds);
  for (Rank rank : Ids<Rank>(rank_count)) {
    const int status = StatusOfChild(children[rank.index()], deadline);
    if (rank == expect_killed) {
      EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << "rank " << rank << " ended with " << status;
    } else {
      EXPECT_EQ(status, 0) << "rank " << rank << " failed";
    }
  }
  munmap(memory, bytes);
}

}  // namespace

void RankContext::Meet() const {
  const Status status = bootstrap->Barrier(InSeconds(kPatienceSeconds));
  ASSERT_TRUE(status.ok()) << status;
}

SteadyTime InSeconds(double seconds) {
  return steady_clock::now() +
         std::chrono::duration_cast<steady_clock::duration>(std::chrono::duration<double>(seconds));
}

void RunRanks(RanksAre ranks_are, int32_t rank_count, const std::function<void(const RankContext&)>& body,
              Rank expect_killed) {
  if (ranks_are == RanksAre::kThreads) {
    RunThreads(rank_count, body);
  } else {
    RunProcesses(rank_count, body, expect_killed);
  }
}

bool WaitUntilDone(const std::function<bool()>& done, const std::function<void()>& progress) {
  const Deadline deadline = InSeconds(kPatienceSeconds);
  while (!done()) {
    if (deadline.Passed()) {
      ADD_FAILURE() << "nothing happened for " << kPatienceSeconds << " s";
      return false;
    }
    progress();
    sched_yield();
  }
  return true;
}

namespace {

template <typename Visit>
void ForEachEntry(const char* folder, const Visit& visit) {
  DIR* entries = opendir(folder);
  ASSERT_NE(entries, nullptr);
  while (const dirent* entry = readdir(entries)) {
    if (entry->d_name[0] != '.') visit(std::string(entry->d_name), dirfd(entries));
  }
  closedir(entries);
}

}  // namespace

int32_t OpenDescriptorCount() {
  int32_t count = 0;
  ForEachEntry("/proc/self/fd", [&](const std::string& name, int own) { count += std::stoi(name) != own ? 1 : 0; });
  return count;
}

int32_t MappingCount() {
  std::ifstream file("/proc/self/maps");
  int32_t count = 0;
  for (std::string line; std::getline(file, line);) count += line.find("/memfd:mycel") != std::string::npos ? 1 : 0;
  return count;
}

int32_t ThreadCount() {
  int32_t count = 0;
  ForEachEntry("/proc/self/task", [&](const std::string&, int) { ++count; });
  return count;
}

std::vector<int> InheritableDescriptors(const std::vector<int>& known) {
  std::vector<int> found;
  ForEachEntry("/proc/self/fd", [&](const std::string& name, int own) {
    const int fd = std::stoi(name);
    const int flags = fcntl(fd, F_GETFD);
    const bool inherited = flags >= 0 && (flags & FD_CLOEXEC) == 0;
    if (fd != own && inherited && std::find(known.begin(), known.end(), fd) == known.end()) found.push_back(fd);
  });
  return found;
}

}  // namespace mycel
