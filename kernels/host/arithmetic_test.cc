// The arithmetic contract of apply.h in examples, on each instruction set.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "kernels/host/apply.h"
#include "kernels/host/apply_reference.h"
#include "kernels/host/test_targets.h"

namespace mycel {
namespace {

class ArithmeticTest : public testing::TestWithParam<int64_t> {
 protected:
  /// op over the single elements given, at the end of a vector's worth of copies, so that the vector code runs.
  template <typename T>
  T Apply(DataType type, ReduceOp op, const std::vector<T>& elements, int32_t divisor = 0) {
    const TargetScope scope(GetParam());
    constexpr size_t kCount = 131;
    std::vector<std::vector<T>> inputs;
    std::vector<const void*> from;
    for (T element : elements) inputs.emplace_back(kCount, element);
    for (const auto& input : inputs) from.push_back(input.data());
    std::vector<T> output(kCount);
    void* to = output.data();
    const ApplyOptions options = {divisor != 0, std::max(divisor, 1), 0};
    ApplyFor(type, op)(from.data(), static_cast<int>(from.size()), &to, 1, kCount, options);
    for (T element : output) EXPECT_EQ(std::memcmp(&element, &output[0], sizeof(T)), 0) << "depends on the position";
    return output[0];
  }
  float Float(ReduceOp op, const std::vector<float>& elements) { return Apply(DataType::kFloat32, op, elements); }
  double Half(ReduceOp op, const std::vector<double>& elements, int32_t divisor = 0) {
    std::vector<uint16_t> bits;
    for (double element : elements) bits.push_back(HalfFromDouble(element));
    return HalfToDouble(Apply(DataType::kFloat16, op, bits, divisor));
  }
  double Bfloat16(ReduceOp op, const std::vector<double>& elements, int32_t divisor = 0) {
    std::vector<uint16_t> bits;
    for (double element : elements) bits.push_back(Bfloat16FromDouble(element));
    return Bfloat16ToDouble(Apply(DataType::kBfloat16, op, bits, divisor));
  }
  double E4m3(ReduceOp op, const std::vector<double>& elements, int32_t divisor = 0) {
    std::vector<uint8_t> bits;
    for (double element : elements) bits.push_back(E4m3FromDouble(element));
    return E4m3ToDouble(Apply(DataType::kFloat8e4m3, op, bits, divisor));
  }
  double E5m2(ReduceOp op, const std::vector<double>& elements, int32_t divisor = 0) {
    std::vector<uint8_t> bits;
    for (double element : elements) bits.push_back(E5m2FromDouble(element));
    return E5m2ToDouble(Apply(DataType::kFloat8e5m2, op, bits, divisor));
  }
};

TEST_P(ArithmeticTest, IntegersWrap) {
  EXPECT_EQ((Apply<uint8_t>(DataType::kUint8, ReduceOp::kSum, {200, 200})), 144);
  EXPECT_EQ((Apply<int8_t>(DataType::kInt8, ReduceOp::kSum, {127, 1})), -128);
  EXPECT_EQ((Apply<int8_t>(DataType::kInt8, ReduceOp::kProd, {-128, -128, 3})), 0);
  EXPECT_EQ((Apply<uint8_t>(DataType::kUint8, ReduceOp::kProd, {16, 17})), 16);
  EXPECT_EQ((Apply<int8_t>(DataType::kInt8, ReduceOp::kSum, {100, 100})), -56);
  EXPECT_EQ((Apply<int16_t>(DataType::kInt16, ReduceOp::kSum, {32767, 2})), -32767);
  EXPECT_EQ((Apply<uint16_t>(DataType::kUint16, ReduceOp::kProd, {0x101, 0x101})), 0x0201);
  EXPECT_EQ((Apply<int32_t>(DataType::kInt32, ReduceOp::kSum, {2147483647, 1})), std::numeric_limits<int32_t>::min());
  EXPECT_EQ((Apply<uint64_t>(DataType::kUint64, ReduceOp::kProd, {0x100000001, 0x100000001})), 0x200000001);
}

TEST_P(ArithmeticTest, AveragesTruncateTowardZero) {
  EXPECT_EQ((Apply<int8_t>(DataType::kInt8, ReduceOp::kAvg, {-3, -4}, 2)), -3);
  EXPECT_EQ((Apply<int32_t>(DataType::kInt32, ReduceOp::kAvg, {-3, -4}, 2)), -3);
  EXPECT_EQ((Apply<int64_t>(DataType::kInt64, ReduceOp::kAvg, {-3, -4}, 2)), -3);
  EXPECT_EQ((Apply<int8_t>(DataType::kInt8, ReduceOp::kAvg, {-100, -100, -100}, 3)), -100);
  EXPECT_EQ((Apply<uint8_t>(DataType::kUint8, ReduceOp::kAvg, {255, 255, 255, 255}, 4)), 255);
  EXPECT_EQ((Apply<int32_t>(DataType::kInt32, ReduceOp::kAvg, {2147483647, 2147483647, -1}, 3)), 1431655764);
  EXPECT_EQ((Apply<uint8_t>(DataType::kUint8, ReduceOp::kAvg, {200, 200})), 144) << "unfinished: the wrapped sum";
}

TEST_P(ArithmeticTest, AveragesOfIntegersAreExactToTheLimits) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
  EXPECT_EQ((Apply<int64_t>(DataType::kInt64, ReduceOp::kAvg, {kMost, kMost, kMost}, 3)), kMost);
  EXPECT_EQ((Apply<int64_t>(DataType::kInt64, ReduceOp::kAvg, {kLeast, kLeast}, 2)), kLeast);
  EXPECT_EQ((Apply<int64_t>(DataType::kInt64, ReduceOp::kAvg, {kLeast, kMost}, 2)), 0) << "-1/2 truncates to 0";
  EXPECT_EQ((Apply<int64_t>(DataType::kInt64, ReduceOp::kAvg, {kLeast, kLeast + 1}, 2)), kLeast + 1);
  constexpr uint64_t kAll = std::numeric_limits<uint64_t>::max();
  EXPECT_EQ((Apply<uint64_t>(DataType::kUint64, ReduceOp::kAvg, {kAll, kAll, kAll, kAll, kAll}, 5)), kAll);
  EXPECT_EQ((Apply<uint64_t>(DataType::kUint64, ReduceOp::kAvg, {kAll, 1}, 2)), uint64_t{1} << 63);
  EXPECT_EQ((Apply<int16_t>(DataType::kInt16, ReduceOp::kAvg, {-32768, -32768, -32767}, 3)), -32767);
  EXPECT_EQ((Apply<uint16_t>(DataType::kUint16, ReduceOp::kAvg, {65535, 65535, 65534}, 3)), 65534);
}

TEST_P(ArithmeticTest, BitwiseOperations) {
  EXPECT_EQ((Apply<uint8_t>(DataType::kUint8, ReduceOp::kBand, {0xF6, 0x3C, 0xFF})), 0x34);
  EXPECT_EQ((Apply<int16_t>(DataType::kInt16, ReduceOp::kBor, {0x0101, 0x1010})), 0x1111);
  EXPECT_EQ((Apply<int32_t>(DataType::kInt32, ReduceOp::kBxor, {-1, 0x0F, 0x0F})), -1);
  EXPECT_EQ((Apply<uint64_t>(DataType::kUint64, ReduceOp::kBxor, {0xFF00, 0x0FF0})), 0xF0F0u);
}

TEST_P(ArithmeticTest, AverageOfTheMostInputs) {
  const std::vector<uint8_t> bytes(kApplyInputsMax, 255);
  EXPECT_EQ(Apply<uint8_t>(DataType::kUint8, ReduceOp::kAvg, bytes, kApplyInputsMax), 255);
  const std::vector<uint32_t> words(kApplyInputsMax, 0xFFFFFFFF);
  EXPECT_EQ(Apply<uint32_t>(DataType::kUint32, ReduceOp::kAvg, words, kApplyInputsMax), 0xFFFFFFFF);
  const std::vector<int32_t> negative(kApplyInputsMax, std::numeric_limits<int32_t>::min());
  EXPECT_EQ(Apply<int32_t>(DataType::kInt32, ReduceOp::kAvg, negative, kApplyInputsMax), negative[0]);
}

TEST_P(ArithmeticTest, MaxAndMinOrderZerosWhicheverComesFirst) {
  for (const auto& zeros : {std::vector<float>{0.0f, -0.0f}, std::vector<float>{-0.0f, 0.0f}}) {
    EXPECT_FALSE(std::signbit(Float(ReduceOp::kMax, zeros)));
    EXPECT_TRUE(std::signbit(Float(ReduceOp::kMin, zeros)));
    EXPECT_FALSE(std::signbit(Half(ReduceOp::kMax, {zeros[0], zeros[1]})));
    EXPECT_TRUE(std::signbit(Bfloat16(ReduceOp::kMin, {zeros[0], zeros[1]})));
    EXPECT_FALSE(std::signbit(E4m3(ReduceOp::kMax, {zeros[0], zeros[1]})));
    EXPECT_TRUE(std::signbit(E5m2(ReduceOp::kMin, {zeros[0], zeros[1]})));
  }
}

TEST_P(ArithmeticTest, NanOfAnyInputReachesTheResult) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  for (ReduceOp op : ReduceOpsFor(DataType::kFloat32)) {
    for (size_t input_count = 2; input_count <= 9; ++input_count) {
      for (size_t i = 0; i < input_count; ++i) {
        std::vector<float> elements(input_count, 1.0f);
        elements[i] = kNan;
        EXPECT_TRUE(std::isnan(Float(op, elements))) << NameOf(op) << " input " << i << " of " << input_count;
        const std::vector<double> doubles(elements.begin(), elements.end());
        EXPECT_TRUE(std::isnan(Half(op, doubles))) << NameOf(op) << " input " << i << " of " << input_count;
        EXPECT_TRUE(std::isnan(Bfloat16(op, doubles))) << NameOf(op) << " input " << i << " of " << input_count;
        EXPECT_TRUE(std::isnan(E4m3(op, doubles))) << NameOf(op) << " input " << i << " of " << input_count;
        EXPECT_TRUE(std::isnan(E5m2(op, doubles))) << NameOf(op) << " input " << i << " of " << input_count;
        EXPECT_TRUE(std::isnan(Apply<double>(DataType::kFloat64, op, doubles)));
      }
    }
  }
}

TEST_P(ArithmeticTest, NanStaysAtItsPosition) {
  const TargetScope scope(GetParam());
  constexpr size_t kCount = 67;
  for (size_t position = 0; position < kCount; ++position) {
    std::vector<float> a(kCount, 1.0f);
    const std::vector<float> b(kCount, 2.0f);
    a[position] = std::numeric_limits<float>::quiet_NaN();
    std::vector<float> output(kCount);
    const void* from[] = {b.data(), a.data()};
    void* to[] = {output.data()};
    ApplyFor(DataType::kFloat32, ReduceOp::kMax)(from, 2, to, 1, kCount, {});
    for (size_t e = 0; e < kCount; ++e) EXPECT_EQ(std::isnan(output[e]), e == position) << e << " " << position;
  }
}

TEST_P(ArithmeticTest, InfinitiesFollowIeee) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(Float(ReduceOp::kSum, {kInfinity, 1.0f}), kInfinity);
  EXPECT_TRUE(std::isnan(Float(ReduceOp::kSum, {kInfinity, -kInfinity})));
  EXPECT_TRUE(std::isnan(Float(ReduceOp::kProd, {kInfinity, 0.0f})));
  EXPECT_EQ(Float(ReduceOp::kMin, {kInfinity, -kInfinity}), -kInfinity);
  EXPECT_EQ(Half(ReduceOp::kSum, {65504, 16}), std::numeric_limits<double>::infinity()) << "65520 rounds up";
  EXPECT_EQ(Half(ReduceOp::kSum, {65504, 15}), 65504);
}

TEST_P(ArithmeticTest, ShortFloatsAccumulateInFloat32AndRoundOnce) {
  EXPECT_EQ(Half(ReduceOp::kSum, {2048, 1, 1}), 2050) << "2048 + 1 alone would round back to 2048";
  EXPECT_EQ(Half(ReduceOp::kSum, {2048, 1}), 2048) << "tie to even, down";
  EXPECT_EQ(Half(ReduceOp::kSum, {2050, 1}), 2052) << "tie to even, up";
  EXPECT_EQ(Half(ReduceOp::kProd, {0x1p-14, 0x1p-10}), 0x1p-24) << "the smallest subnormal";
  EXPECT_EQ(Half(ReduceOp::kProd, {0x1p-14, 0x1p-11}), 0) << "half of it: tie to even";
  EXPECT_EQ(Bfloat16(ReduceOp::kSum, {256, 1, 1}), 258);
  EXPECT_EQ(Bfloat16(ReduceOp::kSum, {256, 1}), 256);
  EXPECT_EQ(Bfloat16(ReduceOp::kSum, {258, 1}), 260);
  EXPECT_EQ(Bfloat16(ReduceOp::kAvg, {1, 2}, 2), 1.5);
}

TEST_P(ArithmeticTest, ByteFloatsAccumulateInFloat32AndRoundOnce) {
  EXPECT_EQ(E4m3(ReduceOp::kSum, {16, 1, 1}), 18) << "16 + 1 alone would round back to 16";
  EXPECT_EQ(E4m3(ReduceOp::kSum, {16, 1}), 16) << "tie to even, down";
  EXPECT_EQ(E4m3(ReduceOp::kSum, {18, 1}), 20) << "tie to even, up";
  EXPECT_EQ(E4m3(ReduceOp::kProd, {0x1p-5, 0x1p-4}), 0x1p-9) << "the smallest subnormal";
  EXPECT_EQ(E4m3(ReduceOp::kProd, {0x1p-5, 0x1p-5}), 0) << "half of it: tie to even";
  EXPECT_EQ(E4m3(ReduceOp::kAvg, {448, 448, 448}, 3), 448) << "the sum does not saturate before it is divided";
  EXPECT_EQ(E5m2(ReduceOp::kSum, {8, 1, 1}), 10);
  EXPECT_EQ(E5m2(ReduceOp::kSum, {8, 1}), 8);
  EXPECT_EQ(E5m2(ReduceOp::kProd, {0x1p-8, 0x1p-8}), 0x1p-16);
  EXPECT_EQ(E5m2(ReduceOp::kAvg, {57344, 57344}, 2), 57344);
}

TEST_P(ArithmeticTest, ByteFloatsBeyondTheirRange) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(E4m3(ReduceOp::kSum, {448, 16}), 448) << "464 would be halfway to 480";
  EXPECT_EQ(E4m3(ReduceOp::kSum, {448, 448}), 448);
  EXPECT_EQ(E4m3(ReduceOp::kProd, {-448, 448, 448, 448}), -448);
  EXPECT_EQ(E4m3(ReduceOp::kProd, std::vector<double>(20, 448)), 448) << "infinite in float32";
  EXPECT_EQ(E5m2(ReduceOp::kSum, {57344, 2048}), 57344);
  EXPECT_EQ(E5m2(ReduceOp::kSum, {57344, 4096}), kInfinity) << "61440: tie to even, up";
  EXPECT_EQ(E5m2(ReduceOp::kMax, {kInfinity, 1}), kInfinity);
  EXPECT_EQ(E5m2(ReduceOp::kMin, {-kInfinity, 1}), -kInfinity);
  EXPECT_TRUE(std::isnan(E5m2(ReduceOp::kSum, {kInfinity, -kInfinity})));
}

/// Every pair of bytes, against the reference: the whole table of each operation.
TEST_P(ArithmeticTest, EveryPairOfByteFloats) {
  const TargetScope scope(GetParam());
  std::vector<uint8_t> a(65536), b(65536), output(65536);
  for (size_t i = 0; i < a.size(); ++i) a[i] = static_cast<uint8_t>(i), b[i] = static_cast<uint8_t>(i >> 8);
  const void* from[] = {a.data(), b.data()};
  void* to[] = {output.data()};
  for (DataType type : {DataType::kFloat8e4m3, DataType::kFloat8e5m2}) {
    for (ReduceOp op : ReduceOpsFor(type)) {
      ApplyFor(type, op)(from, 2, to, 1, a.size(), {true, 2, 0});
      for (size_t i = 0; i < a.size(); ++i) {
        const uint8_t expected = ReferenceElement(type, op, {a.data(), b.data()}, i, 2)[0];
        ASSERT_EQ(output[i], expected) << NameOf(type) << " " << NameOf(op) << " of " << int{a[i]} << ", " << int{b[i]};
      }
    }
  }
}

TEST_P(ArithmeticTest, ScalingIsAProductRoundedOnce) {
  const TargetScope scope(GetParam());
  std::vector<float> floats(5001);
  for (size_t i = 0; i < floats.size(); ++i) floats[i] = static_cast<float>(i) * 0.37F;
  const float factor = 1.7F;
  std::vector<float> scaled(floats.size());
  ScaleElements(DataType::kFloat32, &factor, floats.data(), scaled.data(), floats.size());
  for (size_t i = 0; i < floats.size(); ++i) ASSERT_EQ(scaled[i], floats[i] * factor) << i;
  std::vector<int8_t> bytes(4099, 100);
  const int8_t three = 3;
  ScaleElements(DataType::kInt8, &three, bytes.data(), bytes.data(), bytes.size());  // in place
  for (int8_t byte : bytes) ASSERT_EQ(byte, 44);
  ScaleElements(DataType::kInt8, &three, bytes.data(), bytes.data(), 0);
}

TEST(UserFunction, CombinesFromTheLastInputToTheFirst) {
  // 10 a + b writes the order of its operands down.
  const auto append = [](const void* in, void* inout, size_t count, void* calls) {
    for (size_t e = 0; e < count; ++e) {
      int64_t shift = 10;
      while (shift <= static_cast<int64_t*>(inout)[e]) shift *= 10;
      static_cast<int64_t*>(inout)[e] += static_cast<const int64_t*>(in)[e] * shift;
    }
    ++*static_cast<int*>(calls);
  };
  int calls = 0;
  const UserReduction user = {append, &calls, sizeof(int64_t)};
  ApplyOptions options;
  options.user = &user;
  std::vector<int64_t> one = {1, 1}, two = {2, 5}, three = {3, 7};
  const void* from[] = {one.data(), two.data(), three.data()};
  std::vector<int64_t> other(2);
  void* to[] = {two.data(), other.data()};  // in place in the middle input
  ApplyFor(DataType::kInt64, ReduceOp::kUser)(from, 3, to, 2, 2, options);
  EXPECT_EQ(two, (std::vector<int64_t>{123, 157}));
  EXPECT_EQ(other, two);
  EXPECT_EQ(calls, 2);
}

TEST_P(ArithmeticTest, EveryShortFloatSurvivesWideningAndRounding) {
  const TargetScope scope(GetParam());
  std::vector<uint16_t> all(65536);
  for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<uint16_t>(i);
  const auto check = [&](DataType type, double (*decode)(uint16_t), uint16_t nan) {
    std::vector<uint16_t> output(all.size());
    const void* from[] = {all.data()};
    void* to[] = {output.data()};
    ApplyFor(type, ReduceOp::kAvg)(from, 1, to, 1, all.size(), {true, 1, 0});
    for (size_t i = 0; i < all.size(); ++i) {
      ASSERT_EQ(output[i], std::isnan(decode(all[i])) ? nan : all[i]) << NameOf(type);
    }
  };
  check(DataType::kFloat16, HalfToDouble, 0x7E00);
  check(DataType::kBfloat16, Bfloat16ToDouble, 0x7FC0);
}

std::string NameOfTarget(const testing::TestParamInfo<int64_t>& info) { return hwy::TargetName(info.param); }
INSTANTIATE_TEST_SUITE_P(Targets, ArithmeticTest, testing::ValuesIn(Targets()), NameOfTarget);

}  // namespace
}  // namespace mycel
