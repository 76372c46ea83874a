#include "bench/perf/check_data.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "core/base/rng.h"
#include "kernels/host/apply.h"

namespace mycel::perf {
namespace {

constexpr uint64_t kSeed = 97;
constexpr size_t kCount = 1500;

using Bytes = std::vector<std::byte>;

Bytes Input(const CheckData& data, int rank, size_t first = 0) {
  Bytes bytes(kCount * SizeOf(data.type()));
  FillInput(data, rank, first, kCount, bytes.data());
  return bytes;
}

Bytes Reduced(const CheckData& data) {
  Bytes bytes(kCount * SizeOf(data.type()));
  FillReduced(data, 0, kCount, bytes.data());
  return bytes;
}

Bytes Apply(DataType type, ReduceOp op, const std::vector<Bytes>& inputs, ApplyOptions options) {
  std::vector<const void*> from;
  for (const Bytes& input : inputs) from.push_back(input.data());
  Bytes output(kCount * SizeOf(type));
  void* to = output.data();
  ApplyFor(type, op)(from.data(), static_cast<int>(from.size()), &to, 1, kCount, options);
  return output;
}

/// Combines random groups until one is left: any order and grouping that a plan could use.
Bytes ReduceInRandomTree(DataType type, ReduceOp op, std::vector<Bytes> parts, int rank_count, Rng& rng) {
  while (parts.size() > 1) {
    rng.Shuffle(parts);
    const size_t group = std::min<size_t>(parts.size(), 2 + rng.Below(4));
    std::vector<Bytes> inputs(parts.end() - static_cast<ptrdiff_t>(group), parts.end());
    parts.resize(parts.size() - group);
    parts.push_back(Apply(type, op, inputs, {parts.empty(), rank_count, 0}));
  }
  return parts[0];
}

class CheckDataTest : public testing::TestWithParam<std::tuple<DataType, ReduceOp, int>> {
 protected:
  DataType type() const { return std::get<0>(GetParam()); }
  ReduceOp op() const { return std::get<1>(GetParam()); }
  int ranks() const { return std::get<2>(GetParam()); }
  /// What many ranks combine to hides one of them.
  bool Hides() const { return op() == ReduceOp::kBand || op() == ReduceOp::kBor; }
  std::vector<Bytes> Inputs(const CheckData& data) const {
    std::vector<Bytes> inputs;
    for (int rank = 0; rank < ranks(); ++rank) inputs.push_back(Input(data, rank));
    return inputs;
  }
};

TEST_P(CheckDataTest, EveryOrderAndGroupingGivesTheSameBits) {
  const CheckData data(type(), op(), ranks(), kSeed);
  const Bytes expected = Reduced(data);
  Rng rng(kSeed);
  for (int tree = 0; tree < 4; ++tree) {
    const Comparison comparison =
        Compare(type(), ReduceInRandomTree(type(), op(), Inputs(data), ranks(), rng).data(), expected.data(), kCount);
    ASSERT_EQ(comparison.wrong, 0) << comparison.description << " seed " << kSeed;
  }
}

TEST_P(CheckDataTest, ALostContributionIsNoticed) {
  if (ranks() == 1 || Hides()) return;
  const CheckData data(type(), op(), ranks(), kSeed);
  const Bytes expected = Reduced(data);
  for (int rank : {0, ranks() / 2, ranks() - 1}) {
    std::vector<Bytes> inputs = Inputs(data);
    inputs.erase(inputs.begin() + rank);
    EXPECT_TRUE(Apply(type(), op(), inputs, {true, ranks(), 0}) != expected) << "rank " << rank;
  }
}

TEST_P(CheckDataTest, ARepeatedContributionIsNoticed) {
  // Repeating changes no maximum and sets no other bits; and see check_data.h on averages of unsigned integers.
  if (op() == ReduceOp::kMax || op() == ReduceOp::kMin || Hides()) return;
  if (op() == ReduceOp::kAvg && KindOf(type()) == TypeKind::kUnsigned && ranks() >= 16) return;
  const CheckData data(type(), op(), ranks(), kSeed);
  const Bytes expected = Reduced(data);
  for (int rank : {0, ranks() / 2, ranks() - 1}) {
    std::vector<Bytes> inputs = Inputs(data);
    inputs.push_back(inputs[static_cast<size_t>(rank)]);
    EXPECT_TRUE(Apply(type(), op(), inputs, {true, ranks(), 0}) != expected) << "rank " << rank;
  }
}

TEST_P(CheckDataTest, DependsOnPlaceRankAndSeed) {
  const CheckData data(type(), op(), ranks(), kSeed);
  const Bytes input = Input(data, 0);
  for (size_t shift : {1, 2, 64, 4096, 1 << 20, 4 * 8191 + 1}) EXPECT_TRUE(Input(data, 0, shift) != input) << shift;
  EXPECT_TRUE(Input(data, 0, 5 * CheckData::kPeriod) == input);
  EXPECT_TRUE(Input(CheckData(type(), op(), ranks(), kSeed + 1), 0) != input);
  if (ranks() > 1) {
    EXPECT_TRUE(Input(data, 1) != input);
  }
}

std::string NameOfCase(const testing::TestParamInfo<std::tuple<DataType, ReduceOp, int>>& info) {
  return std::string(NameOf(std::get<0>(info.param))) + "_" + std::string(NameOf(std::get<1>(info.param))) + "_" +
         std::to_string(std::get<2>(info.param));
}
std::vector<std::tuple<DataType, ReduceOp, int>> AllCases() {
  std::vector<std::tuple<DataType, ReduceOp, int>> cases;
  for (DataType type : AllDataTypes()) {
    for (ReduceOp op : ReduceOpsFor(type)) {
      for (int ranks : {1, 2, 3, 64}) cases.emplace_back(type, op, ranks);
    }
  }
  return cases;
}
INSTANTIATE_TEST_SUITE_P(All, CheckDataTest, testing::ValuesIn(AllCases()), NameOfCase);

TEST(CheckDataMulSumTest, EveryOrderOfTheScaledDataGivesTheSameBits) {
  Rng rng(kSeed);
  for (DataType type : AllDataTypes()) {
    for (int ranks : {1, 2, 5, 64}) {
      const CheckData data(type, ReduceOp::kPreMulSum, ranks, kSeed);
      std::vector<Bytes> inputs;
      for (int rank = 0; rank < ranks; ++rank) {
        Bytes input = Input(data, rank);
        std::byte factor[8];
        StoreMulSumFactor(type, rank, factor);
        ScaleElements(type, factor, input.data(), input.data(), kCount);
        inputs.push_back(std::move(input));
      }
      EXPECT_TRUE(ReduceInRandomTree(type, ReduceOp::kSum, inputs, ranks, rng) == Reduced(data))
          << NameOf(type) << " " << ranks << " seed " << kSeed;
    }
  }
}

TEST(CheckDataBeyondTest, OddAndMoreRanksThanTheTypeHasRoomForAreStillExact) {
  Rng rng(kSeed);
  for (DataType type : {DataType::kInt8, DataType::kUint8, DataType::kBfloat16, DataType::kFloat16,
                        DataType::kFloat8e4m3, DataType::kFloat8e5m2}) {
    for (ReduceOp op : ReduceOpsFor(type)) {
      for (int rank_count : {63, 300}) {
        const CheckData data(type, op, rank_count, kSeed);
        std::vector<Bytes> inputs;
        for (int rank = 0; rank < rank_count; ++rank) inputs.push_back(Input(data, rank));
        EXPECT_TRUE(ReduceInRandomTree(type, op, inputs, rank_count, rng) == Reduced(data))
            << NameOf(type) << " " << NameOf(op) << " " << rank_count;
      }
    }
  }
}

TEST(CheckDataValuesTest, AreVaried) {
  // The 64 ranks' sums in the narrowest types still take many values, and maxima come from either sign.
  for (DataType type : {DataType::kInt8, DataType::kUint8, DataType::kBfloat16}) {
    const Bytes sums = Reduced(CheckData(type, ReduceOp::kSum, 64, kSeed));
    std::set<Bytes> values;
    for (size_t at = 0; at < sums.size(); at += SizeOf(type)) {
      values.emplace(sums.begin() + static_cast<ptrdiff_t>(at),
                     sums.begin() + static_cast<ptrdiff_t>(at + SizeOf(type)));
    }
    EXPECT_GE(values.size(), 15u) << NameOf(type);
  }
  const Bytes minima = Reduced(CheckData(DataType::kInt8, ReduceOp::kMin, 2, kSeed));
  const auto is_negative = [](std::byte byte) { return (byte & std::byte{0x80}) != std::byte{0}; };
  EXPECT_TRUE(std::any_of(minima.begin(), minima.end(), is_negative));
  EXPECT_FALSE(std::all_of(minima.begin(), minima.end(), is_negative));
}

TEST(CheckDataFillTest, PiecesAreTheWhole) {
  const CheckData data(DataType::kInt32, ReduceOp::kSum, 3, kSeed);
  constexpr size_t kElements = 30000;
  std::vector<int32_t> whole(kElements);
  FillInput(data, 2, 100, kElements, whole.data());
  std::vector<int32_t> pieces(kElements);
  const CheckData other(DataType::kInt32, ReduceOp::kSum, 3, kSeed);
  for (size_t at = 0; at < kElements; at += 1001) {
    FillInput(other, 2, 100 + at, std::min<size_t>(1001, kElements - at), pieces.data() + at);
  }
  EXPECT_EQ(pieces, whole);
}

TEST(CheckDataExpectedTest, FollowsTheContractOfEveryCollective) {
  constexpr int kRanks = 3;
  for (const CollectiveInfo& info : AllCollectives()) {
    if (info.collective == Collective::kAllToAllV) continue;  // its blocks differ in size
    const Contract contract = {info.collective, kRanks, Rank(1)};
    const CheckData data(DataType::kInt32, info.reduces ? std::optional(ReduceOp::kSum) : std::nullopt, kRanks, kSeed);
    std::vector<std::vector<uint32_t>> sent(kRanks, std::vector<uint32_t>(kRanks * kCount));
    for (int r = 0; r < kRanks; ++r) FillInput(data, r, 0, kRanks * kCount, sent[static_cast<size_t>(r)].data());
    for (Rank rank : Ids<Rank>(kRanks)) {
      const std::vector<int32_t> blocks = contract.RecvBlocks(rank);
      std::vector<uint32_t> expected(blocks.size() * kCount);
      FillExpected(data, contract, rank, kCount, expected.data());
      for (size_t place = 0; place < blocks.size(); ++place) {
        for (size_t e = 0; e < kCount; ++e) {
          uint32_t value = 0;
          for (Rank source : contract.Contributors(blocks[place])) {
            const auto from = static_cast<size_t>(contract.SendPlace(source, blocks[place]));
            value = value + sent[source.index()][from * kCount + e];
          }
          ASSERT_EQ(expected[place * kCount + e], value) << info.name << " rank " << rank << " element " << e;
        }
      }
    }
  }
}

TEST(CompareTest, CountsAndDescribesTheFirst) {
  std::vector<float> expected(1000, 1.0f);
  std::vector<float> got = expected;
  EXPECT_EQ(Compare(DataType::kFloat32, got.data(), expected.data(), 1000).wrong, 0);
  got[12] = 3.0f;
  got[999] = -1.0f;
  const Comparison comparison = Compare(DataType::kFloat32, got.data(), expected.data(), 1000);
  EXPECT_EQ(comparison.wrong, 2);
  EXPECT_EQ(comparison.first, 12u);
  EXPECT_EQ(comparison.description, "element 12 is 3 (0x40400000), expected 1 (0x3f800000)");
  EXPECT_EQ(CountWrongElements(DataType::kFloat32, got.data(), expected.data(), 12), 0);
}

TEST(CompareTest, IsBitwise) {
  const float zero = 0.0f;
  const float negative_zero = -0.0f;
  EXPECT_EQ(CountWrongElements(DataType::kFloat32, &zero, &negative_zero, 1), 1);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(CountWrongElements(DataType::kFloat32, &nan, &nan, 1), 0);
}

}  // namespace
}  // namespace mycel::perf
