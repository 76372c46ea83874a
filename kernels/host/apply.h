// The arithmetic of the host device: combine k inputs, write m outputs, one pass over memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/plan/types.h"
#include "core/spi/user_reduction.h"

namespace mycel {

inline constexpr int kApplyInputsMax = 4096;

/// How to write the outputs.
struct ApplyOptions {
  bool finish = false;  // kAvg: divide by `rank_count` (the result is complete)
  int32_t rank_count = 1;
  /// Bit i set: output i is not read again soon and larger than the cache: use non-temporal stores.
  uint32_t stream_outputs = 0;
  const UserReduction* user = nullptr;  // kUser
};

/// outputs[j][e] = inputs[0][e] (+) inputs[1][e] (+) ... in this order, for e in [0, count), all j.
///
/// Any element alignment is fine. An output may be exactly one of the inputs (in place); other overlaps are undefined.
/// Semantics: floating types accumulate in float32 (float64 in double) over all inputs and round once to nearest even;
/// what is too large for a type becomes infinity, for f8e4m3, which has none, its largest number with the sign; NaN
/// becomes the type's one quiet NaN without sign; integers wrap; kAvg sums and divides when `finish` (integers: the
/// exact sum of all inputs, divided and truncated toward zero); kMax and kMin propagate NaN whichever input holds it,
/// and order -0.0 < +0.0; kBand, kBor and kBxor are for integers. The bits of the result do not depend on vector width,
/// alignment or position. kUser: options.user, called for two buffers at a time, from the last input to the first.
using ApplyFunction = void (*)(const void* const* inputs, int input_count, void* const* outputs, int output_count,
                               size_t count, const ApplyOptions& options);

/// The function for (type, op), best for this CPU (Highway dispatch). One input: a copy (kAvg with finish divides).
/// kPreMulSum: the sum of what ScaleElements has made. Programmer error: a pair that Allows refuses.
ApplyFunction ApplyFor(DataType type, ReduceOp op);

/// output[e] = input[e] * *factor, as kProd multiplies and rounds. The buffers may be the same.
void ScaleElements(DataType type, const void* factor, const void* input, void* output, size_t count);

/// outputs[j] = input: plain bytes, fan-out from one read; non-temporal stores where `stream_outputs` says so.
void CopyBytes(const void* input, void* const* outputs, int output_count, size_t bytes, uint32_t stream_outputs);

}  // namespace mycel
