#include "bench/perf/check_data.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <sstream>
#include <type_traits>

#include "core/base/check.h"
#include "core/base/rng.h"

namespace mycel::perf {
namespace {

uint64_t Mix(uint64_t a, uint64_t b) {
  uint64_t state = a ^ (b * 0xD1342543DE82EF95u);
  return SplitMix64(state);
}

// ---- How much a type holds exactly -------------------------------------------------------------------------------

/// Whole numbers of magnitude up to this, and every sum of them that stays within it, are exact.
int64_t WholeMax(DataType type) {
  switch (type) {
    case DataType::kInt8:
      return 127;
    case DataType::kUint8:
      return 255;
    case DataType::kInt16:
      return 32767;
    case DataType::kUint16:
      return 65535;
    case DataType::kFloat8e4m3:
      return 1 << 4;
    case DataType::kFloat8e5m2:
      return 1 << 3;
    case DataType::kBfloat16:
      return 1 << 8;
    case DataType::kFloat16:
      return 1 << 11;
    case DataType::kFloat32:
      return 1 << 24;
    case DataType::kInt32:
    case DataType::kUint32:
      return 0x7FFFFFFF;
    default:
      return int64_t{1} << 53;
  }
}

int FactorOf(int rank) { return 1 + rank % 2; }

/// Powers of two from 2^-this to 2^this are normal numbers of a floating type.
int ExponentMax(DataType type) {
  if (type == DataType::kFloat16 || type == DataType::kFloat8e5m2) return 14;
  if (type == DataType::kFloat8e4m3) return 6;
  return type == DataType::kFloat64 ? 1022 : 126;
}

// ---- Values --------------------------------------------------------------------------------------------------------

/// The values of all elements at all ranks: as a double, which holds every chosen floating value exactly, or as the
/// bits of an integer, of which an element takes the low ones.
class Generator {
 public:
  Generator(DataType type, std::optional<ReduceOp> op, int rank_count, uint64_t seed)
      : type_(type), op_(op), ranks_(rank_count), seed_(seed), share_(WholeMax(type) / rank_count) {}

  double Floating(size_t element, int rank) const {
    if (*op_ != ReduceOp::kProd) return static_cast<double>(Whole(element, rank));
    const uint64_t random = Bits(element, rank);
    const int exponent = IsActive(element, rank, ExponentMax(type_)) ? ((random & 2) != 0 ? 1 : -1) : 0;
    return std::ldexp((random & 1) != 0 ? -1.0 : 1.0, exponent);
  }

  uint64_t Integer(size_t element, int rank) const {
    if (*op_ == ReduceOp::kProd) return Bits(element, rank) | 1;
    return *op_ == ReduceOp::kAvg ? static_cast<uint64_t>(Average(element, rank)) : Bits(element, rank);
  }

  uint64_t Bits(size_t element, int rank) const { return Mix(Mix(seed_, element), Key(rank)); }

 private:
  static uint64_t Key(int rank) { return 0x5EED + static_cast<uint64_t>(rank); }

  int64_t Whole(size_t element, int rank) const {
    if (*op_ == ReduceOp::kAvg) return Average(element, rank);
    const bool scaled = *op_ == ReduceOp::kPreMulSum;
    if (*op_ != ReduceOp::kSum && !scaled) return Extreme(Bits(element, rank));
    const int64_t most = WholeMax(type_) / (scaled ? 2 : 1);
    return IsActive(element, rank, most) ? NonZero(Bits(element, rank), std::max<int64_t>(most / ranks_, 1)) : 0;
  }

  /// At most `most` ranks are active, different ones for different elements.
  bool IsActive(size_t element, int rank, int64_t most) const {
    const int64_t stride = (ranks_ + most - 1) / most;
    return (static_cast<int64_t>(element) + rank) % stride == 0;
  }

  /// For max and min: exact, and so many different ones that the largest of many ranks is often one rank's alone.
  int64_t Extreme(uint64_t random) const {
    if (SizeOf(type_) > 1) return NonZero(random, WholeMax(type_));
    // 8-bit floats count to 16 and 8 only: numbers of full precision, doubled 0 to 4 times.
    const int64_t half = WholeMax(type_) / 2;
    const auto magnitude = half + static_cast<int64_t>((random >> 8) % static_cast<uint64_t>(half));
    const int64_t doubled = magnitude << ((random >> 32) % 5);
    return (random & 1) != 0 ? -doubled : doubled;
  }

  /// 1..max, of either sign if the type has signs.
  int64_t NonZero(uint64_t random, int64_t max) const {
    const int64_t magnitude = 1 + static_cast<int64_t>((random >> 8) % static_cast<uint64_t>(max));
    return KindOf(type_) != TypeKind::kUnsigned && (random & 1) != 0 ? -magnitude : magnitude;
  }

  /// The average itself, plus or minus a difference that the two ranks of a pair share. Where there is room, one of
  /// them goes beyond zero, so that a truncated quotient shows both a lost and a repeated contribution.
  int64_t Average(size_t element, int rank) const {
    const uint64_t common = Mix(seed_, element);
    const int pair = rank / 2;
    const bool is_paired = pair * 2 + 1 < ranks_;
    const uint64_t random = Bits(element, pair);
    const int64_t sign = rank % 2 == 0 ? 1 : -1;
    if (KindOf(type_) == TypeKind::kUnsigned) {
      const int64_t average = static_cast<int64_t>((common >> 8) % static_cast<uint64_t>(share_ + 1));
      const int64_t room = std::min(average, share_ - average);
      const int64_t difference = static_cast<int64_t>((random >> 8) % static_cast<uint64_t>(room + 1));
      return is_paired ? average + sign * difference : average;
    }
    const int64_t average_max =
        share_ >= 2 ? share_ / 2 : std::min<int64_t>(share_, static_cast<int64_t>(common >> 1 & 1));
    const int64_t average = average_max == 0 ? 0 : NonZero(common, average_max);
    // What is left to all pairs together, and to each of them. A pair spends two for each step beyond the average.
    const int64_t left = WholeMax(type_) - ranks_ * std::abs(average);
    if (!is_paired || left < 2) return average;
    const int64_t each = left / (ranks_ / 2 * 2);
    if (each > 0) return average + sign * NonZero(random, std::abs(average) + each);
    const int64_t turned = (random & 1) != 0 ? sign : -sign;
    return IsActive(element, pair, left / 2) ? average + turned * (std::abs(average) + 1) : average;
  }

  DataType type_;
  std::optional<ReduceOp> op_;
  int64_t ranks_;
  uint64_t seed_;
  int64_t share_;  // of WholeMax for one rank
};

// ---- Elements of each type -----------------------------------------------------------------------------------------

/// `value` is exact in the format: zero, or a normal number with no bits to lose.
uint16_t ToHalf(double value) {
  const uint32_t bits = std::bit_cast<uint32_t>(static_cast<float>(value));
  const uint32_t sign = (bits >> 16) & 0x8000;
  const uint32_t magnitude = bits & 0x7FFFFFFF;
  return static_cast<uint16_t>(magnitude == 0 ? sign : sign | ((magnitude - ((127u - 15u) << 23)) >> 13));
}
/// The same for the 8-bit formats.
uint8_t ToByte(double value, uint32_t bias, int fraction_bits) {
  const uint32_t bits = std::bit_cast<uint32_t>(static_cast<float>(value));
  const uint32_t sign = (bits >> 24) & 0x80;
  const uint32_t magnitude = bits & 0x7FFFFFFF;
  return static_cast<uint8_t>(magnitude == 0 ? sign
                                             : sign | ((magnitude - ((127u - bias) << 23)) >> (23 - fraction_bits)));
}
uint16_t ToBfloat16(double value) {
  return static_cast<uint16_t>(std::bit_cast<uint32_t>(static_cast<float>(value)) >> 16);
}

void StoreFloating(DataType type, double value, std::byte* to) {
  const auto store = [to](auto element) { std::memcpy(to, &element, sizeof(element)); };
  if (type == DataType::kFloat16) store(ToHalf(value));
  if (type == DataType::kBfloat16) store(ToBfloat16(value));
  if (type == DataType::kFloat8e4m3) store(ToByte(value, 7, 3));
  if (type == DataType::kFloat8e5m2) store(ToByte(value, 15, 2));
  if (type == DataType::kFloat32) store(static_cast<float>(value));
  if (type == DataType::kFloat64) store(value);
}

double CombineFloating(ReduceOp op, double a, double b) {
  if (op == ReduceOp::kProd) return a * b;
  if (op == ReduceOp::kMax) return std::max(a, b);
  if (op == ReduceOp::kMin) return std::min(a, b);
  return a + b;
}

/// The integer of the type that the low bits are, extended to 64 bits.
uint64_t Extend(DataType type, uint64_t bits) {
  const int unused = static_cast<int>(64 - 8 * SizeOf(type));
  if (KindOf(type) == TypeKind::kUnsigned) return bits << unused >> unused;
  return static_cast<uint64_t>(static_cast<int64_t>(bits << unused) >> unused);
}

uint64_t CombineInteger(DataType type, ReduceOp op, uint64_t a, uint64_t b) {
  if (op == ReduceOp::kProd) return a * b;
  if (op == ReduceOp::kSum || op == ReduceOp::kAvg || op == ReduceOp::kPreMulSum) return a + b;
  if (op == ReduceOp::kBand) return a & b;
  if (op == ReduceOp::kBor) return a | b;
  if (op == ReduceOp::kBxor) return a ^ b;
  const uint64_t x = Extend(type, a);
  const uint64_t y = Extend(type, b);
  const bool x_is_less =
      KindOf(type) == TypeKind::kUnsigned ? x < y : static_cast<int64_t>(x) < static_cast<int64_t>(y);
  return (op == ReduceOp::kMin) == x_is_less ? x : y;
}

/// The division of kAvg is exact by construction.
uint64_t DivideInteger(uint64_t sum, int rank_count) {
  return static_cast<uint64_t>(static_cast<int64_t>(sum) / rank_count);
}

}  // namespace

CheckData::CheckData(DataType type, std::optional<ReduceOp> op, int rank_count, uint64_t seed)
    : type_(type), op_(op), rank_count_(rank_count), seed_(seed) {
  MYCEL_CHECK_GE(rank_count, 1);
}

const std::byte* CheckData::InputPeriod(int rank, size_t count) const {
  MYCEL_CHECK(rank >= 0 && rank < rank_count_);
  if (rank != input_rank_) input_.clear();
  input_rank_ = rank;
  const Generator generator(type_, op_, rank_count_, seed_);
  const size_t bytes = SizeOf(type_);
  size_t e = input_.size() / bytes;
  if (e < count) input_.resize(count * bytes);
  for (; e < count; ++e) {
    std::byte* to = input_.data() + e * bytes;
    if (op_ && KindOf(type_) == TypeKind::kFloating) {
      StoreFloating(type_, generator.Floating(e, rank), to);
    } else {
      const uint64_t value = op_ ? generator.Integer(e, rank) : generator.Bits(e, rank);
      std::memcpy(to, &value, bytes);  // the low bytes: little-endian, like every machine Mycel runs on
    }
  }
  return input_.data();
}

const std::byte* CheckData::ReducedPeriod(size_t count) const {
  MYCEL_CHECK(op_.has_value());
  const Generator generator(type_, op_, rank_count_, seed_);
  const size_t bytes = SizeOf(type_);
  size_t e = reduced_.size() / bytes;
  if (e < count) reduced_.resize(count * bytes);
  for (; e < count; ++e) {
    std::byte* to = reduced_.data() + e * bytes;
    if (KindOf(type_) == TypeKind::kFloating) {
      double value = generator.Floating(e, 0);  // the factor of rank 0 is 1
      for (int rank = 1; rank < rank_count_; ++rank) {
        const double factor = op_ == ReduceOp::kPreMulSum ? FactorOf(rank) : 1;
        value = CombineFloating(*op_, value, factor * generator.Floating(e, rank));
      }
      if (op_ == ReduceOp::kAvg) value /= rank_count_;
      StoreFloating(type_, value, to);
    } else {
      uint64_t value = generator.Integer(e, 0);
      for (int rank = 1; rank < rank_count_; ++rank) {
        const auto factor = static_cast<uint64_t>(op_ == ReduceOp::kPreMulSum ? FactorOf(rank) : 1);
        value = CombineInteger(type_, *op_, value, factor * generator.Integer(e, rank));
      }
      if (op_ == ReduceOp::kAvg) value = DivideInteger(value, rank_count_);
      std::memcpy(to, &value, bytes);
    }
  }
  return reduced_.data();
}

namespace {

/// How much of the period elements [first, first + count) need.
size_t PeriodOf(size_t first, size_t count) { return std::min(CheckData::kPeriod, first % CheckData::kPeriod + count); }

void FillPeriodically(const std::byte* period, size_t element_bytes, size_t first, size_t count, void* into) {
  std::byte* to = static_cast<std::byte*>(into);
  size_t at = first % CheckData::kPeriod;
  while (count > 0) {
    const size_t part = std::min(count, CheckData::kPeriod - at);
    std::memcpy(to, period + at * element_bytes, part * element_bytes);
    to += part * element_bytes;
    count -= part;
    at = 0;
  }
}

}  // namespace

void StoreMulSumFactor(DataType type, int rank, void* into) {
  if (KindOf(type) == TypeKind::kFloating) {
    StoreFloating(type, FactorOf(rank), static_cast<std::byte*>(into));
  } else {
    const int64_t value = FactorOf(rank);
    std::memcpy(into, &value, SizeOf(type));  // the low bytes, as above
  }
}

void FillInput(const CheckData& data, int rank, size_t first, size_t count, void* into) {
  if (count == 0) return;
  FillPeriodically(data.InputPeriod(rank, PeriodOf(first, count)), SizeOf(data.type()), first, count, into);
}

void FillReduced(const CheckData& data, size_t first, size_t count, void* into) {
  if (count == 0) return;
  FillPeriodically(data.ReducedPeriod(PeriodOf(first, count)), SizeOf(data.type()), first, count, into);
}

void FillExpected(const CheckData& data, const Contract& contract, Rank rank, size_t count, void* into) {
  const bool reduces = InfoOf(contract.collective).reduces;
  std::byte* to = static_cast<std::byte*>(into);
  for (int32_t block : contract.RecvBlocks(rank)) {
    const Rank source = contract.Contributors(block).front();
    const size_t first = static_cast<size_t>(contract.SendPlace(source, block)) * count;
    if (reduces) {
      FillReduced(data, first, count, to);
    } else {
      FillInput(data, source.value(), first, count, to);
    }
    to += count * SizeOf(data.type());
  }
}

namespace {

std::string ElementText(DataType type, const std::byte* element) {
  uint64_t bits = 0;
  std::memcpy(&bits, element, SizeOf(type));
  std::ostringstream text;
  if (type == DataType::kFloat32) text << std::bit_cast<float>(static_cast<uint32_t>(bits)) << ' ';
  if (type == DataType::kFloat64) text << std::bit_cast<double>(bits) << ' ';
  if (type == DataType::kBfloat16) text << std::bit_cast<float>(static_cast<uint32_t>(bits << 16)) << ' ';
  if (KindOf(type) == TypeKind::kUnsigned) text << bits << ' ';
  if (KindOf(type) == TypeKind::kSigned) text << static_cast<int64_t>(Extend(type, bits)) << ' ';
  text << "(0x" << std::hex << bits << ')';
  return text.str();
}

}  // namespace

Comparison Compare(DataType type, const void* got, const void* expected, size_t count) {
  Comparison result;
  const size_t bytes = SizeOf(type);
  if (count == 0 || std::memcmp(got, expected, count * bytes) == 0) return result;
  const std::byte* x = static_cast<const std::byte*>(got);
  const std::byte* y = static_cast<const std::byte*>(expected);
  for (size_t e = 0; e < count; ++e, x += bytes, y += bytes) {
    if (std::equal(x, x + bytes, y)) continue;
    if (++result.wrong > 1) continue;
    result.first = e;
    result.description =
        "element " + std::to_string(e) + " is " + ElementText(type, x) + ", expected " + ElementText(type, y);
  }
  return result;
}

int64_t CountWrongElements(DataType type, const void* got, const void* expected, size_t count) {
  return Compare(type, got, expected, count).wrong;
}

}  // namespace mycel::perf
