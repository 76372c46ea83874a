#include "tests/conformance/element.h"

#include <cmath>
#include <cstdint>
#include <cstring>

namespace mycel {
namespace {

template <typename T>
void Put(double value, void* element) {
  const T typed = static_cast<T>(value);
  std::memcpy(element, &typed, sizeof(T));
}

template <typename T>
double Get(const void* element) {
  T typed;
  std::memcpy(&typed, element, sizeof(T));
  return static_cast<double>(typed);
}

/// A short float of a double, rounded to nearest even; normal numbers and zero only.
uint16_t ToShort(double value, int exponent_bits, int mantissa_bits) {
  if (value == 0) return 0;
  int exponent = 0;
  const double fraction = std::frexp(std::fabs(value), &exponent);  // in [0.5, 1)
  const int bias = (1 << (exponent_bits - 1)) - 1;
  auto mantissa = static_cast<int64_t>(std::nearbyint(std::ldexp(fraction, mantissa_bits + 1)));
  if (mantissa == (int64_t{1} << (mantissa_bits + 1))) {
    mantissa >>= 1;
    ++exponent;
  }
  const int64_t bits =
      (static_cast<int64_t>(exponent - 1 + bias) << mantissa_bits) + mantissa - (int64_t{1} << mantissa_bits);
  return static_cast<uint16_t>(bits | (value < 0 ? 1 << (exponent_bits + mantissa_bits) : 0));
}

double FromShort(uint16_t bits, int exponent_bits, int mantissa_bits) {
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const int exponent = (bits >> mantissa_bits) & ((1 << exponent_bits) - 1);
  const int mantissa = bits & ((1 << mantissa_bits) - 1);
  const double magnitude = exponent == 0 ? std::ldexp(mantissa, 1 - bias - mantissa_bits)
                                         : std::ldexp(mantissa + (1 << mantissa_bits), exponent - bias - mantissa_bits);
  return (bits >> (exponent_bits + mantissa_bits) & 1) != 0 ? -magnitude : magnitude;
}

}  // namespace

void StoreElement(DataType type, double value, void* element) {
  switch (type) {
    case DataType::kInt8:
      return Put<int8_t>(value, element);
    case DataType::kUint8:
      return Put<uint8_t>(value, element);
    case DataType::kInt16:
      return Put<int16_t>(value, element);
    case DataType::kUint16:
      return Put<uint16_t>(value, element);
    case DataType::kFloat8e4m3:
      return Put<uint8_t>(ToShort(value, 4, 3), element);
    case DataType::kFloat8e5m2:
      return Put<uint8_t>(ToShort(value, 5, 2), element);
    case DataType::kInt32:
      return Put<int32_t>(value, element);
    case DataType::kUint32:
      return Put<uint32_t>(value, element);
    case DataType::kInt64:
      return Put<int64_t>(value, element);
    case DataType::kUint64:
      return Put<uint64_t>(value, element);
    case DataType::kFloat32:
      return Put<float>(value, element);
    case DataType::kFloat64:
      return Put<double>(value, element);
    case DataType::kFloat16: {
      const uint16_t bits = ToShort(value, 5, 10);
      std::memcpy(element, &bits, sizeof(bits));
      return;
    }
    case DataType::kBfloat16: {
      const uint16_t bits = ToShort(value, 8, 7);
      std::memcpy(element, &bits, sizeof(bits));
      return;
    }
  }
}

double LoadElement(DataType type, const void* element) {
  switch (type) {
    case DataType::kInt8:
      return Get<int8_t>(element);
    case DataType::kUint8:
      return Get<uint8_t>(element);
    case DataType::kInt16:
      return Get<int16_t>(element);
    case DataType::kUint16:
      return Get<uint16_t>(element);
    case DataType::kFloat8e4m3:
      return FromShort(*static_cast<const uint8_t*>(element), 4, 3);
    case DataType::kFloat8e5m2:
      return FromShort(*static_cast<const uint8_t*>(element), 5, 2);
    case DataType::kInt32:
      return Get<int32_t>(element);
    case DataType::kUint32:
      return Get<uint32_t>(element);
    case DataType::kInt64:
      return Get<int64_t>(element);
    case DataType::kUint64:
      return Get<uint64_t>(element);
    case DataType::kFloat32:
      return Get<float>(element);
    case DataType::kFloat64:
      return Get<double>(element);
    case DataType::kFloat16:
    case DataType::kBfloat16: {
      uint16_t bits = 0;
      std::memcpy(&bits, element, sizeof(bits));
      return type == DataType::kFloat16 ? FromShort(bits, 5, 10) : FromShort(bits, 8, 7);
    }
  }
  return 0;
}

}  // namespace mycel
