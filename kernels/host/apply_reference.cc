#include "kernels/host/apply_reference.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "core/base/int128.h"

namespace mycel {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// A binary floating format with an implied leading one: 16 bits, of which `fraction_bits` are fraction.
struct ShortFormat {
  int fraction_bits;
  int exponent_min;  // of the smallest normal number
  int exponent_max;  // of the largest finite one
};
constexpr ShortFormat kHalf = {10, -14, 15};
constexpr ShortFormat kBfloat16 = {7, -126, 127};

double Decode(const ShortFormat& format, uint16_t bits) {
  const int fraction = bits & ((1 << format.fraction_bits) - 1);
  const int exponent = (bits & 0x7FFF) >> format.fraction_bits;
  const double sign = (bits & 0x8000) != 0 ? -1.0 : 1.0;
  const int exponent_special = format.exponent_max - format.exponent_min + 2;
  if (exponent == exponent_special) return fraction == 0 ? sign * kInfinity : std::nan("");
  const double significand = exponent == 0 ? fraction : fraction + (1 << format.fraction_bits);
  return sign * std::ldexp(significand, std::max(exponent, 1) - 1 + format.exponent_min - format.fraction_bits);
}

uint16_t Encode(const ShortFormat& format, double value) {
  const int exponent_special = format.exponent_max - format.exponent_min + 2;
  const int infinity = exponent_special << format.fraction_bits;
  if (std::isnan(value)) return static_cast<uint16_t>(infinity | (1 << (format.fraction_bits - 1)));
  const int sign = std::signbit(value) ? 0x8000 : 0;
  const double magnitude = std::fabs(value);
  if (magnitude == 0) return static_cast<uint16_t>(sign);
  if (std::isinf(magnitude)) return static_cast<uint16_t>(sign | infinity);
  const int exponent = std::max(std::ilogb(magnitude), format.exponent_min);
  // In units of the last place; exact, because it only scales by a power of two. nearbyint rounds to nearest even.
  const auto units = static_cast<int64_t>(std::nearbyint(std::ldexp(magnitude, format.fraction_bits - exponent)));
  // Carries of `units` into the exponent are what rounding up to the next power of two means.
  const int64_t bits = (static_cast<int64_t>(exponent - format.exponent_min) << format.fraction_bits) + units;
  return static_cast<uint16_t>(sign | (bits >= infinity ? infinity : static_cast<int>(bits)));
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
  }
  if (op == ReduceOp::kAvg && divisor != 0) {
    // Sums of 64-bit integers wrap before the division; narrower ones are exact.
    if (sizeof(T) == 8) bits = static_cast<uint128>(static_cast<Wide>(static_cast<T>(bits)));
    bits = static_cast<uint128>(static_cast<Wide>(bits) / divisor);
  }
  return static_cast<T>(bits);
}

}  // namespace

double HalfToDouble(uint16_t bits) { return Decode(kHalf, bits); }
double Bfloat16ToDouble(uint16_t bits) { return Decode(kBfloat16, bits); }
uint16_t HalfFromDouble(double value) { return Encode(kHalf, value); }
uint16_t Bfloat16FromDouble(double value) { return Encode(kBfloat16, value); }

std::vector<uint8_t> ReferenceElement(DataType type, ReduceOp op, const std::vector<const uint8_t*>& inputs,
                                      size_t index, int32_t divisor) {
  if (inputs.size() == 1 && (op != ReduceOp::kAvg || divisor == 0)) {
    const uint8_t* from = inputs[0] + index * SizeOf(type);
    return {from, from + SizeOf(type)};
  }
  const auto as_float = [&](double (*decode)(uint16_t)) {
    return ReduceFloating<float>(op, inputs.size(), divisor, [&](size_t i) {
      return static_cast<float>(decode(Load<uint16_t>(inputs[i], index)));
    });
  };
  switch (type) {
    case DataType::kFloat16:
      return Bytes(HalfFromDouble(as_float(HalfToDouble)));
    case DataType::kBfloat16:
      return Bytes(Bfloat16FromDouble(as_float(Bfloat16ToDouble)));
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
