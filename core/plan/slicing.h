// From a plan's units to elements: where chunks begin, and how a lane cuts them into slices at run time. Plain data and
// integer arithmetic, the same on every rank and device.
#pragma once

#include <cstdint>

#include "core/base/int128.h"

namespace mycel {

/// First element of unit `unit` in a block of `count` elements cut into `units` units: floor(count * unit / units).
/// Monotone, so neighbouring chunks tile a block exactly whatever the count.
constexpr int64_t ElementOf(int64_t count, int64_t unit, int64_t units) {
  return static_cast<int64_t>(static_cast<int128>(count) * unit / units);
}

/// How the lanes of one number cut their chunks at run time: every rank computes the same numbers from the plan and the
/// count. All chunks of a lane are cut into as many slices as its widest, each in proportion to its width, so that
/// trees of unequal width move on together and every link carries its planned share from the first slice to the last.
/// Only chunks so narrow that their slices would fall below `length_min` get fewer. An op is silent for slices beyond
/// its own; slice 0 always travels (it carries the signature).
struct Slicing {
  int64_t slices = 1;      // of the widest chunk, over all ranks
  int64_t align = 1;       // elements; slices begin at multiples
  int64_t length_min = 1;  // elements; a multiple of align
};

/// The slices of one chunk. Two facts that the verifier builds on: chunks of equal units have equal slices, and of two
/// chunks that begin at the same place the wider one is never behind in any slice.
struct ChunkSlicing {
  int64_t slices = 1;
  int64_t steps = 0;  // of all slices together; a step is `align` elements
  int64_t align = 1;
  /// First element of a slice, counted from the chunk's first; the chunk may end before.
  constexpr int64_t First(int64_t slice) const {
    if (slice == 0) return 0;
    if (slice == slices) return steps * align;
    // 64 bits do where the product fits, that is nearly always, and divide faster.
    if (steps < int64_t{1} << 31) return steps * slice / slices * align;
    // Without 128 bits, which not every device divides: whole turns, then the rest bit by bit, as by hand.
    int64_t quotient = steps / slices * slice;
    const auto rest = static_cast<uint64_t>(steps % slices);
    const auto divisor = static_cast<uint64_t>(slices);
    uint64_t part = 0;
    uint64_t remainder = 0;
    for (int bit = 62; bit >= 0; --bit) {
      part *= 2;
      remainder = remainder * 2 + ((static_cast<uint64_t>(slice) >> bit & 1) != 0 ? rest : 0);
      for (; remainder >= divisor; ++part) remainder -= divisor;
    }
    quotient += static_cast<int64_t>(part);
    return quotient * align;
  }
};

/// Elements that no chunk of `units_max` of a block's `units` units exceeds: what slicing is computed from. The
/// ceiling, so that ranks agree although equal unit ranges may differ by one element.
constexpr int64_t ElementsMaxOf(int64_t count, int64_t units_max, int64_t units) {
  return units == 0 ? 0 : static_cast<int64_t>((static_cast<int128>(count) * units_max + units - 1) / units);
}

/// Slices of at most `slice_bytes`, cut at multiples of 64 bytes; `elements_max`: ElementsMaxOf the lane's widest
/// chunk.
Slicing SlicingOf(int64_t elements_max, int64_t element_bytes, int64_t slice_bytes);

/// The slices of a chunk of a lane; `elements_max`: ElementsMaxOf the chunk.
ChunkSlicing SlicesOf(int64_t elements_max, const Slicing& slicing);

}  // namespace mycel
