// Skews for a traced plan, so that a lane works on several slices at once as thread blocks do that run ahead of each
// other.
//
// Every message is read one slice after it was sent, so skew(reader) = skew(sender) + 1; that alone keeps both ends of
// a channel in step. Within a lane, whoever touches the same memory later is skewed at least as much. The least numbers
// that satisfy both are found by relaxation; ops joined by messages move together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "bindings/interchange/trace.h"

namespace mycel {

/// Ops of one rank and lane, by index: `later` must not run ahead of `earlier`.
struct Precedence {
  size_t earlier = 0;
  size_t later = 0;
};

/// One skew for each op; empty when there are none: some message chain would have to be ahead of itself.
std::vector<int32_t> SkewsOf(const std::vector<TraceOp>& ops, const std::vector<Precedence>& precedences);

}  // namespace mycel
