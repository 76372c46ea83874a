// Plans kept on disk between runs, for planners that take longer than reading does.
//
// Why ranks cannot come apart. Every rank plans for itself, and a plan that differs between ranks is an error that
// names them. A kept plan must therefore be the one that planning anew would give. Planners are pure functions: equal
// inputs give equal plans. The key of a kept plan (PlanStoreKey) says all inputs, and which code ran (the linker's
// build id), in full text; a file is used only if its key is equal byte for byte. So whether a rank reads or plans, and
// whether its neighbours do the same, makes no difference to the plan.
//
// A file is one header line with a checksum, the key, and the plan file of plan_json.h. What is read is proved right
// (Verify) before it is returned. Writers make a file under another name and rename it: readers see all or nothing, and
// of several writers one wins. Folders are made with mode 0700, files have 0600; a file of another user is not read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/base/status.h"
#include "core/plan/plan.h"
#include "core/spi/planner.h"
#include "core/topo/topology.h"

namespace mycel {

/// What all keys of a communicator share: the code and build, the topology, and `cost`, the fingerprint of the cost
/// model. Empty when this code has no identity (CodeId): then nothing may be kept.
std::string PlanStoreContext(const Topology& topology, const std::string& cost);
/// All that decides a plan, one fact a line. Empty when `context` is.
std::string PlanStoreKey(const std::string& context, const PlanRequest& request);

class PlanStore {
 public:
  static constexpr int64_t kBytesMax = int64_t{256} << 20;

  /// `folder` need not exist; the first plan makes it. Empty: keeps nothing and finds nothing. `bytes_max`: files
  /// beyond so many bytes go, those not used for longest first.
  explicit PlanStore(std::string folder, int64_t bytes_max = kBytesMax)
      : folder_(std::move(folder)), bytes_max_(bytes_max) {}

  /// The plan kept for `key` if it is whole, serves `request` on `topology`, and proves right. A file that does not is
  /// warned about in one line and removed. Any thread.
  std::optional<Plan> Find(const std::string& key, const Topology& topology, const PlanRequest& request) const;

  /// Keeps `plan`. A folder that cannot be written to or a full disk is a debug line, no error. Any thread, any number
  /// of processes.
  void Keep(const std::string& key, const Plan& plan) const;

  /// The file of `key`; for tests and messages.
  std::string PathOf(const std::string& key) const;

  struct Usage {
    int64_t files = 0;
    int64_t bytes = 0;
  };
  Usage Measure() const;

 private:
  std::string folder_;
  int64_t bytes_max_;
};

/// The folder of plans in the user's cache (CacheFolder in core/base/env.h); empty when nothing is to be kept.
std::string PlanStoreFolder();

}  // namespace mycel
