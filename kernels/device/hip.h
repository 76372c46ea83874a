// The HIP twin of host.h: the same names in the same order.
#pragma once

#include <cstddef>
#include <cstdint>

#include <hip/hip_runtime.h>

#include "core/base/wait.h"
#include "core/spi/channel.h"
#include "kernels/device/block_loops.h"

namespace mycel {

/// Policy of the step loop in a HIP kernel: a lane's block is a workgroup.
struct HipDevicePolicy {
  /// How often an operand thread polls before its block looks whether it is to give up.
  static constexpr int kSpins = 4096;

  __device__ static int Thread() { return static_cast<int>(threadIdx.x); }
  __device__ static int Threads() { return static_cast<int>(blockDim.x); }
  /// One wavefront.
  __device__ static int OperandThreads() { return 64; }
  __device__ static bool Any(bool value) { return __syncthreads_or(value ? 1 : 0) != 0; }
  /// release, agent scope, by every wavefront before the barrier: its stores have left for where the release store that
  /// follows in one of them publishes them. The barrier alone would wait for that one's stores only.
  __device__ static void BarrierBeforePublish() {
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "agent");
    __syncthreads();
  }
  /// They are one wavefront and go in step; the fence keeps the compiler from moving memory accesses across.
  __device__ static void OperandBarrier() {
    __builtin_amdgcn_fence(__ATOMIC_ACQ_REL, "wavefront");
    __builtin_amdgcn_wave_barrier();
  }
  /// acquire, system scope: pairs with StoreRelease by the peer, another device or a host thread; everything it wrote
  /// before is visible to this thread after, and past the next barrier to its block.
  __device__ static uint64_t LoadAcquire(const std::atomic<uint64_t>& word) {
    return __hip_atomic_load(Plain(word), __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_SYSTEM);
  }
  /// release, system scope: pairs with LoadAcquire by the peer; publishes what this thread wrote, and what its block
  /// wrote before BarrierBeforePublish.
  __device__ static void StoreRelease(std::atomic<uint64_t>& word, uint64_t value) {
    __hip_atomic_store(Plain(word), value, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_SYSTEM);
  }
  /// acquire, agent scope: pairs with StoreReleaseLane by another block of this kernel.
  __device__ static uint64_t LoadAcquireLane(const uint64_t& word) {
    return __hip_atomic_load(const_cast<uint64_t*>(&word), __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT);
  }
  /// release, agent scope: pairs with LoadAcquireLane in another block.
  __device__ static void StoreReleaseLane(uint64_t& word, uint64_t value) {
    __hip_atomic_store(&word, value, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
  }
  /// relaxed, system scope: the host sets the word once; what it did before does not matter here.
  __device__ static uint32_t LoadFlag(const uint32_t& word) {
    return __hip_atomic_load(const_cast<uint32_t*>(&word), __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
  }
  /// relaxed, agent scope: only one thread is told that the word was zero, and what it writes then is published by
  /// StoreFlagRelease.
  __device__ static bool Claim(uint32_t& word) {
    return __hip_atomic_exchange(&word, 1U, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT) == 0;
  }
  /// release, system scope: pairs with the host's acquire load of DeviceReport::code.
  __device__ static void StoreFlagRelease(uint32_t& word, uint32_t value) {
    __hip_atomic_store(&word, value, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_SYSTEM);
  }
  /// Nothing: there are no stores that a release does not order.
  __device__ static void StreamFence() {}
  /// Leaves the issue slots to the other wavefronts for about 64 cycles.
  __device__ static void Relax() { __builtin_amdgcn_s_sleep(1); }
  /// Nothing: those who wait for a device do not sleep on a bell, and no device may ring one (it is a system call).
  __device__ static void Notify(Bell* /*bell*/) {}
  /// As global memory, which is what ours and a peer's is: one instruction each.
  template <int kBytes>
  __device__ static Words<kBytes> Load(const std::byte* from) {
    return __builtin_bit_cast(Words<kBytes>,
                              *reinterpret_cast<const Global<kBytes>*>(reinterpret_cast<uintptr_t>(from)));
  }
  template <int kBytes>
  __device__ static void Store(std::byte* to, const Words<kBytes>& words) {
    *reinterpret_cast<Global<kBytes>*>(reinterpret_cast<uintptr_t>(to)) = __builtin_bit_cast(Vector<kBytes>, words);
  }
  /// The conversions of _Float16 are IEEE's, to nearest even, subnormal numbers kept: what host.h computes.
  __device__ static float FloatOfHalf(uint16_t bits) { return static_cast<float>(__builtin_bit_cast(_Float16, bits)); }
  __device__ static uint16_t HalfOfFloat(float value) {
    return __builtin_bit_cast(uint16_t, static_cast<_Float16>(value));
  }
  template <typename L>
  __device__ static void Apply(const L& launch, bool finish, const void* const* inputs, int input_count,
                               void* const* outputs, int output_count, size_t count, uint32_t /*stream_outputs*/) {
    const BlockOperands block = {inputs, outputs, input_count, output_count, launch.launch().rank_count};
    BlockApply<HipDevicePolicy, L::kType>(launch.launch().op, finish, block, count);
  }
  __device__ static void Copy(const void* input, void* const* outputs, int output_count, size_t bytes,
                              uint32_t /*stream_outputs*/) {
    BlockCopy<HipDevicePolicy>({&input, outputs, 1, output_count, 1}, bytes);
  }

 private:
  static_assert(sizeof(std::atomic<uint64_t>) == sizeof(uint64_t));

  template <int kBytes>
  struct VectorOf {
    using Type = decltype(WordsOf<kBytes>::word);
  };
  template <int kBytes>
  using Vector = typename VectorOf<kBytes>::Type;
  template <int kBytes>
  using Global = __attribute__((address_space(1))) Vector<kBytes>;

  __device__ static uint64_t* Plain(const std::atomic<uint64_t>& word) {
    return reinterpret_cast<uint64_t*>(const_cast<std::atomic<uint64_t>*>(&word));
  }
};

template <>
struct HipDevicePolicy::VectorOf<16> {
  using Type = uint32_t __attribute__((ext_vector_type(4)));
};
template <>
struct HipDevicePolicy::VectorOf<8> {
  using Type = uint32_t __attribute__((ext_vector_type(2)));
};

}  // namespace mycel
