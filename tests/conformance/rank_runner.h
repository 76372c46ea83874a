// Runs one body for every rank of a communicator, as threads or as forked processes, for suites that test a seam from
// all its sides at once.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/spi/bootstrap.h"
#include "core/spi/transport.h"

namespace mycel {

enum class RanksAre : uint8_t { kThreads, kProcesses };

/// What the body of one rank gets.
struct RankContext {
  Rank rank;
  int32_t rank_count = 0;
  Bootstrap* bootstrap = nullptr;

  /// All ranks are here; fails the test when they are not.
  void Meet() const;
};

SteadyTime InSeconds(double seconds);

/// Runs `body` for ranks 0..rank_count-1 and waits for all of them. A failed expectation of a process is a failed
/// expectation of the test. `expect_killed`: this rank (a process) must end by SIGKILL instead of returning.
void RunRanks(RanksAre ranks_are, int32_t rank_count, const std::function<void(const RankContext&)>& body,
              Rank expect_killed = Rank());

/// Calls `progress` until `done` holds; fails the test after a minute. Returns whether it held.
bool WaitUntilDone(const std::function<bool()>& done, const std::function<void()>& progress);

/// Of this process.
int32_t OpenDescriptorCount();
int32_t MappingCount();
int32_t ThreadCount();
/// Open descriptors that a started program would inherit, besides `known`.
std::vector<int> InheritableDescriptors(const std::vector<int>& known);

}  // namespace mycel
