// Deadlock-freedom for any number of slices (invariant 3).
//
// Model. Firing (o, t) is op o in iteration t of its lane. It needs other firings to be over:
//   lane     the op before it in the body, same t; for the first op, the last one of iteration t - 1
//   data     for each input channel, the firing that writes the message: same slice
//   credit   for each output channel, the firing that reads the message `slot_count` places earlier in the channel
//   wait     the firing it waits for: same slice
// A firing fires when all those are over, so a run ends early only if these needs run in a circle.
//
// Endless run. Let t run over all integers, with every op handling every slice. Then the needs repeat: "(v, t + d)
// needs (u, t)" for all t, and the plan becomes a finite graph whose edges u -> v carry a distance d: 0 or 1 along a
// lane, skew_v - skew_u for data and waits; credits follow from message numbers (messages.h). The endless run has a
// circle of needs exactly when some cycle of the graph has total distance <= 0 (below 0: go round once more and come
// back along the lane, whose own cycle has distance 1).
//
// Theorem. If every cycle has positive distance, no run of any number of slices deadlocks. Proof: a real run leaves
// firings out (prologue, epilogue, chunks with fewer slices). Each of its needs follows from a chain of needs of the
// endless run: lane needs skip what is left out; data needs are there as they are, since both sides leave out the same
// messages; a wait for a slice that does not exist waits for an earlier firing of the same op; and a credit need points
// `slot_count` EXISTING messages ahead, hence at or behind the firing that the endless run names, in the same lane. A
// circle in the real run would thus be a circle in the endless run. Conversely a cycle with distance <= 0 spans
// finitely many slices, so it closes in every run that is long enough: rejecting it is not mere caution.
//
// Method. Bellman-Ford finds start times a(o) with a(v) + d >= a(u) along every edge, or a cycle with negative
// distance; what is left are cycles of edges without slack, found by topological sorting.
#pragma once

#include "core/base/status.h"
#include "core/plan/verify/flat_plan.h"
#include "core/plan/verify/messages.h"

namespace mycel::verify {

/// InvalidArgument telling who waits for whom, round the circle.
Status CheckNoDeadlock(const FlatPlan& flat, const Messages& messages);

}  // namespace mycel::verify
