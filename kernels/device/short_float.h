// The floating formats of 16 and 8 bits, to and from float, in integer arithmetic and at most one exact or correctly
// rounded floating operation: the same bits from every compiler that neither fuses nor flushes subnormal numbers.
#pragma once

#include <bit>
#include <cstdint>

#include "kernels/device/annotations.h"

namespace mycel {

/// A binary format with an implied leading one. kOver: what is too large rounds to; kInfinity: its bits, or a number
/// that no bits make.
struct HalfFormat {
  static constexpr int kBits = 16, kFractionBits = 10, kExponentMin = -14;
  static constexpr uint32_t kLargest = 0x7BFF, kOver = 0x7C00, kInfinity = 0x7C00, kNan = 0x7E00;
};
struct Bfloat16Format {
  static constexpr int kBits = 16, kFractionBits = 7, kExponentMin = -126;
  static constexpr uint32_t kLargest = 0x7F7F, kOver = 0x7F80, kInfinity = 0x7F80, kNan = 0x7FC0;
};
struct E4m3Format {
  static constexpr int kBits = 8, kFractionBits = 3, kExponentMin = -6;
  static constexpr uint32_t kLargest = 0x7E, kOver = 0x7E, kInfinity = 0xFFFF, kNan = 0x7F;
};
struct E5m2Format {
  static constexpr int kBits = 8, kFractionBits = 2, kExponentMin = -14;
  static constexpr uint32_t kLargest = 0x7B, kOver = 0x7C, kInfinity = 0x7C, kNan = 0x7E;
};

/// 2 to the power of `exponent`, which is that of a normal float.
constexpr float PowerOfTwo(int exponent) { return std::bit_cast<float>(static_cast<uint32_t>(127 + exponent) << 23); }

/// Exact. A NaN becomes some NaN.
template <typename Format>
MYCEL_DEVICE constexpr float WidenShort(uint32_t bits) {
  constexpr int kShift = 23 - Format::kFractionBits;
  const uint32_t sign = (bits >> (Format::kBits - 1)) << 31;
  const uint32_t magnitude = bits & ((1U << (Format::kBits - 1)) - 1);
  // The exponent field as it stands is that of a number this much smaller; also where the format's number is subnormal,
  // and then perhaps the float.
  uint32_t wide =
      std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude << kShift) * PowerOfTwo(126 + Format::kExponentMin));
  if (magnitude > Format::kLargest) wide = magnitude == Format::kInfinity ? 0x7F800000U : 0x7FC00000U;
  return std::bit_cast<float>(sign | wide);
}

/// To nearest, ties to even; what is too large becomes kOver with its sign. `value` is not NaN.
template <typename Format>
MYCEL_DEVICE constexpr uint32_t NarrowShort(float value) {
  constexpr int kShift = 23 - Format::kFractionBits;
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = (bits >> 31) << (Format::kBits - 1);
  const uint32_t magnitude = bits & 0x7FFFFFFFU;
  // Normal: adding half a unit less one, and one more if the last bit that stays is odd; carries run into the exponent.
  uint32_t narrow = (magnitude + ((1U << (kShift - 1)) - 1) + ((magnitude >> kShift) & 1U)) >> kShift;
  if constexpr (Format::kExponentMin > -126) {
    narrow -= static_cast<uint32_t>(126 + Format::kExponentMin) << Format::kFractionBits;
    if (magnitude < static_cast<uint32_t>(127 + Format::kExponentMin) << 23) {
      // Subnormal: the addition rounds, because the last place of the larger number is the format's smallest number.
      constexpr float kLarger = PowerOfTwo(Format::kExponentMin - Format::kFractionBits + 23);
      narrow = std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) + kLarger) - std::bit_cast<uint32_t>(kLarger);
    }
  }
  return sign | (narrow > Format::kLargest ? Format::kOver : narrow);
}

}  // namespace mycel
