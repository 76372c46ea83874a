// Plain copies: the loops of apply-inl.h with one input and no arithmetic, so that one read serves several outputs and
// stores may be non-temporal. For one output in cache they are what memcpy should be: glibc 2.36 copies with `rep
// movsb` from 2 KiB on, which on AMD's Zen 4 falls from 90 to 3.5 GB/s where the target begins a few bytes into its
// page.
#include "kernels/host/highway_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/host/copy.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <cstdint>
#include <cstring>

#include "kernels/host/apply-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mycel {
namespace HWY_NAMESPACE {

struct CopyRule : PlainRule {
  static constexpr size_t kUnroll = 8;

  template <class D>
  static HWY_INLINE hn::VFromD<D> Combine(D /*d*/, hn::VFromD<D> acc, hn::VFromD<D> /*v*/) {
    return acc;
  }
};

void CopyToAny(const void* input, void* const* outputs, int output_count, size_t bytes, uint32_t stream_outputs) {
  ReduceAny<CopyRule, uint8_t>(&input, 1, outputs, output_count, bytes, stream_outputs, 1);
}

}  // namespace HWY_NAMESPACE
}  // namespace mycel
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mycel {

HWY_EXPORT(CopyToAny);

/// Up to here memcpy uses vectors, and is fastest because it is called directly.
constexpr size_t kMemcpyBytesMax = 1024;

void CopyBytes(const void* input, void* const* outputs, int output_count, size_t bytes, uint32_t stream_outputs) {
  if (output_count == 1) {
    if (bytes == 0 || outputs[0] == input) return;
    if (bytes <= kMemcpyBytesMax) {
      std::memcpy(outputs[0], input, bytes);
      return;
    }
  }
  HWY_DYNAMIC_DISPATCH(CopyToAny)(input, outputs, output_count, bytes, stream_outputs);
}

}  // namespace mycel
#endif
