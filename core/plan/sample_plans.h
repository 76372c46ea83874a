// Small plans written by hand, for tests: one or two textbook algorithms per collective. They are built op by op, apart
// from any planner or lowering, so that a fault there cannot hide here.
#pragma once

#include <string>
#include <vector>

#include "core/plan/plan.h"

namespace mycel {

struct SampleOptions {
  int32_t ranks = 4;
  int32_t lanes = 1;  // each carries its share of every chunk
  Protocol protocol = Protocol::kSlot;
  int32_t slot_count = 4;
  int64_t slice_bytes = 256;
  Rank root = Rank(0);  // rooted collectives
  /// Slices by which an op runs behind the one that feeds it. Each keeps one more message waiting in a channel, so
  /// skewed plans need more slots.
  int32_t hop_skew = 0;
};

Plan RingAllGather(const SampleOptions& options);
Plan RingReduceScatter(const SampleOptions& options);
Plan RingAllReduce(const SampleOptions& options);
/// Everyone sends everything to everyone and reduces in rank order.
Plan OneShotAllReduce(const SampleOptions& options);
/// Everyone reduces its n-th part and sends the result to all.
Plan TwoShotAllReduce(const SampleOptions& options);
Plan ChainBroadcast(const SampleOptions& options);
Plan ChainReduce(const SampleOptions& options);
Plan DirectAllToAll(const SampleOptions& options);
Plan StarGather(const SampleOptions& options);
Plan StarScatter(const SampleOptions& options);
/// `demand`: ranks x ranks units, row = sender; pairs without units exchange nothing.
Plan DirectAllToAllV(const SampleOptions& options, const std::vector<int64_t>& demand);

struct SamplePlan {
  std::string name;
  Plan plan;
  bool in_place = true;  // right in place too
};

/// All of the above under `options`.
std::vector<SamplePlan> AllSamplePlans(const SampleOptions& options);

}  // namespace mycel
