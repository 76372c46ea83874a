// What one vector of elements does: widen it into an accumulator, combine, narrow it back. Compiled once per
// instruction set; no include guard of the usual kind (see Highway's foreach_target.h).
//
// A Rule<T, op> has, for any vector tag D of T of at least 128 bits:
//   Accumulator<D>                 one vector, or as many as a wider accumulation type needs
//   Widen(d, v) -> Accumulator     the first input
//   Combine(d, acc, v)             every further input
//   Narrow(d, acc, divisor) -> v   rounds once, makes NaN canonical; kAvg divides here
//   kUnroll                        accumulators worth keeping in registers at once: code size against latency hidden
// Here the shared base; the rules are in floating_rules-inl.h and integer_rules-inl.h. No rule multiplies and then
// adds, so there is nothing to contract into a fused operation.
#if defined(MYCEL_KERNELS_HOST_RULE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MYCEL_KERNELS_HOST_RULE_INL_H_
#undef MYCEL_KERNELS_HOST_RULE_INL_H_
#else
#define MYCEL_KERNELS_HOST_RULE_INL_H_
#endif

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>

#include "core/plan/types.h"

HWY_BEFORE_NAMESPACE();
namespace mycel {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <typename T, ReduceOp op>
struct Rule;

/// How a Rule's element type lies in memory.
template <typename T>
struct StorageOf {
  using Type = T;
};

/// The accumulator is one vector of the elements themselves.
struct PlainRule {
  static constexpr size_t kUnroll = 4;
  template <class D>
  using Accumulator = hn::VFromD<D>;

  template <class D>
  static HWY_INLINE Accumulator<D> Widen(D /*d*/, hn::VFromD<D> v) {
    return v;
  }
  template <class D>
  static HWY_INLINE hn::VFromD<D> Narrow(D /*d*/, Accumulator<D> acc, int32_t /*divisor*/) {
    return acc;
  }
};

template <class D>
using FloatTag = hn::Repartition<float, D>;
template <class D>
using WordTag = hn::Repartition<uint32_t, D>;

}  // namespace HWY_NAMESPACE
}  // namespace mycel
HWY_AFTER_NAMESPACE();

#endif
