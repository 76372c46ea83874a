// Lowering: a schedule (trees of ranks) becomes a plan (chunk ops of all ranks). Pure; equal inputs give equal plans.
//
// Model. Lower() runs a list of passes over a Draft (draft.h): the schedule's trees, then ops, then lanes, phases and
// slots are refined step by step, and the last step writes the plan. Every op has a phase tau: in a tree of height H
// whose result travels down D hops, a node at distance d above the root works at tau = H - d, the root at H, a node at
// distance d below it at H + d. Every message therefore goes from tau to tau + 1, which is what makes order, deadlock
// freedom and slot counts easy to prove (slots.cc).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"
#include "core/plan/plan.h"
#include "core/plan/schedule.h"
#include "core/topo/topology.h"

namespace mycel {

/// Whether an op at phase tau lags tau iterations behind (skew), so that a lane works on many slices at once.
enum class Pipelining : uint8_t { kAuto, kOff, kOn };

struct PassTime {
  std::string_view pass;
  double us = 0;
};

struct LowerOptions {
  int32_t lanes = 1;           // at most; trees are spread over them
  double lane_excess = 1.125;  // the busiest lane may have so many times a fair share before trees are cut
  Pipelining pipelined = Pipelining::kAuto;  // kAuto: when the plan has more than one phase and the slots allow it
  int64_t slice_bytes = 65536;         // upper bound; shrinks when the slots of a ring would not fit `channel_bytes`
  int32_t slot_count = 0;              // 0: what the plan needs, at least kSlotsWanted
  int64_t channel_bytes = 512 * 1024;  // payload of a channel's ring: slot_count * slice_bytes must fit (not kDirect)
  Protocol protocol = Protocol::kSlot;
  std::vector<std::string> disabled;  // passes to skip, by name
  bool verify_each = false;           // prove the plan right after every pass
  double (*clock_us)() = nullptr;     // times the passes when given: planners own no clock
  std::vector<PassTime>* times = nullptr;
};

/// Slots a channel gets when it needs fewer: enough to run ahead of a busy receiver.
inline constexpr int32_t kSlotsWanted = 8;

/// Names of the passes, in order; the optional ones may appear in LowerOptions::disabled.
struct PassInfo {
  std::string_view name;
  std::string_view summary;
  bool optional = false;
};
std::vector<PassInfo> LoweringPasses();

/// Whether the schedule may run with Protocol::kDirect, where peers read a rank's memory late: true when, in place, no
/// tree overwrites what another tree sends (one-shot allreduce and alltoall do), or when there is no in-place form.
bool AllowsDirect(const Schedule& schedule);

/// Units of the widest tree that the pass "lanes" leaves whole in a v-collective's schedule of overlapping stages:
/// twice a fair lane's share of the busiest rank's stage hops.
int64_t StagedWidth(const Schedule& schedule, int32_t lanes);

/// The plan of `schedule`. InvalidArgument when the schedule is malformed (the tree is named) or an option is unknown.
StatusOr<Plan> Lower(const Schedule& schedule, const Topology& topology, const LowerOptions& options = {});

}  // namespace mycel
