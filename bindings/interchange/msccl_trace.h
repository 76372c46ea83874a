// Runs an MSCCL algorithm symbolically: proves that it means something, and finds out which chunk each step moves.
//
// Blocks take turns; a step runs when its dependency is done, its message has arrived and its connection has room
// (FifoSlotsOf). One tile is run: tiles touch different bytes and go through the same steps in the same order.
//
// What this refuses, naming the step and its line: a circle of blocks that wait for each other; sends and receives that
// do not meet, or meet with different counts; reads of what nothing wrote; sums of different chunks or of one
// contribution twice; two steps that touch the same chunk, one of them writing, with neither dependency nor message
// between them. Whether the right chunks end in the right places is left to the plan's verifier.
#pragma once

#include "bindings/interchange/msccl_algorithm.h"
#include "bindings/interchange/trace.h"
#include "core/base/status.h"

namespace mycel::msccl {

/// How `algorithm` was found wrong is an answer, not bad input: OutOfRange (see wrong_plan.h).
StatusOr<Trace> TraceOf(const Algorithm& algorithm);

}  // namespace mycel::msccl
