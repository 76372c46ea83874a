// The arithmetic of collectives, one element at a time and as plainly as it can be written: the oracle that fast
// kernels are compared with. Semantics (the same as kernels/host/apply.h states for the host device): floating types
// accumulate in float, float64 in double, over all inputs and round once; what is too large for f8e4m3 becomes its
// largest number, for the other floating types infinity; integers wrap; kAvg sums, integers in 128 bits, and divides
// when `finish`, truncating toward zero; kMax and kMin give NaN when any input is NaN, and -0.0 < +0.0.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/plan/types.h"

namespace mycel {

/// How to combine.
struct ScalarReduction {
  DataType type = DataType::kFloat32;
  ReduceOp op = ReduceOp::kSum;
  bool finish = false;  // the result is complete: kAvg divides by rank_count
  int32_t rank_count = 1;
};

/// Operations that AllReduceOps() lists, on types that they allow.
/// output[e] = inputs[0][e] (+) inputs[1][e] (+) ..., for e in [0, count). The output may be one of the inputs.
void ScalarApply(const ScalarReduction& reduction, const std::vector<const std::byte*>& inputs, std::byte* output,
                 int64_t count);

/// IEEE binary16 and bfloat16, rounding to nearest even.
float HalfToFloat(uint16_t bits);
uint16_t FloatToHalf(float value);
float Bfloat16ToFloat(uint16_t bits);
uint16_t FloatToBfloat16(float value);

/// The OCP 8-bit formats (OCP 8-bit Floating Point Specification, 2023). E4M3 has no infinities: what is beyond 448,
/// infinity too, becomes 448 with its sign. E5M2 rounds beyond 57344 to infinity as IEEE formats do.
float E4m3ToFloat(uint8_t bits);
uint8_t FloatToE4m3(float value);
float E5m2ToFloat(uint8_t bits);
uint8_t FloatToE5m2(float value);

}  // namespace mycel
