// The host's twin of cuda.h and hip.h: the same names in the same order. Everything in kernels/step goes through these.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "core/base/wait.h"
#include "core/spi/channel.h"
#include "kernels/host/apply.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace mycel {

/// Policy of the step loop on a CPU. The simulator has a policy with the same members that yields at each of them.
struct HostDevicePolicy {
  /// acquire: everything the peer wrote before its release store to `word` is visible after this.
  static uint64_t LoadAcquire(const std::atomic<uint64_t>& word) { return word.load(std::memory_order_acquire); }
  /// release: publishes everything this thread wrote before.
  static void StoreRelease(std::atomic<uint64_t>& word, uint64_t value) {
    word.store(value, std::memory_order_release);
  }
  /// After non-temporal stores: makes them visible before the next StoreRelease.
  static void StreamFence() {
#if defined(__x86_64__)
    _mm_sfence();
#endif
  }
  /// A hint between two polls.
  static void Relax() {
#if defined(__x86_64__)
    _mm_pause();
#endif
  }
  /// After a publish or release: wakes the peer if it sleeps in the kernel. Unordered with the store before it on
  /// purpose (a fence per message would cost more than the message); a sleeper looks again within a millisecond.
  static void Notify(Bell* bell) {
    // relaxed: only a hint, see above.
    if (bell != nullptr && bell->sleepers.load(std::memory_order_relaxed) != 0) [[unlikely]]
      Ring(*bell);
  }
  static void Apply(const void* kernel, const void* const* inputs, int input_count, void* const* outputs,
                    int output_count, size_t count, const ApplyOptions& options) {
    reinterpret_cast<ApplyFunction>(reinterpret_cast<uintptr_t>(kernel))(inputs, input_count, outputs, output_count,
                                                                         count, options);
  }
  static void Copy(const void* input, void* const* outputs, int output_count, size_t bytes, uint32_t stream_outputs) {
    CopyBytes(input, outputs, output_count, bytes, stream_outputs);
  }
};

}  // namespace mycel
