// Plan -> MSCCL++ execution plan.
//
//   messages    a put into the receiver's memory and a signal there: straight to where the receiver keeps it when
//   nobody
//               has touched that place before, else into scratch of its own; the receiver waits, then reads
//   blocks      ops of a rank that touch the same memory share a block, in the plan's order; blocks are filled up to
//   the
//               executor's 64 ops and 16 channels
//   channels    memory channels, one for each of the plan's and each pair of blocks it joins
//   reductions  two at a time, in the plan's order
//   nop         between ops of a block that depend on each other, after waits and before signals
// Skews and slices are dropped: the executor runs each op once for the whole message. The file is for calls out of
// place
// ("inplace": false), as the format wants one or the other.
#pragma once

#include "bindings/interchange/mscclpp_plan.h"
#include "core/base/status.h"
#include "core/plan/plan.h"

namespace mycel::mscclpp {

/// `plan` must verify. Impossible where the format cannot say it or its limits forbid it: names the collective, or the
/// rank and what it has too much of, and the cure.
StatusOr<ExecutionPlan> ExportPlan(const Plan& plan);

}  // namespace mycel::mscclpp
