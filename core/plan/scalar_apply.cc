#include "core/plan/scalar_apply.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "core/base/check.h"
#include "core/base/int128.h"

namespace mycel {
namespace {

/// How one type is stored and in what it is computed.
template <typename Stored, typename Wide>
struct Plain {
  using Storage = Stored;
  using Accumulator = Wide;
  static Wide Load(Stored value) { return static_cast<Wide>(value); }
  static Stored Store(Wide value) { return static_cast<Stored>(value); }
};
struct Half {
  using Storage = uint16_t;
  using Accumulator = float;
  static float Load(uint16_t bits) { return HalfToFloat(bits); }
  static uint16_t Store(float value) { return FloatToHalf(value); }
};
struct Bfloat16 {
  using Storage = uint16_t;
  using Accumulator = float;
  static float Load(uint16_t bits) { return Bfloat16ToFloat(bits); }
  static uint16_t Store(float value) { return FloatToBfloat16(value); }
};
struct E4m3 {
  using Storage = uint8_t;
  using Accumulator = float;
  static float Load(uint8_t bits) { return E4m3ToFloat(bits); }
  static uint8_t Store(float value) { return FloatToE4m3(value); }
};
struct E5m2 {
  using Storage = uint8_t;
  using Accumulator = float;
  static float Load(uint8_t bits) { return E5m2ToFloat(bits); }
  static uint8_t Store(float value) { return FloatToE5m2(value); }
};

template <typename T>
inline constexpr bool kIsFloat = std::is_floating_point_v<T>;

/// a * b modulo 2^128 for integers: unsigned products wrap without undefined behaviour.
template <typename T>
T Product(T a, T b) {
  if constexpr (kIsFloat<T>) {
    return a * b;
  } else {
    return static_cast<T>(static_cast<uint128>(a) * static_cast<uint128>(b));
  }
}

template <typename T>
T Sum(T a, T b) {
  if constexpr (kIsFloat<T>) {
    return a + b;
  } else {
    return static_cast<T>(static_cast<uint128>(a) + static_cast<uint128>(b));
  }
}

/// Whether a comes before b; -0.0 comes before +0.0. Neither is NaN.
template <typename T>
bool Less(T a, T b) {
  if constexpr (kIsFloat<T>) {
    if (a == b) return std::signbit(a) && !std::signbit(b);
  }
  return a < b;
}

template <typename T>
T Extreme(T a, T b, bool want_max) {
  if constexpr (kIsFloat<T>) {
    if (std::isnan(a)) return a;
    if (std::isnan(b)) return b;
  }
  return Less(a, b) == want_max ? b : a;
}

template <typename T, typename F>
T Bitwise(T a, T b, const F& combine) {
  if constexpr (!kIsFloat<T>) return static_cast<T>(combine(static_cast<uint128>(a), static_cast<uint128>(b)));
  MYCEL_CHECK(false);  // Allows() refuses it
  return a;
}

template <typename T>
T Combine(ReduceOp op, T a, T b) {
  switch (op) {
    case ReduceOp::kSum:
    case ReduceOp::kAvg:
      return Sum(a, b);
    case ReduceOp::kProd:
      return Product(a, b);
    case ReduceOp::kMax:
      return Extreme(a, b, true);
    case ReduceOp::kMin:
      return Extreme(a, b, false);
    case ReduceOp::kBand:
      return Bitwise(a, b, [](uint128 x, uint128 y) { return x & y; });
    case ReduceOp::kBor:
      return Bitwise(a, b, [](uint128 x, uint128 y) { return x | y; });
    case ReduceOp::kBxor:
      return Bitwise(a, b, [](uint128 x, uint128 y) { return x ^ y; });
    case ReduceOp::kPreMulSum:
    case ReduceOp::kUser:
      break;
  }
  MYCEL_CHECK(false);  // what a program brings along is not known here
  return a;
}

template <typename Type>
void Apply(const ScalarReduction& reduction, const std::vector<const std::byte*>& inputs, std::byte* output,
           int64_t count) {
  using Storage = typename Type::Storage;
  using Accumulator = typename Type::Accumulator;
  const auto load = [](const std::byte* from, int64_t element) {
    Storage value;
    std::memcpy(&value, from + element * static_cast<int64_t>(sizeof(Storage)), sizeof value);
    return Type::Load(value);
  };
  for (int64_t element = 0; element < count; ++element) {
    Accumulator total = load(inputs[0], element);
    for (size_t i = 1; i < inputs.size(); ++i) total = Combine(reduction.op, total, load(inputs[i], element));
    if (reduction.op == ReduceOp::kAvg && reduction.finish) total /= static_cast<Accumulator>(reduction.rank_count);
    const Storage value = Type::Store(total);
    std::memcpy(output + element * static_cast<int64_t>(sizeof(Storage)), &value, sizeof value);
  }
}

}  // namespace

void ScalarApply(const ScalarReduction& reduction, const std::vector<const std::byte*>& inputs, std::byte* output,
                 int64_t count) {
  MYCEL_CHECK(!inputs.empty());
  if (count == 0) return;  // empty buffers may be null, which memmove does not accept
  if (inputs.size() == 1 && !(reduction.op == ReduceOp::kAvg && reduction.finish)) {
    std::memmove(output, inputs[0], static_cast<size_t>(count) * SizeOf(reduction.type));  // every bit, NaN or not
    return;
  }
  switch (reduction.type) {
    case DataType::kInt8:
      return Apply<Plain<int8_t, int128>>(reduction, inputs, output, count);
    case DataType::kUint8:
      return Apply<Plain<uint8_t, uint128>>(reduction, inputs, output, count);
    case DataType::kInt16:
      return Apply<Plain<int16_t, int128>>(reduction, inputs, output, count);
    case DataType::kUint16:
      return Apply<Plain<uint16_t, uint128>>(reduction, inputs, output, count);
    case DataType::kInt32:
      return Apply<Plain<int32_t, int128>>(reduction, inputs, output, count);
    case DataType::kUint32:
      return Apply<Plain<uint32_t, uint128>>(reduction, inputs, output, count);
    case DataType::kInt64:
      return Apply<Plain<int64_t, int128>>(reduction, inputs, output, count);
    case DataType::kUint64:
      return Apply<Plain<uint64_t, uint128>>(reduction, inputs, output, count);
    case DataType::kFloat16:
      return Apply<Half>(reduction, inputs, output, count);
    case DataType::kFloat32:
      return Apply<Plain<float, float>>(reduction, inputs, output, count);
    case DataType::kFloat64:
      return Apply<Plain<double, double>>(reduction, inputs, output, count);
    case DataType::kBfloat16:
      return Apply<Bfloat16>(reduction, inputs, output, count);
    case DataType::kFloat8e4m3:
      return Apply<E4m3>(reduction, inputs, output, count);
    case DataType::kFloat8e5m2:
      return Apply<E5m2>(reduction, inputs, output, count);
  }
}

float HalfToFloat(uint16_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000U) << 16;
  const int exponent = (bits >> 10) & 0x1f;
  const uint32_t fraction = bits & 0x3ffU;
  if (exponent == 0x1f) return std::bit_cast<float>(sign | 0x7f800000U | (fraction << 13));
  const float magnitude = exponent == 0 ? std::ldexp(static_cast<float>(fraction), -24)
                                        : std::ldexp(static_cast<float>(fraction | 0x400U), exponent - 25);
  return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(magnitude));
}

uint16_t FloatToHalf(float value) {
  const auto sign = static_cast<uint16_t>((std::bit_cast<uint32_t>(value) >> 16) & 0x8000U);
  if (std::isnan(value)) return static_cast<uint16_t>(sign | 0x7e00U);
  const float magnitude = std::fabs(value);
  if (magnitude >= 65520.0F) return static_cast<uint16_t>(sign | 0x7c00U);  // halfway beyond the largest, 65504
  // Below 2^-14 halves are multiples of 2^-24; above, the spacing follows the exponent.
  constexpr int kExponentMin = -13;  // of 2^-14, as frexp counts: magnitude = m * 2^exponent, m in [1/2, 1)
  int exponent = kExponentMin;
  if (magnitude >= 0x1p-14F) std::frexp(magnitude, &exponent);
  const auto steps = static_cast<uint32_t>(std::nearbyint(std::ldexp(magnitude, 11 - exponent)));  // ties to even
  // Normal numbers have 1024 steps too many, one for each lower exponent: hence the exponent field less one. A rounding
  // overflow carries into it as it should.
  const uint32_t field = static_cast<uint32_t>(exponent - kExponentMin) << 10;
  return static_cast<uint16_t>(sign | (field + steps));
}

float Bfloat16ToFloat(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

uint16_t FloatToBfloat16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  if (std::isnan(value)) return static_cast<uint16_t>((bits >> 16) | 0x40U);
  return static_cast<uint16_t>((bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16);
}

namespace {

/// The magnitude that the low 7 bits mean in a format of `fraction_bits`, as a number whatever they are.
float ByteMagnitude(int bits, int fraction_bits, int bias) {
  const int fraction = bits & ((1 << fraction_bits) - 1);
  const int exponent = bits >> fraction_bits;
  return exponent == 0
             ? std::ldexp(static_cast<float>(fraction), 1 - bias - fraction_bits)
             : std::ldexp(static_cast<float>(fraction + (1 << fraction_bits)), exponent - bias - fraction_bits);
}

/// The nearest of the magnitudes 0 .. `last`, found by looking at all of them; ties go to the even one.
int NearestByte(float magnitude, int last, int fraction_bits, int bias) {
  int best = 0;
  for (int bits = 1; bits <= last; ++bits) {
    // Both differences are exact where they matter: next to the value.
    const float above = std::fabs(ByteMagnitude(bits, fraction_bits, bias) - magnitude);
    const float below = std::fabs(ByteMagnitude(best, fraction_bits, bias) - magnitude);
    if (above < below || (above == below && bits % 2 == 0)) best = bits;
  }
  return best;
}

uint8_t SignedByte(float value, int bits) { return static_cast<uint8_t>(bits | (std::signbit(value) ? 0x80 : 0)); }

}  // namespace

float E4m3ToFloat(uint8_t bits) {
  if ((bits & 0x7f) == 0x7f) return std::numeric_limits<float>::quiet_NaN();
  return std::copysign(ByteMagnitude(bits & 0x7f, 3, 7), (bits & 0x80) != 0 ? -1.0F : 1.0F);
}

uint8_t FloatToE4m3(float value) {
  if (std::isnan(value)) return 0x7f;
  const float magnitude = std::fabs(value);
  return SignedByte(value, magnitude > 448 ? 0x7e : NearestByte(magnitude, 0x7e, 3, 7));
}

float E5m2ToFloat(uint8_t bits) {
  if ((bits & 0x7f) > 0x7c) return std::numeric_limits<float>::quiet_NaN();
  const float magnitude =
      (bits & 0x7f) == 0x7c ? std::numeric_limits<float>::infinity() : ByteMagnitude(bits & 0x7f, 2, 15);
  return std::copysign(magnitude, (bits & 0x80) != 0 ? -1.0F : 1.0F);
}

uint8_t FloatToE5m2(float value) {
  if (std::isnan(value)) return 0x7e;
  const float magnitude = std::fabs(value);
  // 61440 lies halfway to what would come next.
  return SignedByte(value, magnitude >= 61440 ? 0x7c : NearestByte(magnitude, 0x7b, 2, 15));
}

}  // namespace mycel
