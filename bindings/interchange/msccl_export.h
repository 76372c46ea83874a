// Plan -> MSCCL algorithm.
//
// Every op becomes steps of one rank. A block owns one connection in each direction at most, so an op that reads or
// writes several channels is spread over blocks:
//   blocks      one per incoming and per outgoing channel; an incoming one shares its block with the outgoing one that
//               passes on most of what it brings (then receive, reduce and send are one step: rcs, rrs, rrcs). One more
//               for copies within a rank. MSCCL channel = index of our channel.
//   reductions  left to right, in the plan's order, so that the result keeps its bits: rrc for a channel, re for memory
//   scratch     one place for each scratch cell, and one for what an op keeps only to pass it on
//   depid/deps  from what each step reads and writes: the last writer, or the readers since. Those that follow from
//               others are left out; more than one become nops in front
// Skews are dropped: MSCCL's blocks run ahead of each other by themselves. The result is executed (msccl_trace.h) with
// MSCCL's two messages a connection; where that deadlocks, incoming and outgoing channels get blocks of their own.
#pragma once

#include "bindings/interchange/msccl_algorithm.h"
#include "core/base/status.h"
#include "core/plan/plan.h"

namespace mycel::msccl {

/// `plan` must verify. Impossible where MSCCL cannot say it or `limits` forbid it: names the collective, or the rank
/// and what it has too much of, and the cure.
StatusOr<Algorithm> ExportPlan(const Plan& plan, const Limits& limits);

}  // namespace mycel::msccl
