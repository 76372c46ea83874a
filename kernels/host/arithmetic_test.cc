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
};

TEST_P(ArithmeticTest, IntegersWrap) {
  EXPECT_EQ((Apply<uint8_t>(DataType::kUint8, ReduceOp::kSum, {200, 200})), 144);
  EXPECT_EQ((Apply<int8_t>(DataType::kInt8, ReduceOp::kSum, {127, 1})), -128);
  EXPECT_EQ((Apply<int8_t>(DataType::kInt8, ReduceOp::kProd, {-128, -128, 3})), 0);
  EXPECT_EQ((Apply<uint8_t>(DataType::kUint8, ReduceOp::kProd, {16, 17})), 16);
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
  }
}

TEST_P(ArithmeticTest, NanOfAnyInputReachesTheResult) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  for (ReduceOp op : AllReduceOps()) {
    for (size_t input_count = 2; input_count <= 9; ++input_count) {
      for (size_t i = 0; i < input_count; ++i) {
        std::vector<float> elements(input_count, 1.0f);
        elements[i] = kNan;
        EXPECT_TRUE(std::isnan(Float(op, elements))) << NameOf(op) << " input " << i << " of " << input_count;
        const std::vector<double> doubles(elements.begin(), elements.end());
        EXPECT_TRUE(std::isnan(Half(op, doubles))) << NameOf(op) << " input " << i << " of " << input_count;
        EXPECT_TRUE(std::isnan(Bfloat16(op, doubles))) << NameOf(op) << " input " << i << " of " << input_count;
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
