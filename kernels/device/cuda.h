// The CUDA twin of host.h: the same names in the same order.
#pragma once

#include <cstddef>
#include <cstdint>

#include <cuda/atomic>

#include "core/base/wait.h"
#include "core/spi/channel.h"
#include "kernels/device/block_loops.h"

namespace mycel {

/// Policy of the step loop in a CUDA kernel: a lane's block is a thread block.
struct CudaDevicePolicy {
  /// How often an operand thread polls before its block looks whether it is to give up.
  static constexpr int kSpins = 4096;

  __device__ static int Thread() { return static_cast<int>(threadIdx.x); }
  __device__ static int Threads() { return static_cast<int>(blockDim.x); }
  /// One warp.
  __device__ static int OperandThreads() { return 32; }
  __device__ static bool Any(bool value) { return __syncthreads_or(value ? 1 : 0) != 0; }
  /// The barrier orders all threads' writes before the release store that follows in one of them, which is cumulative
  /// (PTX ISA, memory consistency model: causality order).
  __device__ static void BarrierBeforePublish() { __syncthreads(); }
  __device__ static void OperandBarrier() { __syncwarp(); }
  /// acquire, system scope: pairs with StoreRelease by the peer, another device or a host thread; everything it wrote
  /// before is visible to this thread after, and past the next barrier to its block.
  __device__ static uint64_t LoadAcquire(const std::atomic<uint64_t>& word) {
    return Ref<cuda::thread_scope_system>(word).load(cuda::std::memory_order_acquire);
  }
  /// release, system scope: pairs with LoadAcquire by the peer; publishes what this thread wrote, and what its block
  /// wrote before the last barrier.
  __device__ static void StoreRelease(std::atomic<uint64_t>& word, uint64_t value) {
    Ref<cuda::thread_scope_system>(word).store(value, cuda::std::memory_order_release);
  }
  /// acquire, device scope: pairs with StoreReleaseLane by another block of this kernel.
  __device__ static uint64_t LoadAcquireLane(const uint64_t& word) {
    return cuda::atomic_ref<uint64_t, cuda::thread_scope_device>(const_cast<uint64_t&>(word))
        .load(cuda::std::memory_order_acquire);
  }
  /// release, device scope: pairs with LoadAcquireLane in another block.
  __device__ static void StoreReleaseLane(uint64_t& word, uint64_t value) {
    cuda::atomic_ref<uint64_t, cuda::thread_scope_device>(word).store(value, cuda::std::memory_order_release);
  }
  /// relaxed, system scope: the host sets the word once; what it did before does not matter here.
  __device__ static uint32_t LoadFlag(const uint32_t& word) {
    return cuda::atomic_ref<uint32_t, cuda::thread_scope_system>(const_cast<uint32_t&>(word))
        .load(cuda::std::memory_order_relaxed);
  }
  /// relaxed, device scope: only one thread is told that the word was zero, and what it writes then is published by
  /// StoreFlagRelease.
  __device__ static bool Claim(uint32_t& word) {
    return cuda::atomic_ref<uint32_t, cuda::thread_scope_device>(word).exchange(1, cuda::std::memory_order_relaxed) ==
           0;
  }
  /// release, system scope: pairs with the host's acquire load of DeviceReport::code.
  __device__ static void StoreFlagRelease(uint32_t& word, uint32_t value) {
    cuda::atomic_ref<uint32_t, cuda::thread_scope_system>(word).store(value, cuda::std::memory_order_release);
  }
  /// Nothing: there are no stores that a release does not order.
  __device__ static void StreamFence() {}
  /// Polls go through the caches' coherence point and pace themselves.
  __device__ static void Relax() {}
  /// Nothing: those who wait for a device do not sleep on a bell, and no device may ring one (it is a system call).
  __device__ static void Notify(Bell* /*bell*/) {}
  /// As global memory, which is what ours and a peer's is: one instruction each. volatile: they stay where they are
  /// among each other and the barriers.
  template <int kBytes>
  __device__ static Words<kBytes> Load(const std::byte* from) {
    Words<kBytes> words;
    const size_t at = __cvta_generic_to_global(from);
    if constexpr (kBytes == 16) {
      asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                   : "=r"(words.word[0]), "=r"(words.word[1]), "=r"(words.word[2]), "=r"(words.word[3])
                   : "l"(at)
                   : "memory");
    } else if constexpr (kBytes == 8) {
      asm volatile("ld.global.v2.u32 {%0, %1}, [%2];" : "=r"(words.word[0]), "=r"(words.word[1]) : "l"(at) : "memory");
    } else if constexpr (kBytes == 4) {
      asm volatile("ld.global.u32 %0, [%1];" : "=r"(words.word) : "l"(at) : "memory");
    } else if constexpr (kBytes == 2) {
      asm volatile("ld.global.u16 %0, [%1];" : "=h"(words.word) : "l"(at) : "memory");
    } else {
      uint32_t word;
      asm volatile("ld.global.u8 %0, [%1];" : "=r"(word) : "l"(at) : "memory");
      words.word = static_cast<uint8_t>(word);
    }
    return words;
  }
  template <int kBytes>
  __device__ static void Store(std::byte* to, const Words<kBytes>& words) {
    const size_t at = __cvta_generic_to_global(to);
    if constexpr (kBytes == 16) {
      asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};"
                   :
                   : "l"(at), "r"(words.word[0]), "r"(words.word[1]), "r"(words.word[2]), "r"(words.word[3])
                   : "memory");
    } else if constexpr (kBytes == 8) {
      asm volatile("st.global.v2.u32 [%0], {%1, %2};" : : "l"(at), "r"(words.word[0]), "r"(words.word[1]) : "memory");
    } else if constexpr (kBytes == 4) {
      asm volatile("st.global.u32 [%0], %1;" : : "l"(at), "r"(words.word) : "memory");
    } else if constexpr (kBytes == 2) {
      asm volatile("st.global.u16 [%0], %1;" : : "l"(at), "h"(words.word) : "memory");
    } else {
      asm volatile("st.global.u8 [%0], %1;" : : "l"(at), "r"(static_cast<uint32_t>(words.word)) : "memory");
    }
  }
  /// cvt.f32.f16 is exact; cvt.rn.f16.f32 rounds to nearest even, keeps subnormal numbers and makes infinity of what is
  /// too large (PTX ISA, cvt): what host.h computes.
  __device__ static float FloatOfHalf(uint16_t bits) {
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
    return value;
  }
  __device__ static uint16_t HalfOfFloat(float value) {
    uint16_t bits;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
    return bits;
  }
  template <typename L>
  __device__ static void Apply(const L& launch, bool finish, const void* const* inputs, int input_count,
                               void* const* outputs, int output_count, size_t count, uint32_t /*stream_outputs*/) {
    const BlockOperands block = {inputs, outputs, input_count, output_count, launch.launch().rank_count};
    BlockApply<CudaDevicePolicy, L::kType>(launch.launch().op, finish, block, count);
  }
  __device__ static void Copy(const void* input, void* const* outputs, int output_count, size_t bytes,
                              uint32_t /*stream_outputs*/) {
    BlockCopy<CudaDevicePolicy>({&input, outputs, 1, output_count, 1}, bytes);
  }

 private:
  static_assert(sizeof(std::atomic<uint64_t>) == sizeof(uint64_t));

  template <cuda::thread_scope kScope>
  __device__ static cuda::atomic_ref<uint64_t, kScope> Ref(const std::atomic<uint64_t>& word) {
    return cuda::atomic_ref<uint64_t, kScope>(*reinterpret_cast<uint64_t*>(const_cast<std::atomic<uint64_t>*>(&word)));
  }
};

}  // namespace mycel
