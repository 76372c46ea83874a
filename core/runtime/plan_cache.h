// Plans already made, by what decides them. A plan does not depend on the exact count, so sizes share a bucket: bytes
// rounded up to a power of two. The plan for a bucket is made for its upper end, hence independent of history.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>

#include "core/base/status.h"
#include "core/plan/collective.h"
#include "core/plan/program.h"
#include "core/spi/planner.h"

namespace mycel {

/// Makes a verified plan; pure, equal on all ranks. Bindings pass the chooser in. A request whose planner is empty, or
/// whose lanes or lanes_min are 0, leaves that to the source.
using PlanSource = std::function<StatusOr<Plan>(const PlanRequest&)>;

/// A plan for an alltoallv and one for the same traffic sent back.
struct PlanPair {
  Plan there;
  Plan back;
};
/// Makes both from one schedule where it can; pure, verified, equal on all ranks.
using PlanPairSource = std::function<StatusOr<PlanPair>(const PlanRequest&)>;

struct PlanKey {
  Collective collective = Collective::kAllReduce;
  int32_t root = -1;
  int64_t bucket_bytes = 0;   // nccl-tests' size, rounded up
  bool reproducible = false;  // PlanRequest's; false where nothing is reduced
  // What the call itself asks for (CallSettings); empty and 0: the plan source's choice.
  std::string planner;
  int32_t lanes_min = 0;
  int32_t lanes_max = 0;
  friend bool operator==(const PlanKey&, const PlanKey&) = default;
};

/// The bucket that a size of `bytes` falls into.
int64_t BucketOf(int64_t bytes);

/// One rank's program with the facts that explain it.
struct CachedPlan {
  Program program;
  std::string planner;
  bool agreed = false;  // all ranks have it and run it (communicator_agree.cc)
};

/// Owner: the thread inside the communicator.
class PlanCache {
 public:
  /// `pairs` may be empty where MakePair is not called.
  PlanCache(Rank rank, PlanSource source, PlanPairSource pairs)
      : rank_(rank), source_(std::move(source)), pairs_(std::move(pairs)) {}

  /// The program for `key`; made on a miss. The pointer lives as long as the cache.
  StatusOr<CachedPlan*> Find(const PlanKey& key);
  /// Whether all ranks have agreed to run the plan of `key`: alike on all of them.
  bool Agreed(const PlanKey& key) const {
    const auto known = plans_.find(key);
    return known != plans_.end() && known->second->agreed;
  }
  /// A program for a request that no bucket stands for (alltoallv); not kept here, but counted as a miss.
  StatusOr<CachedPlan> Make(const PlanRequest& request);
  /// The same for both directions of an exchange; one miss.
  struct Pair {
    CachedPlan there;
    CachedPlan back;
  };
  StatusOr<Pair> MakePair(const PlanRequest& request);
  uint64_t misses() const { return misses_; }

 private:
  struct KeyHash {
    size_t operator()(const PlanKey& key) const {
      return std::hash<int64_t>()(key.bucket_bytes * 31 + key.root * 1009 + static_cast<int64_t>(key.collective) +
                                  (key.reproducible ? 7919 : 0) + key.lanes_min * 37 + key.lanes_max * 41) ^
             std::hash<std::string>()(key.planner);
    }
  };
  Rank rank_;
  PlanSource source_;
  PlanPairSource pairs_;
  std::unordered_map<PlanKey, std::unique_ptr<CachedPlan>, KeyHash> plans_;
  uint64_t misses_ = 0;
};

}  // namespace mycel
