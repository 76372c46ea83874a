// The arithmetic and the loops that GPUs run, compiled for the host, against the scalar reference, bit for bit: all
// types and operations, all pairs of 8-bit numbers, the delicate values of the others, misaligned and aliased operands,
// several outputs, blocks of several threads.
#include "kernels/device/block_loops.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>
#include <vector>

#include "core/base/rng.h"
#include "core/plan/types.h"
#include "kernels/device/run_on_host.h"
#include "kernels/device/short_float.h"
#include "kernels/host/apply.h"
#include "kernels/host/apply_reference.h"

namespace mycel {
namespace {

constexpr uint64_t kSeed = 20260707;

using Elements = std::vector<uint8_t>;

/// Random bits, or all ones and zeros in the upper half: infinities, NaN, limits; or a neighbour of those.
uint64_t RandomBits(Rng& rng, size_t bytes) {
  const uint64_t random = rng.Next();
  if (rng.OneIn(2)) return random;
  static constexpr uint64_t kHalves[] = {0x0000, 0x8000, 0x3C00, 0xBC00, 0x7C00, 0xFC00, 0x7E00, 0xFE01, 0x0400,
                                         0x7BFF, 0xFBFF, 0x3F80, 0xBF80, 0x7F80, 0xFF80, 0x7FC0, 0x0080, 0x7F7F,
                                         0x7FF0, 0xFFF0, 0x7FF8, 0x7FEF, 0x3FF0, 0x7FFF, 0xFFFF, 0x0010, 0x4B00};
  const uint64_t upper = kHalves[rng.Below(std::size(kHalves))];
  if (bytes <= 2) return upper + rng.Below(3) - 1;
  const uint64_t lower = rng.OneIn(2) ? rng.Below(3) - 1 : random & 0xFF;
  return (upper << (8 * bytes - 16)) + lower;
}

Elements RandomElements(DataType type, size_t count, Rng& rng) {
  Elements elements(count * SizeOf(type));
  for (size_t e = 0; e < count; ++e) {
    const uint64_t bits = RandomBits(rng, SizeOf(type));
    std::memcpy(elements.data() + e * SizeOf(type), &bits, SizeOf(type));
  }
  return elements;
}

/// What the reference makes of the inputs.
Elements Expected(DataType type, ReduceOp op, int32_t divisor, const std::vector<Elements>& inputs) {
  std::vector<const uint8_t*> from;
  for (const Elements& input : inputs) from.push_back(input.data());
  Elements expected;
  for (size_t e = 0; e < inputs[0].size() / SizeOf(type); ++e) {
    const Elements element = ReferenceElement(type, op, from, e, divisor);
    expected.insert(expected.end(), element.begin(), element.end());
  }
  return expected;
}

/// Runs the block loops on inputs that lie `misaligned` bytes past a multiple of 16, those of odd number by `unlike`
/// more, and checks each of `outputs` outputs and the bytes around it. `in_place`: the first output is the last input.
void Check(DataType type, ReduceOp op, int32_t divisor, const std::vector<Elements>& inputs, const Elements& expected,
           size_t misaligned, size_t unlike, int outputs, int threads, bool in_place) {
  constexpr uint8_t kPoison = 0xA5;
  constexpr size_t kGuard = 32;
  const size_t bytes = expected.size();
  struct alignas(16) Line {
    uint8_t byte[16];
  };
  const auto place = [&](std::vector<Line>& lines, size_t shift) {
    lines.assign((bytes + shift + 2 * kGuard) / 16 + 1, Line());
    for (Line& line : lines) std::fill(std::begin(line.byte), std::end(line.byte), kPoison);
    return lines[0].byte + kGuard + shift;
  };
  std::vector<std::vector<Line>> memory(inputs.size() + static_cast<size_t>(outputs));
  std::vector<const void*> from;
  std::vector<void*> to;
  for (size_t i = 0; i < inputs.size(); ++i) {
    uint8_t* at = place(memory[i], misaligned + (i % 2 == 1 ? unlike : 0));
    if (bytes > 0) std::memcpy(at, inputs[i].data(), bytes);
    from.push_back(at);
  }
  for (int j = 0; j < outputs; ++j) {
    const size_t shift = misaligned + (j == 1 ? unlike : 0);
    to.push_back(place(memory[inputs.size() + static_cast<size_t>(j)], shift));
  }
  if (in_place) to[0] = const_cast<void*>(from.back());
  ApplyAsBlock(type, op, divisor != 0, std::max(divisor, 1), from.data(), static_cast<int>(from.size()), to.data(),
               outputs, bytes / SizeOf(type), threads);
  const std::string what = std::string(NameOf(type)) + " " + std::string(NameOf(op)) + " of " +
                           std::to_string(inputs.size()) + " inputs / " + std::to_string(divisor) + ", " +
                           std::to_string(bytes) + " bytes at " + std::to_string(misaligned) + " and " +
                           std::to_string(unlike) + ", " + std::to_string(threads) + " threads, seed " +
                           std::to_string(kSeed);
  for (int j = 0; j < outputs; ++j) {
    const auto* got = static_cast<const uint8_t*>(to[static_cast<size_t>(j)]);
    for (size_t b = 0; b < bytes; ++b) ASSERT_EQ(got[b], expected[b]) << what << ": byte " << b << " of output " << j;
    for (size_t b = 1; b <= kGuard; ++b) ASSERT_EQ(*(got - b), kPoison) << what << ": written before output " << j;
    for (size_t b = 0; b < 16; ++b) ASSERT_EQ(got[bytes + b], kPoison) << what << ": written after output " << j;
  }
}

TEST(BlockLoopsTest, AllTypesAndOperations) {
  Rng rng(kSeed);
  for (const DataType type : AllDataTypes()) {
    const size_t element = SizeOf(type);
    for (const ReduceOp op : ReduceOpsFor(type)) {
      for (const size_t count : {size_t{0}, size_t{1}, size_t{5}, 48 / element, 200 / element + 1, 1500 / element}) {
        for (const size_t input_count : {size_t{1}, size_t{2}, size_t{5}}) {
          std::vector<Elements> inputs;
          for (size_t i = 0; i < input_count; ++i) inputs.push_back(RandomElements(type, count, rng));
          for (const int32_t divisor : {0, 1, 3, 1 << 20}) {
            if (divisor != 0 && op != ReduceOp::kAvg && divisor != 3) continue;
            const Elements expected = Expected(type, op, divisor, inputs);
            const size_t misaligned = rng.Below(16 / element) * element;
            const size_t unlike = rng.OneIn(2) ? 0 : rng.Below(16 / element) * element;
            const int threads = static_cast<int>(1 + rng.Below(9));
            Check(type, op, divisor, inputs, expected, misaligned, unlike, static_cast<int>(1 + rng.Below(3)), threads,
                  rng.OneIn(3));
            if (HasFatalFailure()) return;
          }
        }
      }
    }
  }
}

TEST(BlockLoopsTest, AllPairsOfBytes) {
  Elements left(65536);
  Elements right(65536);
  for (size_t i = 0; i < left.size(); ++i) {
    left[i] = static_cast<uint8_t>(i);
    right[i] = static_cast<uint8_t>(i >> 8);
  }
  for (const DataType type : AllDataTypes()) {
    if (SizeOf(type) != 1) continue;
    for (const ReduceOp op : ReduceOpsFor(type)) {
      for (const int32_t divisor : {0, 3}) {
        if (divisor != 0 && op != ReduceOp::kAvg) continue;
        const std::vector<Elements> inputs = {left, right};
        Check(type, op, divisor, inputs, Expected(type, op, divisor, inputs), 0, 0, 1, 8, false);
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST(BlockLoopsTest, AllShortFloatsWidenExactly) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const auto same = [&](float got, double expected) {
      return expected != expected
                 ? got != got
                 : std::bit_cast<uint32_t>(got) == std::bit_cast<uint32_t>(static_cast<float>(expected));
    };
    const auto half = static_cast<uint16_t>(bits);
    ASSERT_TRUE(same(WidenShort<HalfFormat>(bits), HalfToDouble(half))) << bits;
    ASSERT_TRUE(same(WidenShort<Bfloat16Format>(bits), Bfloat16ToDouble(half))) << bits;
    if (bits > 255) continue;
    const auto byte = static_cast<uint8_t>(bits);
    ASSERT_TRUE(same(WidenShort<E4m3Format>(bits), E4m3ToDouble(byte))) << bits;
    ASSERT_TRUE(same(WidenShort<E5m2Format>(bits), E5m2ToDouble(byte))) << bits;
  }
}

/// Every 65521st float, and the neighbours of every number that lies half-way between two of a format.
TEST(BlockLoopsTest, FloatsNarrowToTheNearest) {
  const auto check = [](uint32_t bits) {
    const auto value = std::bit_cast<float>(bits);
    if (value != value) return true;
    return NarrowShort<HalfFormat>(value) == HalfFromDouble(value) &&
           NarrowShort<Bfloat16Format>(value) == Bfloat16FromDouble(value) &&
           NarrowShort<E4m3Format>(value) == E4m3FromDouble(value) &&
           NarrowShort<E5m2Format>(value) == E5m2FromDouble(value);
  };
  for (uint64_t bits = 0; bits < uint64_t{1} << 32; bits += 65521) {
    ASSERT_TRUE(check(static_cast<uint32_t>(bits))) << bits;
  }
  for (uint32_t half = 0; half < 0x7C00; ++half) {
    const float middle = (WidenShort<HalfFormat>(half) + WidenShort<HalfFormat>(half + 1)) / 2;
    const auto bits = std::bit_cast<uint32_t>(half + 1 == 0x7C00 ? 65520.0F : middle);
    for (uint32_t near = bits - 1; near <= bits + 1; ++near) {
      ASSERT_TRUE(check(near) && check(near | 0x80000000U)) << near;
    }
  }
}

TEST(BlockLoopsTest, CopiesOfAnyAlignment) {
  Rng rng(kSeed);
  for (size_t round = 0; round < 400; ++round) {
    const size_t bytes = rng.Below(400);
    std::vector<uint8_t> input(bytes + 32);
    for (uint8_t& byte : input) byte = static_cast<uint8_t>(rng.Next());
    const uint8_t* from = input.data() + rng.Below(17);
    std::vector<std::vector<uint8_t>> outputs(1 + rng.Below(4), std::vector<uint8_t>(bytes + 32, 0xA5));
    std::vector<void*> to;
    for (auto& output : outputs) to.push_back(output.data() + 1 + rng.Below(16));
    CopyAsBlock(from, to.data(), static_cast<int>(to.size()), bytes, static_cast<int>(1 + rng.Below(70)));
    for (void* at : to) {
      const auto* got = static_cast<const uint8_t*>(at);
      ASSERT_TRUE(std::equal(got, got + bytes, from)) << bytes << " bytes, seed " << kSeed << ", round " << round;
      ASSERT_TRUE(got[-1] == 0xA5 && got[bytes] == 0xA5) << "writes beside the output, round " << round;
    }
  }
}

TEST(BlockLoopsTest, ScalesAsTheHostDoes) {
  Rng rng(kSeed);
  for (const DataType type : AllDataTypes()) {
    for (const size_t count : {size_t{0}, size_t{1}, size_t{7}, size_t{131}}) {
      const Elements input = RandomElements(type, count + 1, rng);
      const Elements factor = RandomElements(type, 1, rng);
      Elements expected(input.size());
      ScaleElements(type, factor.data(), input.data(), expected.data(), count);
      for (const bool by_value : {false, true}) {
        Elements output(input.size());
        DeviceScale scale = {};
        scale.input = input.data();
        scale.output = output.data();
        scale.count = count;
        scale.type = type;
        std::memcpy(&scale.factor, factor.data(), factor.size());
        scale.factor_at = by_value ? nullptr : factor.data();
        RunDeviceScaleOnHost(scale);
        ASSERT_EQ(output, expected) << NameOf(type) << ", " << count << " elements, seed " << kSeed;
      }
    }
  }
}

}  // namespace
}  // namespace mycel
