#include "core/plan/slicing.h"

#include <algorithm>

#include "core/base/check.h"

namespace mycel {
namespace {

/// Slices of narrow chunks are not shorter than this part of the slice size: shorter ones cost more than they carry.
constexpr int64_t kShortestSlice = 64;

constexpr int64_t CeilDivide(int64_t a, int64_t b) { return (a + b - 1) / b; }

}  // namespace

Slicing SlicingOf(int64_t elements_max, int64_t element_bytes, int64_t slice_bytes) {
  MYCEL_CHECK_GT(element_bytes, 0);
  MYCEL_CHECK_GE(slice_bytes, 64);
  Slicing slicing;
  slicing.align = std::max<int64_t>(1, 64 / element_bytes);
  const int64_t steps_max = std::max<int64_t>(1, slice_bytes / element_bytes / slicing.align);  // of a slice
  slicing.slices = std::max<int64_t>(1, CeilDivide(CeilDivide(elements_max, slicing.align), steps_max));
  slicing.length_min = slicing.align * std::max<int64_t>(1, steps_max / kShortestSlice);
  return slicing;
}

ChunkSlicing SlicesOf(int64_t elements_max, const Slicing& slicing) {
  ChunkSlicing chunk;
  chunk.align = slicing.align;
  if (elements_max <= slicing.slices * slicing.length_min) {
    chunk.slices = std::max<int64_t>(1, CeilDivide(elements_max, slicing.length_min));
    chunk.steps = chunk.slices * (slicing.length_min / slicing.align);
    return chunk;
  }
  chunk.slices = slicing.slices;
  chunk.steps = CeilDivide(elements_max, slicing.align);
  return chunk;
}

}  // namespace mycel
