// The arithmetic of the host device: combine k inputs, write m outputs, one pass over memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/plan/types.h"

namespace mycel {

inline constexpr int kApplyInputsMax = 4096;

/// How to write the outputs.
struct ApplyOptions {
  bool finish = false;  // kAvg: divide by `rank_count` (the result is complete)
  int32_t rank_count = 1;
  /// Bit i set: output i is not read again soon and larger than the cache: use non-temporal stores.
  uint32_t stream_outputs = 0;
};

/// outputs[j][e] = inputs[0][e] (+) inputs[1][e] (+) ... in this order, for e in [0, count), all j.
///
/// Any element alignment is fine. An output may be exactly one of the inputs (in place); other overlaps are undefined.
/// Semantics: floating types accumulate in float32 (float64 in double) over all inputs and round once to nearest even;
/// integers wrap; kAvg sums (integers in 64 bits or wider, truncating toward zero) and divides when `finish`; kMax and
/// kMin propagate NaN whichever input holds it, and order -0.0 < +0.0; the bits of the result do not depend on vector
/// width, alignment or position.
using ApplyFunction = void (*)(const void* const* inputs, int input_count, void* const* outputs, int output_count,
                               size_t count, const ApplyOptions& options);

/// The function for (type, op), best for this CPU (Highway dispatch). One input: a copy (kAvg with finish divides).
ApplyFunction ApplyFor(DataType type, ReduceOp op);

/// outputs[j] = input: plain bytes, fan-out from one read; non-temporal stores where `stream_outputs` says so.
void CopyBytes(const void* input, void* const* outputs, int output_count, size_t bytes, uint32_t stream_outputs);

}  // namespace mycel
