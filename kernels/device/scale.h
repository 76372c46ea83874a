// How a kernel's blocks multiply a vector by a factor: what ScaleElements (kernels/host/apply.h) does.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "core/spi/device_launch.h"
#include "kernels/device/annotations.h"
#include "kernels/device/arithmetic.h"
#include "kernels/device/block_loops.h"
#include "kernels/device/words.h"

namespace mycel {

template <typename D, typename Rule, int kBytes>
MYCEL_DEVICE inline void ScaleWords(const DeviceScale& scale, typename Rule::Acc factor, int64_t at) {
  using T = typename Rule::Storage;
  auto elements = std::bit_cast<ElementsOf<T, kBytes>>(LoadAt<D, kBytes>(scale.input, at));
  MYCEL_UNROLL
  for (int e = 0; e < kBytes / static_cast<int>(sizeof(T)); ++e) {
    elements.element[e] = Rule::Narrow(Rule::Combine(Rule::Widen(elements.element[e]), factor), 1);
  }
  D::template Store<kBytes>(static_cast<std::byte*>(scale.output) + at, std::bit_cast<Words<kBytes>>(elements));
}

/// The share of thread `thread` of `threads`, all blocks' together.
template <typename D, typename Rule>
MYCEL_DEVICE inline void ScaleShare(const DeviceScale& scale, int64_t thread, int64_t threads) {
  using T = typename Rule::Storage;
  constexpr int kElement = static_cast<int>(sizeof(T));
  const Words<kElement> word =
      scale.factor_at != nullptr
          ? LoadAt<D, kElement>(scale.factor_at, 0)
          : std::bit_cast<Words<kElement>>(static_cast<typename BitsOf<kElement>::Type>(scale.factor));
  const typename Rule::Acc factor = Rule::Widen(std::bit_cast<ElementsOf<T, kElement>>(word).element[0]);
  const auto bytes = static_cast<int64_t>(scale.count) * kElement;
  const auto from = reinterpret_cast<uintptr_t>(scale.input);
  const auto to = reinterpret_cast<uintptr_t>(scale.output);
  int64_t head = (from ^ to) % 16 == 0 ? static_cast<int64_t>((0 - to) % 16) : bytes;
  if (head > bytes) head = bytes;
  const int64_t tail = head + (bytes - head) / 16 * 16;
  MYCEL_ROLLED
  for (int64_t at = head + thread * 16; at < tail; at += threads * 16) ScaleWords<D, Rule, 16>(scale, factor, at);
  MYCEL_ROLLED
  for (int64_t at = thread * kElement; at < head + (bytes - tail); at += threads * kElement) {
    ScaleWords<D, Rule, kElement>(scale, factor, at < head ? at : at - head + tail);
  }
}

template <typename D, DataType kType>
MYCEL_DEVICE inline void ScaleType(const DeviceScale& scale, int64_t thread, int64_t threads) {
  if constexpr (kIsFloating<kType>) {
    ScaleShare<D, FloatingRule<D, kType, ReduceOp::kProd, false>>(scale, thread, threads);
  } else {
    ScaleShare<D, WrappingRule<typename StorageOf<kType>::Type, ReduceOp::kProd>>(scale, thread, threads);
  }
}

/// The body of kernel mycel_scale: block `block` of `blocks`.
template <typename D>
MYCEL_DEVICE inline void ScaleBlock(const DeviceScale& scale, int64_t block, int64_t blocks) {
  const int64_t thread = block * D::Threads() + D::Thread();
  const int64_t threads = blocks * D::Threads();
  switch (scale.type) {
#define MYCEL_TYPE(e, value, name, bytes, storage, kind) \
  case DataType::e:                                      \
    return ScaleType<D, DataType::e>(scale, thread, threads);
#include "core/plan/types.def"
  }
}

}  // namespace mycel
