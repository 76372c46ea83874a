// How a block of threads combines k inputs into m outputs, and copies: one pass over memory in 16-byte vectors, several
// of them in flight in each thread, one read for any number of outputs.
//
// Vectors need all operands to lie alike to a multiple of 16: then the few elements before the first multiple and after
// the last are done one by one, the rest in vectors. Operands that lie otherwise (a chunk that begins at any element of
// a user's buffer, beside a slot) go by words of 4 or 8 bytes, or by elements. Combining needs operands that lie at
// multiples of their element, copying nothing.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "core/plan/type_codes.h"
#include "kernels/device/annotations.h"
#include "kernels/device/arithmetic.h"
#include "kernels/device/words.h"

namespace mycel {

struct BlockOperands {
  const void* const* inputs;
  void* const* outputs;
  int input_count;
  int output_count;
  int32_t rank_count;
};

/// One input, whose bytes go out as they are.
template <typename T>
struct CopyRule {
  using Storage = T;
  static constexpr int kUnroll = 4;
};

template <typename Rule>
inline constexpr bool kIsCopy = false;
template <typename T>
inline constexpr bool kIsCopy<CopyRule<T>> = true;

/// The rule for words of kBytes bytes: bit by bit, as many bits at once as there are.
template <typename Rule, int kBytes>
struct RuleFor {
  using Type = Rule;
};
template <typename T, ReduceOp kOp, int kBytes>
struct RuleFor<BitwiseRule<T, kOp>, kBytes> {
  using Type = BitwiseRule<decltype(WordsOf<(kBytes > 4 ? 4 : kBytes)>::word), kOp>;
};

template <typename D, int kBytes>
MYCEL_DEVICE inline Words<kBytes> LoadAt(const void* base, int64_t offset) {
  return D::template Load<kBytes>(static_cast<const std::byte*>(base) + offset);
}

/// The words of kBytes bytes at `at`, at `at` + `stride` bytes, ... (kCount of them) of all inputs to all outputs.
template <typename D, typename AnyRule, int kBytes, int kCount>
MYCEL_DEVICE inline void MoveWords(const BlockOperands& block, const void* first, void* target, int64_t at,
                                   int64_t stride) {
  using Rule = typename RuleFor<AnyRule, kBytes>::Type;
  Words<kBytes> words[kCount];
  MYCEL_UNROLL
  for (int u = 0; u < kCount; ++u) words[u] = LoadAt<D, kBytes>(first, at + u * stride);
  if constexpr (!kIsCopy<Rule>) {
    using T = typename Rule::Storage;
    constexpr int kElements = kBytes / static_cast<int>(sizeof(T));
    typename Rule::Acc acc[kCount * kElements];
    MYCEL_UNROLL
    for (int u = 0; u < kCount; ++u) {
      const auto elements = std::bit_cast<ElementsOf<T, kBytes>>(words[u]);
      MYCEL_UNROLL
      for (int e = 0; e < kElements; ++e) acc[u * kElements + e] = Rule::Widen(elements.element[e]);
    }
    MYCEL_ROLLED
    for (int i = 1; i < block.input_count; ++i) {
      const void* input = block.inputs[i];
      MYCEL_UNROLL
      for (int u = 0; u < kCount; ++u) words[u] = LoadAt<D, kBytes>(input, at + u * stride);
      MYCEL_UNROLL
      for (int u = 0; u < kCount; ++u) {
        const auto elements = std::bit_cast<ElementsOf<T, kBytes>>(words[u]);
        MYCEL_UNROLL
        for (int e = 0; e < kElements; ++e) {
          typename Rule::Acc& sum = acc[u * kElements + e];
          sum = Rule::Combine(sum, Rule::Widen(elements.element[e]));
        }
      }
    }
    MYCEL_UNROLL
    for (int u = 0; u < kCount; ++u) {
      ElementsOf<T, kBytes> elements;
      MYCEL_UNROLL
      for (int e = 0; e < kElements; ++e) {
        elements.element[e] = Rule::Narrow(acc[u * kElements + e], block.rank_count);
      }
      words[u] = std::bit_cast<Words<kBytes>>(elements);
    }
  }
  MYCEL_UNROLL
  for (int u = 0; u < kCount; ++u) {
    D::template Store<kBytes>(static_cast<std::byte*>(target) + at + u * stride, words[u]);
  }
  MYCEL_ROLLED
  for (int j = 1; j < block.output_count; ++j) {
    auto* output = static_cast<std::byte*>(block.outputs[j]);
    MYCEL_UNROLL
    for (int u = 0; u < kCount; ++u) D::template Store<kBytes>(output + at + u * stride, words[u]);
  }
}

/// Bytes [begin, end), a multiple of kBytes, all operands at multiples of kBytes there: the threads take a word in
/// turn.
template <typename D, typename Rule, int kBytes, int kUnroll>
MYCEL_DEVICE inline void MoveRange(const BlockOperands& block, int64_t begin, int64_t end) {
  const void* first = block.inputs[0];
  void* target = block.outputs[0];
  const int64_t stride = static_cast<int64_t>(D::Threads()) * kBytes;
  int64_t at = begin + static_cast<int64_t>(D::Thread()) * kBytes;
  if constexpr (kUnroll > 1) {
    MYCEL_ROLLED
    for (; at + (kUnroll - 1) * stride < end; at += kUnroll * stride) {
      MoveWords<D, Rule, kBytes, kUnroll>(block, first, target, at, stride);
    }
  }
  MYCEL_ROLLED
  for (; at < end; at += stride) MoveWords<D, Rule, kBytes, 1>(block, first, target, at, stride);
}

/// The lowest bits in which the operands' addresses differ.
MYCEL_DEVICE inline uintptr_t UnlikeBits(const BlockOperands& block) {
  const auto first = reinterpret_cast<uintptr_t>(block.outputs[0]);
  uintptr_t unlike = 0;
  MYCEL_ROLLED
  for (int i = 0; i < block.input_count; ++i) unlike |= reinterpret_cast<uintptr_t>(block.inputs[i]) ^ first;
  MYCEL_ROLLED
  for (int j = 1; j < block.output_count; ++j) unlike |= reinterpret_cast<uintptr_t>(block.outputs[j]) ^ first;
  return unlike;
}

/// All `bytes`: words of kBytes between the first and the last multiple of it, elements before and after.
template <typename D, typename Rule, int kBytes, int kUnroll>
MYCEL_DEVICE inline void MoveAll(const BlockOperands& block, int64_t bytes) {
  constexpr int kElement = static_cast<int>(sizeof(typename Rule::Storage));
  if constexpr (kBytes == kElement) {
    MoveRange<D, Rule, kBytes, kUnroll>(block, 0, bytes);
  } else {
    const auto first = reinterpret_cast<uintptr_t>(block.outputs[0]);
    int64_t head = static_cast<int64_t>((0 - first) % kBytes);
    if (head > bytes) head = bytes;
    const int64_t tail = head + (bytes - head) / kBytes * kBytes;
    MoveRange<D, Rule, kBytes, kUnroll>(block, head, tail);
    // The edges, less than two words, by as many threads as there are elements.
    MYCEL_ROLLED
    for (int64_t at = static_cast<int64_t>(D::Thread()) * kElement; at < head + (bytes - tail);
         at += static_cast<int64_t>(D::Threads()) * kElement) {
      MoveWords<D, Rule, kElement, 1>(block, block.inputs[0], block.outputs[0], at < head ? at : at - head + tail, 0);
    }
  }
}

template <typename D, typename Rule>
MYCEL_DEVICE inline void MoveBlock(const BlockOperands& block, int64_t bytes) {
  constexpr int kElement = static_cast<int>(sizeof(typename Rule::Storage));
  const uintptr_t unlike = UnlikeBits(block);
  if (unlike % 16 == 0) return MoveAll<D, Rule, 16, Rule::kUnroll>(block, bytes);
  if constexpr (kElement < 4) {
    if (unlike % 4 == 0) return MoveAll<D, Rule, 4, Rule::kUnroll>(block, bytes);
  }
  MoveAll < D, Rule, kElement, kElement<4 ? 1 : Rule::kUnroll>(block, bytes);
}

/// outputs[j] = inputs[0], plain bytes of any alignment.
template <typename D>
MYCEL_DEVICE inline void BlockCopy(const BlockOperands& block, size_t bytes) {
  MoveBlock<D, CopyRule<uint8_t>>(block, static_cast<int64_t>(bytes));
}

/// outputs[j][e] = inputs[0][e] (+) inputs[1][e] (+) ..., as kernels/host/apply.h says. The choice of a rule is uniform
/// in the block.
template <typename D, DataType kType>
MYCEL_DEVICE inline void BlockApply(ReduceOp op, bool finish, const BlockOperands& block, size_t count) {
  using T = typename StorageOf<kType>::Type;
  const auto bytes = static_cast<int64_t>(count * sizeof(T));
  const bool divides = op == ReduceOp::kAvg && finish;
  if (block.input_count == 1 && !divides) return BlockCopy<D>(block, static_cast<size_t>(bytes));
  if constexpr (kIsFloating<kType>) {
    if (op == ReduceOp::kProd) return MoveBlock<D, FloatingRule<D, kType, ReduceOp::kProd, false>>(block, bytes);
    if (op == ReduceOp::kMax) return MoveBlock<D, FloatingRule<D, kType, ReduceOp::kMax, false>>(block, bytes);
    if (op == ReduceOp::kMin) return MoveBlock<D, FloatingRule<D, kType, ReduceOp::kMin, false>>(block, bytes);
    if (divides) return MoveBlock<D, FloatingRule<D, kType, ReduceOp::kAvg, true>>(block, bytes);
    return MoveBlock<D, FloatingRule<D, kType, ReduceOp::kSum, false>>(block, bytes);
  } else {
    if (op == ReduceOp::kProd) return MoveBlock<D, WrappingRule<T, ReduceOp::kProd>>(block, bytes);
    if (op == ReduceOp::kMax) return MoveBlock<D, ChoosingRule<T, ReduceOp::kMax>>(block, bytes);
    if (op == ReduceOp::kMin) return MoveBlock<D, ChoosingRule<T, ReduceOp::kMin>>(block, bytes);
    if (op == ReduceOp::kBand) return MoveBlock<D, BitwiseRule<T, ReduceOp::kBand>>(block, bytes);
    if (op == ReduceOp::kBor) return MoveBlock<D, BitwiseRule<T, ReduceOp::kBor>>(block, bytes);
    if (op == ReduceOp::kBxor) return MoveBlock<D, BitwiseRule<T, ReduceOp::kBxor>>(block, bytes);
    if (divides) {
      if constexpr (sizeof(T) == 8)
        return MoveBlock<D, WideAverageRule<T>>(block, bytes);
      else
        return MoveBlock<D, AverageRule<T>>(block, bytes);
    }
    return MoveBlock<D, WrappingRule<T, ReduceOp::kSum>>(block, bytes);
  }
}

}  // namespace mycel
