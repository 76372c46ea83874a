// Runs an MSCCL++ execution plan symbolically: proves that it means something, and finds out which chunk each op moves.
//
// Blocks take turns; an op runs when the tokens, semaphores or blocks it waits for are there. A write into another
// rank's memory becomes a message to that rank, whose lane of the same number stores it at once; a read from another
// rank's memory becomes a message from there. Tokens, barriers and semaphores only order what touches memory, and the
// plan gets that order from the memory itself (lift.h).
//
// Refused, naming the op and its line: circles of blocks that wait; tokens that nobody takes; reads of what nothing
// wrote; sums of different chunks or of one contribution twice; two ops that touch the same chunk, one of them writing,
// ordered by neither token, barrier nor semaphore. Relaxed tokens order nothing, as their name says.
#pragma once

#include "bindings/interchange/mscclpp_plan.h"
#include "bindings/interchange/trace.h"
#include "core/base/status.h"

namespace mycel::mscclpp {

/// See wrong_plan.h for how a wrong plan is told.
StatusOr<Trace> TraceOf(const ExecutionPlan& plan);

}  // namespace mycel::mscclpp
