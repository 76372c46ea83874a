#include "core/plan/scalar_apply.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "core/base/rng.h"

namespace mycel {
namespace {

template <typename T>
T ApplyTo(DataType type, ReduceOp op, const std::vector<T>& values, bool finish = false, int32_t rank_count = 1) {
  std::vector<const std::byte*> inputs;
  for (const T& value : values) inputs.push_back(reinterpret_cast<const std::byte*>(&value));
  T out{};
  ScalarApply({type, op, finish, rank_count}, inputs, reinterpret_cast<std::byte*>(&out), 1);
  return out;
}

TEST(ScalarApply, IntegersWrap) {
  EXPECT_EQ(ApplyTo<int8_t>(DataType::kInt8, ReduceOp::kSum, {100, 100}), static_cast<int8_t>(-56));
  EXPECT_EQ(ApplyTo<uint8_t>(DataType::kUint8, ReduceOp::kProd, {16, 17}), 16);
  EXPECT_EQ(ApplyTo<int64_t>(DataType::kInt64, ReduceOp::kSum, {std::numeric_limits<int64_t>::max(), 1}),
            std::numeric_limits<int64_t>::min());
  EXPECT_EQ(ApplyTo<uint64_t>(DataType::kUint64, ReduceOp::kProd, {uint64_t{1} << 63, 2, 7}), 0U);
  EXPECT_EQ(ApplyTo<int32_t>(DataType::kInt32, ReduceOp::kProd, {-3, 5, std::numeric_limits<int32_t>::max()}),
            static_cast<int32_t>(-15LL * std::numeric_limits<int32_t>::max()));
}

TEST(ScalarApply, AverageDividesAtFinishTowardZero) {
  EXPECT_EQ(ApplyTo<int32_t>(DataType::kInt32, ReduceOp::kAvg, {-7, 0}, true, 2), -3);
  EXPECT_EQ(ApplyTo<int32_t>(DataType::kInt32, ReduceOp::kAvg, {-7, 0}, false, 2), -7);
  EXPECT_EQ(ApplyTo<int8_t>(DataType::kInt8, ReduceOp::kAvg, {100, 100, 100}, true, 3), 100);
  EXPECT_EQ(ApplyTo<uint64_t>(DataType::kUint64, ReduceOp::kAvg, {~uint64_t{0}, ~uint64_t{0}}, true, 2), ~uint64_t{0});
  EXPECT_EQ(ApplyTo<float>(DataType::kFloat32, ReduceOp::kAvg, {1, 2}, true, 2), 1.5F);
  EXPECT_EQ(ApplyTo<double>(DataType::kFloat64, ReduceOp::kAvg, {6}, true, 4), 1.5);
}

TEST(ScalarApply, ExtremesPropagateNanAndOrderZeros) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (ReduceOp op : {ReduceOp::kMax, ReduceOp::kMin}) {
    EXPECT_TRUE(std::isnan(ApplyTo<float>(DataType::kFloat32, op, {1, nan, 2})));
    EXPECT_TRUE(std::isnan(ApplyTo<float>(DataType::kFloat32, op, {nan, 1})));
    EXPECT_TRUE(std::isnan(HalfToFloat(ApplyTo<uint16_t>(DataType::kFloat16, op, {0x3c00, 0x7e01}))));
  }
  for (const auto& zeros : {std::vector<double>{0.0, -0.0}, std::vector<double>{-0.0, 0.0}}) {
    EXPECT_FALSE(std::signbit(ApplyTo<double>(DataType::kFloat64, ReduceOp::kMax, zeros)));
    EXPECT_TRUE(std::signbit(ApplyTo<double>(DataType::kFloat64, ReduceOp::kMin, zeros)));
  }
  EXPECT_EQ(ApplyTo<uint8_t>(DataType::kUint8, ReduceOp::kMax, {3, 200, 7}), 200);
  EXPECT_EQ(ApplyTo<int8_t>(DataType::kInt8, ReduceOp::kMin, {3, -100, 7}), -100);
}

TEST(ScalarApply, SmallFloatsRoundOnce) {
  // 2048 + 1 + 1 in half: rounding after each step would stay at 2048.
  const uint16_t one = FloatToHalf(1);
  EXPECT_EQ(HalfToFloat(ApplyTo<uint16_t>(DataType::kFloat16, ReduceOp::kSum, {FloatToHalf(2048), one, one})), 2050);
  const uint16_t bf_one = FloatToBfloat16(1);
  EXPECT_EQ(
      Bfloat16ToFloat(ApplyTo<uint16_t>(DataType::kBfloat16, ReduceOp::kSum, {FloatToBfloat16(256), bf_one, bf_one})),
      258);
}

TEST(ScalarApply, OneInputKeepsEveryBit) {
  const uint32_t signalling = 0x7f800001U;
  EXPECT_EQ(ApplyTo<uint32_t>(DataType::kFloat32, ReduceOp::kSum, {signalling}, true, 1), signalling);
}

TEST(ScalarApply, HalfConversionsAreInverseAndRoundToNearestEven) {
  for (uint32_t bits = 0; bits < 0x10000U; ++bits) {
    const auto half = static_cast<uint16_t>(bits);
    const float value = HalfToFloat(half);
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(HalfToFloat(FloatToHalf(value))));
      continue;
    }
    ASSERT_EQ(FloatToHalf(value), half) << value;
  }
  // Between neighbours: the middle goes to the even one, anything else to the nearer.
  for (uint32_t bits = 0; bits < 0x7bffU; ++bits) {
    const float low = HalfToFloat(static_cast<uint16_t>(bits));
    const float high = HalfToFloat(static_cast<uint16_t>(bits + 1));
    const float middle = low + (high - low) / 2;
    ASSERT_EQ(FloatToHalf(middle), bits + (bits & 1U)) << middle;
    ASSERT_EQ(FloatToHalf(std::nextafter(middle, low)), bits);
    ASSERT_EQ(FloatToHalf(std::nextafter(middle, high)), bits + 1);
    ASSERT_EQ(FloatToHalf(-middle), (bits + (bits & 1U)) | 0x8000U);
  }
  EXPECT_EQ(FloatToHalf(65519.996F), 0x7bff);
  EXPECT_EQ(FloatToHalf(65520.0F), 0x7c00);
}

TEST(ScalarApply, ByteFloatsAreTheOcpTables) {
  // Values from the tables of the specification.
  EXPECT_EQ(E4m3ToFloat(0x00), 0);
  EXPECT_TRUE(std::signbit(E4m3ToFloat(0x80)));
  EXPECT_EQ(E4m3ToFloat(0x01), 0x1p-9F);
  EXPECT_EQ(E4m3ToFloat(0x07), 0.875F * 0x1p-6F);
  EXPECT_EQ(E4m3ToFloat(0x08), 0x1p-6F);
  EXPECT_EQ(E4m3ToFloat(0x38), 1);
  EXPECT_EQ(E4m3ToFloat(0xfe), -448);
  EXPECT_TRUE(std::isnan(E4m3ToFloat(0x7f)) && std::isnan(E4m3ToFloat(0xff)));
  EXPECT_EQ(E5m2ToFloat(0x01), 0x1p-16F);
  EXPECT_EQ(E5m2ToFloat(0x03), 0.75F * 0x1p-14F);
  EXPECT_EQ(E5m2ToFloat(0x04), 0x1p-14F);
  EXPECT_EQ(E5m2ToFloat(0x3c), 1);
  EXPECT_EQ(E5m2ToFloat(0x7b), 57344);
  EXPECT_EQ(E5m2ToFloat(0xfc), -std::numeric_limits<float>::infinity());
  for (const int bits : {0x7d, 0x7e, 0x7f, 0xfd, 0xfe, 0xff}) {
    EXPECT_TRUE(std::isnan(E5m2ToFloat(static_cast<uint8_t>(bits)))) << bits;
  }
}

TEST(ScalarApply, ByteFloatConversionsAreInverseAndRoundToNearestEven) {
  const auto check = [](float (*to_float)(uint8_t), uint8_t (*from_float)(float), int largest) {
    for (int bits = 0; bits < 256; ++bits) {
      const float value = to_float(static_cast<uint8_t>(bits));
      if (std::isnan(value)) continue;
      EXPECT_EQ(from_float(value), bits) << value;
    }
    for (int bits = 0; bits < largest; ++bits) {
      const float low = to_float(static_cast<uint8_t>(bits));
      const float high = to_float(static_cast<uint8_t>(bits + 1));
      const float middle = low + (high - low) / 2;
      EXPECT_EQ(from_float(middle), bits + (bits & 1)) << middle;
      EXPECT_EQ(from_float(std::nextafter(middle, low)), bits);
      EXPECT_EQ(from_float(std::nextafter(middle, high)), bits + 1);
      EXPECT_EQ(from_float(-middle), (bits + (bits & 1)) | 0x80);
    }
  };
  check(E4m3ToFloat, FloatToE4m3, 0x7e);
  check(E5m2ToFloat, FloatToE5m2, 0x7b);
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(FloatToE4m3(1e9F), 0x7e);
  EXPECT_EQ(FloatToE4m3(-kInfinity), 0xfe);
  EXPECT_EQ(FloatToE4m3(std::nanf("")), 0x7f);
  EXPECT_EQ(FloatToE5m2(61439.996F), 0x7b);
  EXPECT_EQ(FloatToE5m2(61440), 0x7c);
  EXPECT_EQ(FloatToE5m2(-kInfinity), 0xfc);
  EXPECT_EQ(FloatToE5m2(std::nanf("")), 0x7e);
}

TEST(ScalarApply, BitwiseOperations) {
  EXPECT_EQ(ApplyTo<uint16_t>(DataType::kUint16, ReduceOp::kBand, {0xff0f, 0x3cf3, 0xffff}), 0x3c03);
  EXPECT_EQ(ApplyTo<int32_t>(DataType::kInt32, ReduceOp::kBor, {0x10, -256}), -240);
  EXPECT_EQ(ApplyTo<int8_t>(DataType::kInt8, ReduceOp::kBxor, {-1, 15, 15}), -1);
}

TEST(Types, BitwiseOperationsAreForIntegers) {
  for (const DataType type : AllDataTypes()) {
    EXPECT_EQ(Allows(ReduceOp::kBor, type), KindOf(type) != TypeKind::kFloating) << NameOf(type);
    EXPECT_TRUE(Allows(ReduceOp::kSum, type));
    EXPECT_TRUE(IsDataType(static_cast<int64_t>(type)));
  }
  EXPECT_EQ(NamesOfTypesFor(ReduceOp::kBxor), "int8 uint8 int32 uint32 int64 uint64 int16 uint16");
  EXPECT_FALSE(IsDataType(12) || IsDataType(-1) || IsDataType(34) || IsReduceOp(5) || IsReduceOp(64));
}

TEST(ScalarApply, Bfloat16ConversionsRoundToNearestEven) {
  const uint64_t seed = 7;
  SCOPED_TRACE("seed 7");
  Rng rng(seed);
  for (int i = 0; i < 100000; ++i) {
    const float value = std::bit_cast<float>(static_cast<uint32_t>(rng.Next()));
    const float rounded = Bfloat16ToFloat(FloatToBfloat16(value));
    if (std::isnan(value)) {
      ASSERT_TRUE(std::isnan(rounded));
      continue;
    }
    const auto down = static_cast<uint16_t>(std::bit_cast<uint32_t>(value) >> 16);
    const double below = std::fabs(double{value} - double{Bfloat16ToFloat(down)});
    const float up = Bfloat16ToFloat(static_cast<uint16_t>(down + 1));
    const double above = std::isfinite(up) ? std::fabs(double{up} - double{value}) : below * 2 + 1;
    if (std::isfinite(rounded)) {
      ASSERT_LE(std::fabs(double{rounded} - double{value}), std::min(below, above)) << value;
    }
  }
  EXPECT_EQ(FloatToBfloat16(std::bit_cast<float>(0x3f808000U)), 0x3f80);  // tie to even, down
  EXPECT_EQ(FloatToBfloat16(std::bit_cast<float>(0x3f818000U)), 0x3f82);  // tie to even, up
}

}  // namespace
}  // namespace mycel
