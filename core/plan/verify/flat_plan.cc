#include "core/plan/verify/flat_plan.h"

#include <algorithm>
#include <numeric>

#include "core/plan/structure.h"

namespace mycel::verify {

FlatPlan::FlatPlan(const Plan& plan_in)
    : plan(plan_in), contract{plan_in.collective, plan_in.rank_count, plan_in.root} {
  NumberOps();
  SortLanes();
  IndexWaiters();
}

void FlatPlan::NumberOps() {
  for (Rank rank : Ids<Rank>(plan.rank_count)) {
    first_lane.push_back(lane_count());
    const std::vector<Lane>& mine = plan.ranks[rank.index()].lanes;
    for (size_t lane = 0; lane < mine.size(); ++lane) {
      lanes.push_back(
          {rank, LaneId(static_cast<int64_t>(lane)), op_count(), static_cast<int32_t>(mine[lane].ops.size())});
      for (const Op& op : mine[lane].ops) {
        ops.push_back(&op);
        lane_of.push_back(lane_count() - 1);
      }
    }
  }
  first_lane.push_back(lane_count());
}

void FlatPlan::SortLanes() {
  by_order.resize(ops.size());
  order.resize(ops.size());
  std::iota(by_order.begin(), by_order.end(), 0);
  for (const FlatLane& lane : lanes) {
    const auto begin = by_order.begin() + lane.first;
    const auto less_skewed = [this](int32_t a, int32_t b) { return op(a).skew < op(b).skew; };
    if (!std::is_sorted(begin, begin + lane.count, less_skewed)) {
      std::stable_sort(begin, begin + lane.count, less_skewed);
    }
    for (int32_t turn = 0; turn < lane.count; ++turn) order[static_cast<size_t>(begin[turn])] = turn;
  }
}

void FlatPlan::IndexWaiters() {
  waiters_first.assign(ops.size() + 1, 0);
  for (int pass = 0; pass < 2; ++pass) {  // count, then fill from the back
    for (int32_t o = 0; o < op_count(); ++o) {
      for (int32_t i = 0; i < op(o).wait_count; ++i) {
        int32_t& slot = waiters_first[static_cast<size_t>(OpOf(RankOf(o), WaitsOf(o)[i]))];
        if (pass == 0) {
          ++slot;
        } else {
          waiters[static_cast<size_t>(--slot)] = o;
        }
      }
    }
    if (pass == 0) {
      std::partial_sum(waiters_first.begin(), waiters_first.end(), waiters_first.begin());
      waiters.resize(static_cast<size_t>(waiters_first.back()));
    }
  }
}

std::string FlatPlan::Describe(int32_t op) const {
  const FlatLane& lane = LaneOf(op);
  return DescribeOp(lane.rank, lane.lane, op - lane.first);
}

}  // namespace mycel::verify
