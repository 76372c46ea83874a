// Every type, operation and instruction set against the scalar reference, bit for bit: all small counts, misaligned and
// aliased buffers, several outputs, streams, and the values where the formats are delicate.
#include "kernels/host/apply.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <tuple>
#include <vector>

#include "core/base/rng.h"
#include "kernels/host/apply_reference.h"
#include "kernels/host/test_targets.h"

namespace mycel {
namespace {

constexpr uint64_t kSeed = 20240607;

/// One element: random bits, or a value at the edge of its format.
uint64_t RandomElement(DataType type, Rng& rng) {
  static constexpr uint64_t kHalfs[] = {0x0000, 0x8000, 0x3C00, 0xBC00, 0x7C00, 0xFC00, 0x7E00,
                                        0xFD55, 0x7C01, 0x0001, 0x83FF, 0x0400, 0x7BFF, 0xFBFF};
  static constexpr uint64_t kBfloat16s[] = {0x0000, 0x8000, 0x3F80, 0xBF80, 0x7F80, 0xFF80, 0x7FC0,
                                            0xFFC1, 0x7F81, 0x0001, 0x807F, 0x0080, 0x7F7F, 0xFF7F};
  static constexpr uint64_t kFloats[] = {0x00000000, 0x80000000, 0x3F800000, 0xBF800000, 0x7F800000, 0xFF800000,
                                         0x7FC00000, 0xFFC12345, 0x7F800001, 0x00000001, 0x807FFFFF, 0x7F7FFFFF};
  static constexpr uint64_t kDoubles[] = {0,
                                          0x8000000000000000,
                                          0x3FF0000000000000,
                                          0x7FF0000000000000,
                                          0xFFF0000000000000,
                                          0x7FF8000000000000,
                                          0xFFF8000000054321,
                                          0x7FF0000000000001,
                                          1,
                                          0x7FEFFFFFFFFFFFFF};
  static constexpr uint64_t kIntegers[] = {0,
                                           1,
                                           2,
                                           ~uint64_t{0},
                                           0x8080808080808080,
                                           0x7F7F7F7F7F7F7F7F,
                                           0x8000000080000080,
                                           0x7FFFFFFF7FFFFFFF,
                                           0x8000000000000000};
  const auto pick = [&](const auto& values) { return values[rng.Below(std::size(values))]; };
  const uint64_t kind = rng.Below(4);
  if (kind == 0) {
    if (type == DataType::kFloat16) return pick(kHalfs);
    if (type == DataType::kBfloat16) return pick(kBfloat16s);
    if (type == DataType::kFloat32) return pick(kFloats);
    if (type == DataType::kFloat64) return pick(kDoubles);
    return pick(kIntegers);
  }
  // Floating values of like size, so that sums round instead of vanishing.
  if (kind < 3 && type == DataType::kFloat16) return HalfFromDouble(static_cast<double>(rng.Between(-9999, 9999)) / 64);
  if (kind < 3 && type == DataType::kBfloat16)
    return Bfloat16FromDouble(static_cast<double>(rng.Between(-999, 999)) / 8);
  if (kind < 2 && type == DataType::kFloat8e4m3)
    return E4m3FromDouble(static_cast<double>(rng.Between(-999, 999)) / 32);
  if (kind < 2 && type == DataType::kFloat8e5m2)
    return E5m2FromDouble(static_cast<double>(rng.Between(-999, 999)) / 32);
  return rng.Next();
}

std::vector<uint8_t> RandomElements(DataType type, size_t count, Rng& rng) {
  std::vector<uint8_t> bytes(count * SizeOf(type));
  for (size_t e = 0; e < count; ++e) {
    const uint64_t element = RandomElement(type, rng);
    std::memcpy(bytes.data() + e * SizeOf(type), &element, SizeOf(type));
  }
  return bytes;
}

/// Bytes at a chosen distance from an alignment boundary, with poison on both sides.
class Buffer {
 public:
  Buffer(size_t bytes, size_t misalignment) : storage_(bytes + 4 * kGuard, kPoison), bytes_(bytes) {
    const size_t to_boundary = kGuard - reinterpret_cast<uintptr_t>(storage_.data()) % kGuard;
    begin_ = to_boundary + kGuard + misalignment % kGuard;
    storage_.resize(begin_ + bytes + kGuard);  // shrinks: the data stays where it is
  }
  uint8_t* data() { return storage_.data() + begin_; }
  void Fill(const uint8_t* from) { std::copy(from, from + bytes_, data()); }
  bool GuardsAreWhole() const {
    const auto is_poison = [](uint8_t byte) { return byte == kPoison; };
    return std::all_of(storage_.begin(), storage_.begin() + static_cast<ptrdiff_t>(begin_), is_poison) &&
           std::all_of(storage_.begin() + static_cast<ptrdiff_t>(begin_ + bytes_), storage_.end(), is_poison);
  }

 private:
  static constexpr size_t kGuard = 128;
  static constexpr uint8_t kPoison = 0xA5;
  std::vector<uint8_t> storage_;
  size_t bytes_;
  size_t begin_ = 0;
};

/// The inputs of one case and what they must give.
struct Problem {
  DataType type;
  ReduceOp op;
  bool finish;
  int32_t rank_count;
  std::vector<std::vector<uint8_t>> inputs;
  std::vector<uint8_t> expected;

  std::string Describe() const {
    return std::string(NameOf(type)) + " " + std::string(NameOf(op)) + (finish ? " finish /" : " /") +
           std::to_string(rank_count) + " inputs " + std::to_string(inputs.size()) + " seed " + std::to_string(kSeed);
  }
};

Problem MakeProblem(DataType type, ReduceOp op, bool finish, size_t input_count, size_t count, Rng& rng) {
  static constexpr int32_t kRankCounts[] = {1, 2, 3, 7, 64, 1000, std::numeric_limits<int32_t>::max()};
  const int32_t rank_count = rng.OneIn(2) ? static_cast<int32_t>(input_count) : kRankCounts[rng.Below(7)];
  Problem problem = {type, op, finish, rank_count, {}, {}};
  std::vector<const uint8_t*> pointers;
  for (size_t i = 0; i < input_count; ++i) problem.inputs.push_back(RandomElements(type, count, rng));
  for (const auto& input : problem.inputs) pointers.push_back(input.data());
  for (size_t e = 0; e < count; ++e) {
    const std::vector<uint8_t> element = ReferenceElement(type, op, pointers, e, finish ? rank_count : 0);
    problem.expected.insert(problem.expected.end(), element.begin(), element.end());
  }
  return problem;
}

struct Placement {
  size_t begin;  // first element of the problem's data that is used
  size_t count;
  int outputs;
  int in_place;  // output 0 is this input; -1: none
  uint32_t stream;
  uint64_t misalignment_seed;
};

/// Runs one case in fresh buffers and compares outputs, untouched inputs and guards.
void Check(ApplyFunction apply, const Problem& problem, const Placement& at) {
  const size_t element_bytes = SizeOf(problem.type);
  const size_t bytes = at.count * element_bytes;
  const size_t skip = at.begin * element_bytes;
  Rng rng(at.misalignment_seed);
  std::vector<Buffer> inputs;
  std::vector<Buffer> outputs;
  for (const auto& input : problem.inputs) {
    inputs.emplace_back(bytes, rng.Below(128));
    inputs.back().Fill(input.data() + skip);
  }
  for (int j = 0; j < at.outputs; ++j) outputs.emplace_back(bytes, rng.OneIn(2) ? 64 : rng.Below(128));
  std::vector<const void*> from;
  std::vector<void*> to;
  for (Buffer& input : inputs) from.push_back(input.data());
  for (Buffer& output : outputs) to.push_back(output.data());
  if (at.in_place >= 0) to[0] = inputs[static_cast<size_t>(at.in_place)].data();

  apply(from.data(), static_cast<int>(from.size()), to.data(), at.outputs, at.count,
        {problem.finish, problem.rank_count, at.stream});

  const auto describe = [&] {
    return problem.Describe() + " count " + std::to_string(at.count) + " outputs " + std::to_string(at.outputs) +
           " in place " + std::to_string(at.in_place) + " stream " + std::to_string(at.stream);
  };
  for (void* output : to) {
    const auto* got = static_cast<const uint8_t*>(output);
    const auto [bad, wanted] = std::mismatch(got, got + bytes, problem.expected.data() + skip);
    ASSERT_EQ(bad - got, static_cast<ptrdiff_t>(bytes)) << describe() << ": wrong from this byte on";
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    ASSERT_TRUE(inputs[i].GuardsAreWhole()) << describe();
    if (static_cast<int>(i) == at.in_place) continue;
    ASSERT_EQ(std::memcmp(inputs[i].data(), problem.inputs[i].data() + skip, bytes), 0) << describe();
  }
  for (const Buffer& output : outputs) ASSERT_TRUE(output.GuardsAreWhole()) << describe();
}

// ---- All of it, for each instruction set ---------------------------------------------------------------------------

class ApplyTest : public testing::TestWithParam<std::tuple<int64_t, DataType>> {
 protected:
  int64_t target() const { return std::get<0>(GetParam()); }
  DataType type() const { return std::get<1>(GetParam()); }
};

TEST_P(ApplyTest, SmallCountsOfEveryOpAndInputCount) {
  const TargetScope scope(target());
  Rng rng(kSeed);
  for (ReduceOp op : ReduceOpsFor(type())) {
    const ApplyFunction apply = ApplyFor(type(), op);
    for (bool finish : {false, true}) {
      if (finish && op != ReduceOp::kAvg) continue;  // means nothing there; the other tests set it
      for (size_t input_count = 1; input_count <= 9; ++input_count) {
        const Problem problem = MakeProblem(type(), op, finish, input_count, 316, rng);
        for (size_t count = 0; count <= 300; ++count) {
          const int in_place = rng.OneIn(2) ? static_cast<int>(rng.Below(input_count)) : -1;
          const int outputs = rng.OneIn(2) ? 1 : static_cast<int>(rng.Between(2, 4));
          ASSERT_NO_FATAL_FAILURE(Check(apply, problem, {rng.Below(16), count, outputs, in_place, 0, rng.Next()}));
        }
      }
    }
  }
}

TEST_P(ApplyTest, InPlaceInEachInput) {
  const TargetScope scope(target());
  Rng rng(kSeed + 1);
  for (ReduceOp op : ReduceOpsFor(type())) {
    for (size_t input_count = 1; input_count <= 9; ++input_count) {
      const Problem problem = MakeProblem(type(), op, true, input_count, 5000, rng);
      for (size_t input = 0; input < input_count; ++input) {
        for (size_t count : {1, 3, 7, 19, 67, 4999}) {
          const Placement at = {0, count, 1 + static_cast<int>(rng.Below(2)), static_cast<int>(input), 0, rng.Next()};
          ASSERT_NO_FATAL_FAILURE(Check(ApplyFor(type(), op), problem, at));
        }
      }
    }
  }
}

TEST_P(ApplyTest, LargeCountsStreamedOrNot) {
  const TargetScope scope(target());
  Rng rng(kSeed + 2);
  for (ReduceOp op : ReduceOpsFor(type())) {
    for (size_t input_count : {1, 2, 5}) {
      const Problem problem = MakeProblem(type(), op, true, input_count, 20011, rng);
      for (int outputs : {1, 2, 5}) {
        for (uint32_t stream : {0u, 1u, 2u, 0x16u, ~0u}) {
          const int in_place = rng.OneIn(4) ? static_cast<int>(rng.Below(input_count)) : -1;
          const size_t begin = rng.Below(40);
          const Placement at = {begin, 20011 - begin - rng.Below(40), outputs, in_place, stream, rng.Next()};
          ASSERT_NO_FATAL_FAILURE(Check(ApplyFor(type(), op), problem, at));
        }
      }
    }
  }
}

std::string NameOfCase(const testing::TestParamInfo<std::tuple<int64_t, DataType>>& info) {
  return std::string(hwy::TargetName(std::get<0>(info.param))) + "_" + std::string(NameOf(std::get<1>(info.param)));
}
INSTANTIATE_TEST_SUITE_P(Targets, ApplyTest,
                         testing::Combine(testing::ValuesIn(Targets()), testing::ValuesIn(AllDataTypes())), NameOfCase);

// ---- Copies --------------------------------------------------------------------------------------------------------

TEST(CopyTest, AnySizeAlignmentFanOutAndStream) {
  Rng rng(kSeed + 3);
  for (int64_t target : Targets()) {
    const TargetScope scope(target);
    for (size_t bytes : {0, 1, 7, 63, 64, 65, 1024, 1025, 4095, 4096, 8193, 100003}) {
      for (int repeat = 0; repeat < 24; ++repeat) {
        Buffer input(bytes, rng.Below(128));
        std::vector<uint8_t> content(bytes + 1);  // + 1: never a null pointer
        for (uint8_t& byte : content) byte = static_cast<uint8_t>(rng.Next());
        input.Fill(content.data());
        std::vector<Buffer> outputs;
        for (size_t j = 0; j < 1 + rng.Below(4); ++j) outputs.emplace_back(bytes, rng.OneIn(2) ? 0 : rng.Below(128));
        std::vector<void*> to;
        for (Buffer& output : outputs) to.push_back(output.data());
        if (repeat % 6 == 0) to[0] = input.data();
        CopyBytes(input.data(), to.data(), static_cast<int>(to.size()), bytes, static_cast<uint32_t>(rng.Next()));
        for (void* output : to) ASSERT_EQ(std::memcmp(output, content.data(), bytes), 0) << bytes << " seed " << kSeed;
        for (const Buffer& output : outputs) ASSERT_TRUE(output.GuardsAreWhole()) << bytes << " seed " << kSeed;
        ASSERT_TRUE(input.GuardsAreWhole());
      }
    }
  }
}

}  // namespace
}  // namespace mycel
