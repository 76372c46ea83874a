// The arithmetic of kernels/README.md for devices whose threads handle elements one by one: a rule for each type and
// operation, single source for CUDA, HIP and, in the tests and without a GPU, the host. Bit for bit what
// kernels/host/apply_reference.h computes, provided that the compiler neither fuses multiplications with additions, nor
// flushes subnormal numbers, nor approximates divisions (kernels/cuda and kernels/hip say with which options).
//
// A rule: Storage, how an element lies in memory; Acc, what it is widened to; Widen, Combine, Narrow; kUnroll, how many
// vectors a thread holds at once. Integers accumulate modulo their width, or exactly where an average is finished.
#pragma once

#include <bit>
#include <cstdint>

#include "core/plan/type_codes.h"
#include "kernels/device/annotations.h"
#include "kernels/device/short_float.h"

namespace mycel {

/// Vectors in flight from each input of a thread: what its registers hold, widened.
template <typename T>
inline constexpr int kVectorsInFlight = sizeof(T) == 1 ? 2 : 4;

/// How an element of each type lies in memory.
template <DataType kType>
struct StorageOf;
#define MYCEL_TYPE(e, value, name, bytes, storage, kind) \
  template <>                                            \
  struct StorageOf<DataType::e> {                        \
    using Type = storage;                                \
  };
#include "core/plan/types.def"

template <DataType kType>
inline constexpr bool kIsFloating =
    kType == DataType::kFloat32 || kType == DataType::kFloat64 || kType == DataType::kFloat16 ||
    kType == DataType::kBfloat16 || kType == DataType::kFloat8e4m3 || kType == DataType::kFloat8e5m2;

// ---- Floating types: widen to float (float64: itself), narrow at the end; NaN becomes the type's one NaN.

template <typename D, DataType kType>
struct FloatingElement;

template <typename D>
struct FloatingElement<D, DataType::kFloat32> {
  using Storage = float;
  using Acc = float;
  MYCEL_DEVICE static float Widen(float value) { return value; }
  MYCEL_DEVICE static float Narrow(float acc) { return acc != acc ? std::bit_cast<float>(0x7FC00000U) : acc; }
};

template <typename D>
struct FloatingElement<D, DataType::kFloat64> {
  using Storage = double;
  using Acc = double;
  MYCEL_DEVICE static double Widen(double value) { return value; }
  MYCEL_DEVICE static double Narrow(double acc) {
    return acc != acc ? std::bit_cast<double>(uint64_t{0x7FF8000000000000}) : acc;
  }
};

template <typename D>
struct FloatingElement<D, DataType::kFloat16> {
  using Storage = uint16_t;
  using Acc = float;
  MYCEL_DEVICE static float Widen(uint16_t bits) { return D::FloatOfHalf(bits); }
  MYCEL_DEVICE static uint16_t Narrow(float acc) {
    return acc != acc ? static_cast<uint16_t>(HalfFormat::kNan) : D::HalfOfFloat(acc);
  }
};

template <typename Format, typename Bits>
struct ShortElement {
  using Storage = Bits;
  using Acc = float;
  MYCEL_DEVICE static float Widen(Bits bits) { return WidenShort<Format>(bits); }
  MYCEL_DEVICE static Bits Narrow(float acc) {
    return static_cast<Bits>(acc != acc ? Format::kNan : NarrowShort<Format>(acc));
  }
};
template <typename D>
struct FloatingElement<D, DataType::kFloat8e4m3> : ShortElement<E4m3Format, uint8_t> {};

template <typename D>
struct FloatingElement<D, DataType::kFloat8e5m2> : ShortElement<E5m2Format, uint8_t> {
  /// It is the upper half of a float16.
  MYCEL_DEVICE static float Widen(uint8_t bits) { return D::FloatOfHalf(static_cast<uint16_t>(bits << 8)); }
};

template <typename D>
struct FloatingElement<D, DataType::kBfloat16> : ShortElement<Bfloat16Format, uint16_t> {
  /// It is the upper half of a float.
  MYCEL_DEVICE static float Widen(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }
};

MYCEL_DEVICE inline bool IsNegative(float value) { return std::bit_cast<int32_t>(value) < 0; }
MYCEL_DEVICE inline bool IsNegative(double value) { return std::bit_cast<int64_t>(value) < 0; }

/// Whether `a` comes before `b`, -0 before +0; false where one is NaN.
template <typename T>
MYCEL_DEVICE inline bool IsLess(T a, T b) {
  return a < b || (a == b && IsNegative(a));
}

template <typename D, DataType kType, ReduceOp kOp, bool kDivides>
struct FloatingRule : FloatingElement<D, kType> {
  using Element = FloatingElement<D, kType>;
  using Acc = typename Element::Acc;
  static constexpr int kUnroll = kDivides ? 1 : kVectorsInFlight<typename Element::Storage>;

  MYCEL_DEVICE static Acc Combine(Acc a, Acc b) {
    if constexpr (kOp == ReduceOp::kProd) {
      return a * b;
    } else if constexpr (kOp == ReduceOp::kMax || kOp == ReduceOp::kMin) {
      if (b != b) return b;  // and a NaN in `a` stays, because then no comparison holds
      if (kOp == ReduceOp::kMin) return IsLess(b, a) ? b : a;
      return IsLess(a, b) ? b : a;
    } else {
      return a + b;
    }
  }
  MYCEL_DEVICE static auto Narrow(Acc acc, int32_t rank_count) {
    if constexpr (kDivides) return Element::Narrow(acc / static_cast<Acc>(rank_count));
    return Element::Narrow(acc);
  }
};

// ---- Integers.

template <typename T>
struct IntegerLimits {
  static constexpr bool kSigned = static_cast<T>(-1) < static_cast<T>(0);
};

/// A number of 128 bits in two's complement: exact sums of 64-bit integers.
struct WideInteger {
  uint64_t low;
  uint64_t high;
};

/// value / divisor, truncated toward zero, cut to 64 bits. `divisor` > 0.
MYCEL_DEVICE inline uint64_t DivideWide(WideInteger value, uint32_t divisor, bool is_signed) {
  const bool negative = is_signed && (value.high >> 63) != 0;
  if (negative) {
    value.low = ~value.low + 1;
    value.high = ~value.high + (value.low == 0 ? 1 : 0);
  }
  // By hand, 32 bits at a time from the top: a remainder below the divisor keeps each quotient within 32 bits.
  const uint32_t limbs[4] = {static_cast<uint32_t>(value.high >> 32), static_cast<uint32_t>(value.high),
                             static_cast<uint32_t>(value.low >> 32), static_cast<uint32_t>(value.low)};
  uint64_t quotient = 0;
  uint64_t remainder = 0;
  for (const uint32_t limb : limbs) {
    const uint64_t part = remainder << 32 | limb;
    quotient = quotient << 32 | part / divisor;
    remainder = part % divisor;
  }
  return negative ? ~quotient + 1 : quotient;
}

/// Wraps: unsigned arithmetic of 32 or 64 bits, cut to the width at the end.
template <typename T, ReduceOp kOp>
struct WrappingRule {
  using Storage = T;
  static constexpr bool kIs64 = sizeof(T) == 8;
  using Acc = decltype([] {
    if constexpr (kIs64)
      return uint64_t{0};
    else
      return uint32_t{0};
  }());
  static constexpr int kUnroll = kVectorsInFlight<T>;
  MYCEL_DEVICE static Acc Widen(T value) { return static_cast<Acc>(value); }
  MYCEL_DEVICE static Acc Combine(Acc a, Acc b) {
    if constexpr (kOp == ReduceOp::kProd)
      return a * b;
    else
      return a + b;
  }
  MYCEL_DEVICE static T Narrow(Acc acc, int32_t /*rank_count*/) { return static_cast<T>(acc); }
};

template <typename T, ReduceOp kOp>
struct ChoosingRule {
  using Storage = T;
  using Acc = T;
  static constexpr int kUnroll = kVectorsInFlight<T>;
  MYCEL_DEVICE static T Widen(T value) { return value; }
  MYCEL_DEVICE static T Combine(T a, T b) {
    if constexpr (kOp == ReduceOp::kMax)
      return a < b ? b : a;
    else
      return b < a ? b : a;
  }
  MYCEL_DEVICE static T Narrow(T acc, int32_t /*rank_count*/) { return acc; }
};

/// A finished average: the exact sum, divided. 32 bits hold 4096 numbers of 16 bits, 64 bits as many of 32.
template <typename T>
struct AverageRule {
  using Storage = T;
  static constexpr bool kSigned = IntegerLimits<T>::kSigned;
  using Acc = decltype([] {
    if constexpr (sizeof(T) <= 2)
      return int32_t{0};
    else if constexpr (kSigned)
      return int64_t{0};
    else
      return uint64_t{0};
  }());
  static constexpr int kUnroll = 1;
  MYCEL_DEVICE static Acc Widen(T value) { return value; }
  MYCEL_DEVICE static Acc Combine(Acc a, Acc b) { return a + b; }
  MYCEL_DEVICE static T Narrow(Acc acc, int32_t rank_count) {
    return static_cast<T>(acc / static_cast<Acc>(rank_count));
  }
};

template <typename T>
struct WideAverageRule {
  using Storage = T;
  using Acc = WideInteger;
  static constexpr bool kSigned = IntegerLimits<T>::kSigned;
  static constexpr int kUnroll = 1;
  MYCEL_DEVICE static WideInteger Widen(T value) {
    return {static_cast<uint64_t>(value), kSigned && value < 0 ? ~uint64_t{0} : 0};
  }
  MYCEL_DEVICE static WideInteger Combine(WideInteger a, WideInteger b) {
    const uint64_t low = a.low + b.low;
    return {low, a.high + b.high + (low < a.low ? 1 : 0)};
  }
  MYCEL_DEVICE static T Narrow(WideInteger acc, int32_t rank_count) {
    return static_cast<T>(DivideWide(acc, static_cast<uint32_t>(rank_count), kSigned));
  }
};

/// Bit by bit, whatever the width.
template <typename T, ReduceOp kOp>
struct BitwiseRule {
  using Storage = T;
  using Acc = T;
  static constexpr int kUnroll = kVectorsInFlight<T>;
  MYCEL_DEVICE static T Widen(T value) { return value; }
  MYCEL_DEVICE static T Combine(T a, T b) {
    if constexpr (kOp == ReduceOp::kBand)
      return static_cast<T>(a & b);
    else if constexpr (kOp == ReduceOp::kBor)
      return static_cast<T>(a | b);
    else
      return static_cast<T>(a ^ b);
  }
  MYCEL_DEVICE static T Narrow(T acc, int32_t /*rank_count*/) { return acc; }
};

}  // namespace mycel
