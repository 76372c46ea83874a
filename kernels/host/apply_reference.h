// The arithmetic of apply.h spelled out, one element at a time, for the tests to compare with: no bit tricks, no
// vectors, and nothing shared with the code under test.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/plan/types.h"

namespace mycel {

/// The value of a short float; NaN for all its NaNs.
double HalfToDouble(uint16_t bits);
double Bfloat16ToDouble(uint16_t bits);
double E4m3ToDouble(uint8_t bits);
double E5m2ToDouble(uint8_t bits);
/// The nearest short float, ties to even; one canonical NaN.
uint16_t HalfFromDouble(double value);
uint16_t Bfloat16FromDouble(double value);
uint8_t E4m3FromDouble(double value);
uint8_t E5m2FromDouble(double value);

/// The bytes of element `index` of inputs[0] (+) inputs[1] (+) ...; `divisor` 0: not finished.
std::vector<uint8_t> ReferenceElement(DataType type, ReduceOp op, const std::vector<const uint8_t*>& inputs,
                                      size_t index, int32_t divisor);

}  // namespace mycel
