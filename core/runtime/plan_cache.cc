#include "core/runtime/plan_cache.h"

#include <bit>

#include "core/base/check.h"
#include "core/plan/encode.h"

namespace mycel {

int64_t BucketOf(int64_t bytes) {
  if (bytes <= 0) return 0;
  return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(bytes)));
}

StatusOr<CachedPlan*> PlanCache::Find(const PlanKey& key) {
  const auto known = plans_.find(key);
  if (known != plans_.end()) return known->second.get();
  PlanRequest request;
  request.collective = key.collective;
  request.root = Rank(key.root);
  request.bytes = key.bucket_bytes;
  request.reproducible = key.reproducible;
  request.planner = key.planner;
  request.lanes_min = key.lanes_min;
  request.lanes = key.lanes_max;
  MYCEL_ASSIGN_OR_RETURN(CachedPlan made, Make(request));
  auto cached = std::make_unique<CachedPlan>(std::move(made));
  return plans_.emplace(key, std::move(cached)).first->second.get();
}

StatusOr<CachedPlan> PlanCache::Make(const PlanRequest& request) {
  ++misses_;
  MYCEL_ASSIGN_OR_RETURN(const Plan plan, source_(request));
  return CachedPlan{Encode(plan, rank_), plan.planner};
}

StatusOr<PlanCache::Pair> PlanCache::MakePair(const PlanRequest& request) {
  MYCEL_CHECK(pairs_ != nullptr);
  ++misses_;
  MYCEL_ASSIGN_OR_RETURN(const PlanPair pair, pairs_(request));
  return Pair{{Encode(pair.there, rank_), pair.there.planner}, {Encode(pair.back, rank_), pair.back.planner}};
}

}  // namespace mycel
