#include "bindings/interchange/unskewed.h"

#include <algorithm>
#include <numeric>

#include "core/plan/verify.h"
#include "core/plan/verify/deadlock.h"
#include "core/plan/verify/firing_order.h"
#include "core/plan/verify/flat_plan.h"
#include "core/plan/verify/messages.h"

namespace mycel {
namespace {

/// Lanes in the order of one slice: by skew, then place. Waits are renumbered with them.
void SortLanes(Plan* plan) {
  for (RankPlan& rank : plan->ranks) {
    std::vector<std::vector<int32_t>> place_of(rank.lanes.size());
    for (size_t l = 0; l < rank.lanes.size(); ++l) {
      std::vector<Op>& ops = rank.lanes[l].ops;
      std::vector<int32_t> order(ops.size());
      std::iota(order.begin(), order.end(), 0);
      std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
        return ops[static_cast<size_t>(a)].skew < ops[static_cast<size_t>(b)].skew;
      });
      std::vector<Op> sorted;
      place_of[l].resize(ops.size());
      for (size_t i = 0; i < order.size(); ++i) {
        place_of[l][static_cast<size_t>(order[i])] = static_cast<int32_t>(i);
        sorted.push_back(ops[static_cast<size_t>(order[i])]);
        sorted.back().skew = 0;
      }
      ops = std::move(sorted);
    }
    for (const Lane& lane : rank.lanes) {
      for (const Op& op : lane.ops) {
        for (int32_t i = 0; i < op.wait_count; ++i) {
          Wait& wait = plan->waits[static_cast<size_t>(op.waits + i)];
          wait.op = place_of[wait.lane.index()][static_cast<size_t>(wait.op)];
        }
      }
    }
  }
}

/// Visits every chunk of the plan, ops' and scratch cells'.
template <typename Visit>
void ForEachChunk(Plan* plan, const Visit& visit) {
  for (RankPlan& rank : plan->ranks) {
    for (ScratchCell& cell : rank.scratch) visit(cell.chunk);
    for (Lane& lane : rank.lanes) {
      for (Op& op : lane.ops) visit(op.chunk);
    }
  }
}

void DivideUnits(Plan* plan) {
  int64_t divisor = plan->units_per_block;
  ForEachChunk(plan, [&](const Chunk& chunk) { divisor = std::gcd(divisor, std::gcd(chunk.begin, chunk.end)); });
  if (divisor <= 1) return;
  plan->units_per_block /= divisor;
  ForEachChunk(plan, [&](Chunk& chunk) {
    chunk.begin /= divisor;
    chunk.end /= divisor;
  });
}

}  // namespace

StatusOr<UnskewedPlan> UnskewPlan(const Plan& plan) {
  MYCEL_RETURN_IF_ERROR(Verify(plan));
  UnskewedPlan out;
  out.plan = plan;
  SortLanes(&out.plan);
  if (plan.block_units.empty()) DivideUnits(&out.plan);
  MYCEL_RETURN_IF_ERROR(Verify(out.plan));
  const Plan& sorted = out.plan;
  // As few messages as possible wait in each channel: an order for rings of one or two slots serves deeper ones too.
  Plan shallow = sorted;
  const verify::FlatPlan flat(shallow);
  MYCEL_ASSIGN_OR_RETURN(const verify::Messages messages, verify::MatchMessages(flat));
  for (shallow.slot_count = 1; shallow.slot_count < sorted.slot_count; ++shallow.slot_count) {
    if (verify::CheckNoDeadlock(flat, messages).ok()) break;
  }
  for (const int32_t op : verify::FiringOrder(flat, messages)) {
    const verify::FlatLane& lane = flat.LaneOf(op);
    out.order.push_back({lane.rank, lane.lane.value(), flat.op(op)});
  }
  return out;
}

}  // namespace mycel
