// Parts of one tree, spread over lanes, made whole again: what a plan for many lanes loses when it is to run on one.
//
// Ops belong together when a message, a scratch cell or a result in the receive buffer joins them. Where all ops of one
// such group carry one chunk, and another group does the same things at the same ranks with the chunk right after it,
// one group with both chunks does what the two did, in half the messages.
#pragma once

#include "bindings/interchange/trace.h"

namespace mycel {

/// Merges what can be merged; `trace` must be right. Out of place the result is right too; in place it is once
/// LiftTrace has staged results that would fall on input which is still to be read.
void MergeParts(Trace* trace);

}  // namespace mycel
