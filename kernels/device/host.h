// The host's twin of cuda.h and hip.h: the same names in the same order. Everything in kernels/step goes through these.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "core/base/wait.h"
#include "core/spi/channel.h"
#include "kernels/device/short_float.h"
#include "kernels/device/words.h"
#include "kernels/host/apply.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace mycel {

/// Policy of the step loop on a CPU. The simulator has a policy with the same members that yields at each of them. A
/// lane's block is one thread here, so that a loop over the block's threads is one pass and a barrier is nothing.
struct HostDevicePolicy {
  /// How often an operand thread of a GPU polls before its block looks whether it is to give up. Here the caller does.
  static constexpr int kSpins = 0;

  /// This thread's number in its block, and how many the block has.
  static constexpr int Thread() { return 0; }
  static constexpr int Threads() { return 1; }
  /// The block's first so many threads look at operands, publish and release: few enough to meet without the others.
  static constexpr int OperandThreads() { return 1; }
  /// A barrier of the block; whether `value` is true in any of its threads. What any of them wrote, or acquired, before
  /// is visible to all after.
  static constexpr bool Any(bool value) { return value; }
  /// A barrier of the block after which a release store of one thread publishes what all of them wrote before.
  static void BarrierBeforePublish() {}
  /// A barrier of the threads that look at operands. All of them call it, and no other.
  static void OperandBarrier() {}
  /// acquire: everything the peer wrote before its release store to `word` is visible after this.
  static uint64_t LoadAcquire(const std::atomic<uint64_t>& word) { return word.load(std::memory_order_acquire); }
  /// release: publishes everything this thread wrote before.
  static void StoreRelease(std::atomic<uint64_t>& word, uint64_t value) {
    word.store(value, std::memory_order_release);
  }
  /// acquire: pairs with StoreReleaseLane by a lane of this rank.
  static uint64_t LoadAcquireLane(const uint64_t& word) {
    return std::atomic_ref<uint64_t>(const_cast<uint64_t&>(word)).load(std::memory_order_acquire);
  }
  /// release: publishes everything this thread wrote before to the other lanes of this rank.
  static void StoreReleaseLane(uint64_t& word, uint64_t value) {
    std::atomic_ref<uint64_t>(word).store(value, std::memory_order_release);
  }
  /// relaxed: a word that another agent sets once; what it did before does not matter here.
  static uint32_t LoadFlag(const uint32_t& word) {
    return std::atomic_ref<uint32_t>(const_cast<uint32_t&>(word)).load(std::memory_order_relaxed);
  }
  /// Sets a word of this device's memory and says whether it was zero. relaxed: only one thread is told so, and what it
  /// writes then is published by StoreFlagRelease.
  static bool Claim(uint32_t& word) {
    return std::atomic_ref<uint32_t>(word).exchange(1, std::memory_order_relaxed) == 0;
  }
  /// release: publishes what this thread wrote before to the host, which loads with acquire order.
  static void StoreFlagRelease(uint32_t& word, uint32_t value) {
    std::atomic_ref<uint32_t>(word).store(value, std::memory_order_release);
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
  /// kBytes bytes at once, at a multiple of them.
  template <int kBytes>
  static Words<kBytes> Load(const std::byte* from) {
    Words<kBytes> words;
    std::memcpy(&words, from, kBytes);
    return words;
  }
  template <int kBytes>
  static void Store(std::byte* to, const Words<kBytes>& words) {
    std::memcpy(to, &words, kBytes);
  }
  /// IEEE binary16, to nearest even; not of a NaN.
  static float FloatOfHalf(uint16_t bits) { return WidenShort<HalfFormat>(bits); }
  static uint16_t HalfOfFloat(float value) { return static_cast<uint16_t>(NarrowShort<HalfFormat>(value)); }
  template <typename L>
  static void Apply(const L& launch, bool finish, const void* const* inputs, int input_count, void* const* outputs,
                    int output_count, size_t count, uint32_t stream_outputs) {
    ApplyOptions options;
    options.finish = finish;
    options.rank_count = launch.rank_count;
    options.stream_outputs = stream_outputs;
    options.user = launch.user;
    reinterpret_cast<ApplyFunction>(reinterpret_cast<uintptr_t>(launch.kernel))(inputs, input_count, outputs,
                                                                                output_count, count, options);
  }
  static void Copy(const void* input, void* const* outputs, int output_count, size_t bytes, uint32_t stream_outputs) {
    CopyBytes(input, outputs, output_count, bytes, stream_outputs);
  }
};

}  // namespace mycel
