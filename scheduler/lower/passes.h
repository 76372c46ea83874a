// The lowering passes, in the order in which lower.cc runs them. Each refines the draft and keeps it loweable: the
// required passes that follow turn any draft into a right plan.
#pragma once

#include "core/base/status.h"
#include "scheduler/lower/draft.h"
#include "scheduler/lower/lower.h"

namespace mycel::lower {

/// Trees with the same edges and adjacent chunks become one tree.
Status MergeTrees(const LowerOptions& options, Draft* draft);
/// Trees that overlap in place are cut at each other's borders, so that slices of one never straddle slices of another.
Status AlignChunks(const LowerOptions& options, Draft* draft);
/// Spreads trees over lanes, evenly for each rank; cuts every tree into one part per lane when whole trees will not do.
Status AssignLanes(const LowerOptions& options, Draft* draft);
/// Shifts trees in time: stages, reads before in-place writes, and at most kCrowdMax messages of a channel per phase.
Status AssignPhases(const LowerOptions& options, Draft* draft);
/// Trees become ops.
Status ExpandOps(const LowerOptions& options, Draft* draft);
/// Ops that send the same chunk of the send buffer in the same phase become one read with several outputs.
Status ShareReads(const LowerOptions& options, Draft* draft);
/// Each rank starts with its right neighbour, so that no receiver is everybody's first.
Status RotatePeers(const LowerOptions& options, Draft* draft);
/// Decides on skew; falls back to none when the slots it needs do not exist.
Status ChoosePipeline(const LowerOptions& options, Draft* draft);
/// Slots per channel that rule out deadlock, and slices that fit them.
Status ChooseSlots(const LowerOptions& options, Draft* draft);

/// Writes the plan; not a pass, since nothing is decided here.
Plan EmitPlan(const Draft& draft, const Topology& topology, Protocol protocol);

}  // namespace mycel::lower
