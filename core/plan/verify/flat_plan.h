// A plan with its ops and lanes numbered through: the flat arrays that the verifier's phases share.
//
// Words. `op` here is a flat op number; `lane` a flat lane number. An op handles slice s = t - skew at iteration t of
// its lane, so with one slice a lane runs its ops by (skew, place in the body): that is `order`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/plan/contract.h"
#include "core/plan/plan.h"

namespace mycel::verify {

struct FlatLane {
  Rank rank;
  LaneId lane;
  int32_t first = 0;  // op; the body is [first, first + count)
  int32_t count = 0;
};

/// `plan` has passed CheckStructure and outlives this.
struct FlatPlan {
  explicit FlatPlan(const Plan& plan_in);

  const Plan& plan;
  const Contract contract;
  std::vector<FlatLane> lanes;
  std::vector<int32_t> first_lane;  // of each rank, and one past the last
  std::vector<const Op*> ops;
  std::vector<int32_t> lane_of;        // of each op
  std::vector<int32_t> order;          // of each op: its turn in its lane when there is one slice
  std::vector<int32_t> by_order;       // lane.first + turn -> op
  std::vector<int32_t> waiters_first;  // of each op, and one past the last: who waits for it
  std::vector<int32_t> waiters;

  int32_t op_count() const { return static_cast<int32_t>(ops.size()); }
  int32_t lane_count() const { return static_cast<int32_t>(lanes.size()); }
  const Op& op(int32_t op) const { return *ops[static_cast<size_t>(op)]; }
  const FlatLane& LaneOf(int32_t op) const { return lanes[static_cast<size_t>(lane_of[static_cast<size_t>(op)])]; }
  Rank RankOf(int32_t op) const { return LaneOf(op).rank; }
  /// Place of the op in its lane's body.
  int32_t BodyPlaceOf(int32_t op) const { return op - LaneOf(op).first; }
  /// The flat op a wait of an op on `rank` means.
  int32_t OpOf(Rank rank, const Wait& wait) const {
    return lanes[static_cast<size_t>(first_lane[rank.index()]) + wait.lane.index()].first + wait.op;
  }
  const Wait* WaitsOf(int32_t op) const { return plan.waits.data() + this->op(op).waits; }
  /// "rank 2 lane 0 op 5".
  std::string Describe(int32_t op) const;

 private:
  void NumberOps();
  void SortLanes();
  void IndexWaiters();
};

}  // namespace mycel::verify
