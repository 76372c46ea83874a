// Ranks as processes: forks them, carries the unique id, reaps them. The base of every multi-process test.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

#include "bindings/c/mycel.h"

namespace mycel::testing {

/// What one rank process does; its return value is the exit code. gtest assertions belong to the parent: the child
/// reports through its exit code and `Note`.
using RankBody = std::function<int(mycelComm_t comm, int rank)>;

struct RankOutcome {
  pid_t pid = 0;
  int exit_code = -1;  // -1: killed by `signal`
  int signal = 0;
  std::string note;  // what the child wrote with Note
};

struct RunOptions {
  double timeout_s = 60;                                     // afterwards everything is killed: a hang is a failure
  std::function<void(const std::vector<pid_t>&)> meanwhile;  // runs in the parent while the ranks run
  std::function<void(int rank)> before_init;                 // in the child
};

/// Forks `n` ranks, each with a communicator made from one unique id, and waits for all. The calling process must have
/// no other threads that matter.
std::vector<RankOutcome> RunRanks(int n, const RankBody& body, const RunOptions& options = {});

/// In a child: text for the parent (at most 4000 bytes, the last call counts).
void Note(const std::string& text);

/// Exit codes of children that failed before their body.
inline constexpr int kInitFailed = 100;

}  // namespace mycel::testing
