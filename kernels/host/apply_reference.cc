#include "kernels/host/apply_reference.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "core/base/int128.h"

namespace mycel {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// A binary floating format with an implied leading one, in `bits` bits, of which `fraction_bits` are fraction.
struct ShortFormat {
  int bits;
  int fraction_bits;
  int exponent_min;  // of the smallest normal number
  int largest;       // the bits of the largest finite number
  int infinity;      // the bits that larger numbers round to
  int nan;
};
constexpr ShortFormat kHalf = {16, 10, -14, 0x7BFF, 0x7C00, 0x7E00};
constexpr ShortFormat kBfloat16 = {16, 7, -126, 0x7F7F, 0x7F80, 0x7FC0};
constexpr ShortFormat kE4m3 = {8, 3, -6, 0x7E, 0x7E, 0x7F};  // has no infinity: saturates
constexpr ShortFormat kE5m2 = {8, 2, -14, 0x7B, 0x7C, 0x7E};

double Decode(const ShortFormat& format, int bits) {
  const int sign_bit = 1 << (format.bits - 1);
  const double sign = (bits & sign_bit) != 0 ? -1.0 : 1.0;
  const int magnitude = bits & (sign_bit - 1);
  if (magnitude > format.largest) return magnitude == format.infinity ? sign * kInfinity : std::nan("");
  const int fraction = magnitude & ((1 << format.fraction_bits) - 1);
  const int exponent = magnitude >> format.fraction_bits;
  const double significand = exponent == 0 ? fraction : fraction + (1 << format.fraction_bits);
  return sign * std::ldexp(significand, std::max(exponent, 1) - 1 + format.exponent_min - format.fraction_bits);
}

int Encode(const ShortFormat& format, double value) {
  if (std::isnan(value)) return format.nan;
  const int sign = std::signbit(value) ? 1 << (format.bits - 1) : 0;
  const double magnitude = std::fabs(value);
  if (magnitude == 0) return sign;
  if (std::isinf(magnitude)) return sign | format.infinity;
  const int exponent = std::max(std::ilogb(magnitude), format.exponent_min);
  // In units of the last place; exact, because it only scales by a power of two. nearbyint rounds to nearest even.
  const auto units = static_cast<int64_t>(std::nearbyint(std::ldexp(magnitude, format.fraction_bits - exponent)));
  // Carries of `units` into the exponent are what rounding up to the next power of two means.
  const int64_t bits = (static_cast<int64_t>(exponent - format.exponent_min) << format.fraction_bits) + units;
  return sign | (bits > format.largest ? format.infinity : static_cast<int>(bits));
}

template <typename T>
T Load(const uint8_t* from, size_t index) {
  T value;
  std::memcpy(&value, from + index * sizeof(T), sizeof(T));
  return value;
}

template <typename T>
std::vector<uint8_t> Bytes(T value) {
  std::vector<uint8_t> bytes(sizeof(T));
  std::memcpy(bytes.data(), &value, sizeof(T));
  return bytes;
}

template <typename T>
T CombineFloating(ReduceOp op, T a, T b) {
  if (op == ReduceOp::kProd) return a * b;
  if (op == ReduceOp::kSum || op == ReduceOp::kAvg) return a + b;
  if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<T>::quiet_NaN();
  const bool a_is_less = a < b || (a == b && std::signbit(a) && !std::signbit(b));
  return (op == ReduceOp::kMin) == a_is_less ? a : b;
}

/// `convert(i)`: input i as the accumulation type T.
template <typename T, typename Convert>
T ReduceFloating(ReduceOp op, size_t input_count, int32_t divisor, Convert convert) {
  T acc = convert(0);
  for (size_t i = 1; i < input_count; ++i) acc = CombineFloating<T>(op, acc, convert(i));
  if (op == ReduceOp::kAvg && divisor != 0) acc /= static_cast<T>(divisor);
  return std::isnan(acc) ? std::numeric_limits<T>::quiet_NaN() : acc;
}

/// Integers of any width: exact or modulo 2^128, then cut to the width.
template <typename T>
T ReduceInteger(ReduceOp op, const std::vector<const uint8_t*>& inputs, size_t index, int32_t divisor) {
  using Wide = std::conditional_t<std::is_signed_v<T>, int128, uint128>;
  uint128 bits = static_cast<uint128>(static_cast<Wide>(Load<T>(inputs[0], index)));
  for (size_t i = 1; i < inputs.size(); ++i) {
    const Wide acc = static_cast<Wide>(bits);
    const Wide next = static_cast<Wide>(Load<T>(inputs[i], index));
    if (op == ReduceOp::kSum || op == ReduceOp::kAvg) bits += static_cast<uint128>(next);
    if (op == ReduceOp::kProd) bits *= static_cast<uint128>(next);
    if (op == ReduceOp::kMax && next > acc) bits = static_cast<uint128>(next);
    if (op == ReduceOp::kMin && next < acc) bits = static_cast<uint128>(next);
    if (op == ReduceOp::kBand) bits &= static_cast<uint128>(next);
    if (op == ReduceOp::kBor) bits |= static_cast<uint128>(next);
    if (op == ReduceOp::kBxor) bits ^= static_cast<uint128>(next);
  }
  if (op == ReduceOp::kAvg && divisor != 0) {
    bits = static_cast<uint128>(static_cast<Wide>(bits) / divisor);
  }
  return static_cast<T>(bits);
}

}  // namespace

double HalfToDouble(uint16_t bits) { return Decode(kHalf, bits); }
double Bfloat16ToDouble(uint16_t bits) { return Decode(kBfloat16, bits); }
double E4m3ToDouble(uint8_t bits) { return Decode(kE4m3, bits); }
double E5m2ToDouble(uint8_t bits) { return Decode(kE5m2, bits); }
uint16_t HalfFromDouble(double value) { return static_cast<uint16_t>(Encode(kHalf, value)); }
uint16_t Bfloat16FromDouble(double value) { return static_cast<uint16_t>(Encode(kBfloat16, value)); }
uint8_t E4m3FromDouble(double value) { return static_cast<uint8_t>(Encode(kE4m3, value)); }
uint8_t E5m2FromDouble(double value) { return static_cast<uint8_t>(Encode(kE5m2, value)); }

std::vector<uint8_t> ReferenceElement(DataType type, ReduceOp op, const std::vector<const uint8_t*>& inputs,
                                      size_t index, int32_t divisor) {
  if (inputs.size() == 1 && (op != ReduceOp::kAvg || divisor == 0)) {
    const uint8_t* from = inputs[0] + index * SizeOf(type);
    return {from, from + SizeOf(type)};
  }
  const auto as_float = [&]<typename Bits>(double (*decode)(Bits)) {
    return ReduceFloating<float>(op, inputs.size(), divisor,
                                 [&](size_t i) { return static_cast<float>(decode(Load<Bits>(inputs[i], index))); });
  };
  switch (type) {
    case DataType::kFloat16:
      return Bytes(HalfFromDouble(as_float(HalfToDouble)));
    case DataType::kBfloat16:
      return Bytes(Bfloat16FromDouble(as_float(Bfloat16ToDouble)));
    case DataType::kFloat8e4m3:
      return Bytes(E4m3FromDouble(as_float(E4m3ToDouble)));
    case DataType::kFloat8e5m2:
      return Bytes(E5m2FromDouble(as_float(E5m2ToDouble)));
    case DataType::kFloat32:
      return Bytes(
          ReduceFloating<float>(op, inputs.size(), divisor, [&](size_t i) { return Load<float>(inputs[i], index); }));
    case DataType::kFloat64:
      return Bytes(
          ReduceFloating<double>(op, inputs.size(), divisor, [&](size_t i) { return Load<double>(inputs[i], index); }));
    case DataType::kInt8:
      return Bytes(ReduceInteger<int8_t>(op, inputs, index, divisor));
    case DataType::kUint8:
      return Bytes(ReduceInteger<uint8_t>(op, inputs, index, divisor));
    case DataType::kInt16:
      return Bytes(ReduceInteger<int16_t>(op, inputs, index, divisor));
    case DataType::kUint16:
      return Bytes(ReduceInteger<uint16_t>(op, inputs, index, divisor));
    case DataType::kInt32:
      return Bytes(ReduceInteger<int32_t>(op, inputs, index, divisor));
    case DataType::kUint32:
      return Bytes(ReduceInteger<uint32_t>(op, inputs, index, divisor));
    case DataType::kInt64:
      return Bytes(ReduceInteger<int64_t>(op, inputs, index, divisor));
    case DataType::kUint64:
      return Bytes(ReduceInteger<uint64_t>(op, inputs, index, divisor));
  }
  return {};
}

}  // namespace mycel
