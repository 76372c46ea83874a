// Ways of running one body on every rank: where the ranks live, who plans, how many there are. The reports of
// reference libraries' users are checked over all of them.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "bindings/c/mycel.h"
#include "core/plan/collective.h"

#include "tests/conformance/environment.h"

namespace mycel::reports {

enum class RanksLive : uint8_t {
  kLoopback,      // threads of one process, channels in its heap (mycelCommInitAll)
  kSharedMemory,  // threads of one process that meet over TCP and share a memory file (mycelCommInitRank)
  kProcesses,     // forked processes over the same
};

/// All of them; under ThreadSanitizer without processes: a forked child inherits what the sanitizer knows of the
/// parent's threads, which are not there, and takes their last writes for races.
inline std::vector<RanksLive> WaysToLive() {
#if defined(__SANITIZE_THREAD__)
  return {RanksLive::kLoopback, RanksLive::kSharedMemory};
#else
  return {RanksLive::kLoopback, RanksLive::kSharedMemory, RanksLive::kProcesses};
#endif
}

struct Way {
  RanksLive live = RanksLive::kLoopback;
  std::string planner = "auto";
  int ranks = 2;
  std::string Name() const;  // "processes, planner ring, 3 ranks"
};

/// What a rank does; returns what is wrong, or nothing.
using RankBody = std::function<std::string(mycelComm_t comm, int rank)>;

/// Runs `body` on every rank of a new communicator; what each says is wrong, creation and sudden ends included. Every
/// wait inside ends by `timeout_s` (MYCEL_TIMEOUT). Nothing may be left (NothingLeft).
std::vector<std::string> RunOn(const Way& way, const RankBody& body, double timeout_s = 30);
/// The same, and nobody may find anything wrong.
void ExpectRight(const Way& way, const RankBody& body);

/// Every planner that plans this collective on `ranks` ranks of one server, and "auto".
std::vector<std::string> PlannersFor(Collective collective, int ranks);
/// Everywhere x `planners` x `ranks`.
std::vector<Way> Ways(const std::vector<std::string>& planners, const std::vector<int>& ranks);
/// Planners of everything but alltoallv, with "auto".
inline const std::vector<std::string>& Planners() {
  static const std::vector<std::string> names = {"auto", "ring", "direct", "forest"};
  return names;
}

/// `iterations` times the environment's REPORTS_SCALE (1 when unset; a real number): how long soaks and drills last.
int Scaled(int iterations);

/// Names in /dev/shm.
std::set<std::string> SharedMemoryFiles();

/// While it lives nothing may come to stay: at its end this process has as many descriptors and threads as at its
/// beginning and no child, and /dev/shm has the same files. Gives asynchronous ends two seconds.
class NothingLeft {
 public:
  NothingLeft();
  ~NothingLeft();
  NothingLeft(const NothingLeft&) = delete;
  NothingLeft& operator=(const NothingLeft&) = delete;

 private:
  std::string Difference() const;

  std::set<std::string> shared_files_;
  int32_t descriptors_;
  int32_t threads_;
};

}  // namespace mycel::reports
