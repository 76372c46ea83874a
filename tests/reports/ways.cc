#include "tests/reports/ways.h"

#include <dirent.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <thread>

#include "core/topo/gallery.h"
#include "scheduler/select/planners.h"
#include "tests/conformance/rank_runner.h"
#include "tests/multiproc/rank_processes.h"

namespace mycel::reports {
namespace {

constexpr int kFoundWrong = 77;  // exit code of a rank whose text says what

std::string NumberText(double number) {
  char text[32];
  std::snprintf(text, sizeof(text), "%g", number);
  return text;
}

mycelResult_t CreateThreads(RanksLive live, std::vector<mycelComm_t>* comms) {
  const int n = static_cast<int>(comms->size());
  if (live == RanksLive::kLoopback) return mycelCommInitAll(comms->data(), n, nullptr);
  mycelUniqueId id;
  const mycelResult_t made = mycelGetUniqueId(&id);
  if (made != mycelSuccess) return made;
  mycelGroupStart();
  for (int rank = 0; rank < n; ++rank) mycelCommInitRank(&(*comms)[static_cast<size_t>(rank)], n, id, rank);
  return mycelGroupEnd();
}

std::vector<std::string> RunThreads(const Way& way, const RankBody& body) {
  const auto n = static_cast<size_t>(way.ranks);
  std::vector<mycelComm_t> comms(n);
  if (CreateThreads(way.live, &comms) != mycelSuccess) {
    return std::vector<std::string>(n, std::string("no communicator: ") + mycelGetLastError(nullptr));
  }
  std::vector<std::string> wrong(n);
  std::vector<std::thread> threads;
  for (size_t rank = 0; rank < n; ++rank) {
    threads.emplace_back([&, rank] { wrong[rank] = body(comms[rank], static_cast<int>(rank)); });
  }
  for (std::thread& thread : threads) thread.join();
  // A body may have ended its communicator itself.
  for (mycelComm_t comm : comms) mycelCommDestroy(comm);
  return wrong;
}

std::vector<std::string> RunForked(const Way& way, const RankBody& body) {
  const auto outcomes = testing::RunRanks(way.ranks, [&body](mycelComm_t comm, int rank) {
    const std::string wrong = body(comm, rank);
    testing::Note(wrong);
    return wrong.empty() ? 0 : kFoundWrong;
  });
  std::vector<std::string> wrong;
  for (const testing::RankOutcome& outcome : outcomes) {
    if (outcome.exit_code == 0) {
      wrong.emplace_back();
    } else if (outcome.exit_code == kFoundWrong) {
      wrong.push_back(outcome.note);
    } else {
      wrong.push_back("ended with exit code " + std::to_string(outcome.exit_code) + ", signal " +
                      std::to_string(outcome.signal) + ": " + outcome.note);
    }
  }
  return wrong;
}

}  // namespace

std::string Way::Name() const {
  static constexpr const char* kNames[] = {"loopback", "threads over shm", "processes"};
  return std::string(kNames[static_cast<size_t>(live)]) + ", planner " + planner + ", " + std::to_string(ranks) +
         " ranks";
}

std::vector<std::string> RunOn(const Way& way, const RankBody& body, double timeout_s) {
  const NothingLeft nothing_left;
  const Environment environment({{"MYCEL_PLANNER", way.planner}, {"MYCEL_TIMEOUT", NumberText(timeout_s)}});
  return way.live == RanksLive::kProcesses ? RunForked(way, body) : RunThreads(way, body);
}

void ExpectRight(const Way& way, const RankBody& body) {
  const std::vector<std::string> wrong = RunOn(way, body);
  for (size_t rank = 0; rank < wrong.size(); ++rank) {
    EXPECT_EQ(wrong[rank], "") << way.Name() << ", rank " << rank;
  }
}

std::vector<std::string> PlannersFor(Collective collective, int ranks) {
  PlanRequest request;
  request.collective = collective;
  request.root = InfoOf(collective).rooted ? Rank(0) : Rank();
  const Topology host = *GalleryTopology("host-" + std::to_string(ranks));
  std::vector<std::string> names = {"auto"};
  for (const Planner* planner : AllPlanners()) {
    if (planner->Serves(host, request).ok()) names.emplace_back(planner->name());
  }
  return names;
}

std::vector<Way> Ways(const std::vector<std::string>& planners, const std::vector<int>& ranks) {
  std::vector<Way> ways;
  for (const RanksLive live : WaysToLive()) {
    for (const std::string& planner : planners) {
      for (const int n : ranks) ways.push_back({live, planner, n});
    }
  }
  return ways;
}

int Scaled(int iterations) {
  const char* scale = std::getenv("REPORTS_SCALE");
  const double factor = scale == nullptr ? 1 : std::strtod(scale, nullptr);
  return std::max(1, static_cast<int>(std::lround(iterations * factor)));
}

std::set<std::string> SharedMemoryFiles() {
  std::set<std::string> names;
  if (DIR* directory = opendir("/dev/shm")) {
    while (const dirent* entry = readdir(directory)) names.insert(entry->d_name);
    closedir(directory);
  }
  return names;
}

NothingLeft::NothingLeft() : shared_files_(SharedMemoryFiles()), descriptors_(OpenDescriptorCount()) {
  // ThreadSanitizer starts a thread of its own beside the first of the program's: one of each, before counting.
  std::thread([] {}).join();
  threads_ = ThreadCount();
}

std::string NothingLeft::Difference() const {
  if (waitpid(-1, nullptr, WNOHANG) != -1 || errno != ECHILD) return "a child process is left";
  if (SharedMemoryFiles() != shared_files_) return "the files in /dev/shm are others than before";
  const int32_t descriptors = OpenDescriptorCount();
  const int32_t threads = ThreadCount();
  if (descriptors > descriptors_) return std::to_string(descriptors - descriptors_) + " descriptor(s) left";
  if (threads > threads_) return std::to_string(threads - threads_) + " thread(s) left";
  return {};
}

NothingLeft::~NothingLeft() {
  std::string difference = Difference();
  for (int tries = 0; !difference.empty() && tries < 200; ++tries) {
    usleep(10'000);  // a rendezvous ends a moment after its last rank
    difference = Difference();
  }
  EXPECT_EQ(difference, "");
}

}  // namespace mycel::reports
