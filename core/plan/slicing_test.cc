#include "core/plan/slicing.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/base/rng.h"

namespace mycel {
namespace {

TEST(Slicing, WidestChunkFillsItsSlicesAndNarrowOnesKeepPace) {
  // 1 000 000 floats in slices of at most 64 KiB: 62 slices. A chunk of a tenth has as many, a tenth as long.
  const Slicing slicing = SlicingOf(1'000'000, 4, 65536);
  EXPECT_EQ(slicing.slices, 62);
  EXPECT_EQ(slicing.align, 16);
  const ChunkSlicing wide = SlicesOf(1'000'000, slicing);
  const ChunkSlicing narrow = SlicesOf(100'000, slicing);
  EXPECT_EQ(wide.slices, 62);
  EXPECT_EQ(narrow.slices, 62);
  for (int64_t slice = 0; slice <= 62; ++slice) {
    EXPECT_LE(std::abs(narrow.First(slice) * 10 - wide.First(slice)), 10 * 16 + 16) << "slice " << slice;
  }
  // Of a hundredth, slices would be shorter than a 64th of the slot: fewer slices of that length.
  const ChunkSlicing sliver = SlicesOf(10'000, slicing);
  EXPECT_EQ(sliver.First(1), 256);
  EXPECT_EQ(sliver.slices, 40);
}

TEST(Slicing, HugeChunksDoNotOverflow) {
  const int64_t elements = int64_t{1} << 50;
  const Slicing slicing = SlicingOf(elements, 1, 4096);
  const ChunkSlicing chunk = SlicesOf(elements, slicing);
  EXPECT_EQ(chunk.slices, elements / 4096);
  EXPECT_EQ(chunk.First(chunk.slices - 1), elements - 4096);
}

TEST(Slicing, NothingIsOneSlice) {
  const Slicing slicing = SlicingOf(0, 4, 65536);
  EXPECT_EQ(slicing.slices, 1);
  EXPECT_EQ(SlicesOf(0, slicing).slices, 1);
}

/// What the verifier builds on.
TEST(Slicing, CoversFitsAndIsMonotone) {
  const uint64_t seed = 20261130;
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  Rng random(seed);
  for (int trial = 0; trial < 20'000; ++trial) {
    const int64_t element_bytes = int64_t{1} << random.Between(0, 3);
    const int64_t slice_bytes = 64 * random.Between(1, random.OneIn(2) ? 8 : 4096);
    const int64_t widest = random.Between(0, random.OneIn(2) ? 3'000 : 40'000'000);
    const Slicing slicing = SlicingOf(widest, element_bytes, slice_bytes);
    const int64_t a = random.Between(0, widest);
    const int64_t b = random.OneIn(3) ? std::min(widest, a + 1) : random.Between(a, widest);
    const ChunkSlicing narrow = SlicesOf(a, slicing);
    const ChunkSlicing wide = SlicesOf(b, slicing);
    ASSERT_LE(narrow.slices, wide.slices);
    ASSERT_LE(wide.slices, slicing.slices);
    for (const auto& [chunk, elements] : {std::pair(narrow, a), std::pair(wide, b)}) {
      ASSERT_EQ(chunk.First(0), 0);
      ASSERT_GE(chunk.First(chunk.slices), elements) << "the slices end before the chunk";
      ASSERT_TRUE(elements == 0 || chunk.First(chunk.slices - 1) < elements) << "the last slice is empty";
    }
    for (int step = 0; step < 8; ++step) {
      const int64_t slice = random.Between(0, narrow.slices - 1);
      const int64_t length = narrow.First(slice + 1) - narrow.First(slice);
      ASSERT_LE(length * element_bytes, slice_bytes);
      ASSERT_GE(length, 0);
      ASSERT_EQ(narrow.First(slice) % slicing.align, 0);
      // Clipped to the chunks' ends, as the step loop does.
      ASSERT_GE(wide.First(slice + 1), std::min(a, narrow.First(slice + 1)));
    }
  }
}

}  // namespace
}  // namespace mycel
