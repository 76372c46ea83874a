// The loops: every element once, whatever the count, the alignment and the number of buffers. Compiled once per
// instruction set (see rule-inl.h).
//
// Counts that fill no whole number of vectors are finished by one more vector that ends at the last element and
// overlaps the one before; where the start is moved so that stores are aligned, another one begins at the first
// element. Both are computed before anything is stored and stored last, so an output may be an input. Less than a
// vector takes two overlapping smaller ones. So there is no scalar code that could round differently.
//
// All inputs are combined in registers, a few neighbouring vectors at a time: each input is read once, and nothing but
// results is written. (Accumulating block by block in L1 measured no faster from 3 to 64 inputs, nor did prefetching.)
#if defined(MYCEL_KERNELS_HOST_APPLY_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MYCEL_KERNELS_HOST_APPLY_INL_H_
#undef MYCEL_KERNELS_HOST_APPLY_INL_H_
#else
#define MYCEL_KERNELS_HOST_APPLY_INL_H_
#endif

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "core/base/check.h"
#include "core/plan/types.h"
#include "kernels/host/apply.h"
#include "kernels/host/rule-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mycel {
namespace HWY_NAMESPACE {

// ---- Reaching memory: always as bytes, so that any alignment is fine -----------------------------------------------

/// A whole vector.
struct WholeVector {
  template <class D>
  static HWY_INLINE hn::VFromD<D> Load(D d, const uint8_t* from) {
    const hn::Repartition<uint8_t, D> d8;
    return hn::BitCast(d, hn::LoadU(d8, from));
  }
  template <class D>
  static HWY_INLINE void Store(D d, hn::VFromD<D> v, uint8_t* to) {
    const hn::Repartition<uint8_t, D> d8;
    (void)d;
    hn::StoreU(hn::BitCast(d8, v), d8, to);
  }
};

/// The first sizeof(Word) bytes of a vector.
template <typename Word>
struct PartVector {
  template <class D>
  static HWY_INLINE hn::VFromD<D> Load(D d, const uint8_t* from) {
    Word word;
    std::memcpy(&word, from, sizeof(Word));
    return hn::BitCast(d, hn::Set(hn::Repartition<Word, D>(), word));
  }
  template <class D>
  static HWY_INLINE void Store(D /*d*/, hn::VFromD<D> v, uint8_t* to) {
    const Word word = hn::GetLane(hn::BitCast(hn::Repartition<Word, D>(), v));
    std::memcpy(to, &word, sizeof(Word));
  }
};

// ---- Inputs and outputs: the common numbers are known to the compiler ----------------------------------------------

struct TwoInputs {
  const uint8_t* first;
  const uint8_t* second;
  HWY_INLINE int count() const { return 2; }
  HWY_INLINE const uint8_t* operator[](int i) const { return i == 0 ? first : second; }
};

struct AnyInputs {
  const void* const* pointers;
  int input_count;
  HWY_INLINE int count() const { return input_count; }
  HWY_INLINE const uint8_t* operator[](int i) const { return static_cast<const uint8_t*>(pointers[i]); }
};

/// Aligned neighbouring vectors past the caches, or any to memory.
template <bool kStream, size_t kUnroll, class D>
HWY_INLINE void StoreVectors(D d, const hn::VFromD<D> (&v)[kUnroll], uint8_t* to) {
  const hn::Repartition<uint8_t, D> d8;
  for (size_t u = 0; u < kUnroll; ++u) {
    if constexpr (kStream) {
      hn::Stream(hn::BitCast(d8, v[u]), d8, to + u * hn::MaxLanes(d8));
    } else {
      WholeVector::Store(d, v[u], to + u * hn::MaxLanes(d8));
    }
  }
}

struct OneOutput {
  uint8_t* pointer;
  template <size_t kUnroll, class D>
  HWY_INLINE void Store(D d, const hn::VFromD<D> (&v)[kUnroll], size_t offset) const {
    StoreVectors<false>(d, v, pointer + offset);
  }
  template <class Access, class D>
  HWY_INLINE void StoreEdge(D d, hn::VFromD<D> v, size_t offset) const {
    Access::Store(d, v, pointer + offset);
  }
};

struct AnyOutputs {
  void* const* pointers;
  int output_count;
  uint32_t stream;  // bit i: output i takes non-temporal stores
  template <size_t kUnroll, class D>
  HWY_INLINE void Store(D d, const hn::VFromD<D> (&v)[kUnroll], size_t offset) const {
    for (int j = 0; j < output_count; ++j) {
      uint8_t* to = static_cast<uint8_t*>(pointers[j]) + offset;
      if (j < 32 && ((stream >> j) & 1) != 0) {
        StoreVectors<true>(d, v, to);
      } else {
        StoreVectors<false>(d, v, to);
      }
    }
  }
  template <class Access, class D>
  HWY_INLINE void StoreEdge(D d, hn::VFromD<D> v, size_t offset) const {
    for (int j = 0; j < output_count; ++j) Access::Store(d, v, static_cast<uint8_t*>(pointers[j]) + offset);
  }
};

// ---- One step ------------------------------------------------------------------------------------------------------

template <class R, class Access, class D, class Inputs>
HWY_INLINE hn::VFromD<D> ReduceAt(D d, const Inputs& inputs, size_t offset, int32_t divisor) {
  auto acc = R::Widen(d, Access::Load(d, inputs[0] + offset));
  for (int i = 1; i < inputs.count(); ++i) acc = R::Combine(d, acc, Access::Load(d, inputs[i] + offset));
  return R::Narrow(d, acc, divisor);
}

/// `kUnroll` neighbouring vectors at once: so many independent chains are in flight.
template <class R, size_t kUnroll, class D, class Inputs, class Outputs>
HWY_INLINE void Step(D d, const Inputs& inputs, const Outputs& outputs, size_t offset, int32_t divisor) {
  constexpr size_t kVectorBytes = hn::MaxLanes(hn::Repartition<uint8_t, D>());
  typename R::template Accumulator<D> acc[kUnroll];
  const uint8_t* from = inputs[0] + offset;
  for (size_t u = 0; u < kUnroll; ++u) acc[u] = R::Widen(d, WholeVector::Load(d, from + u * kVectorBytes));
  for (int i = 1; i < inputs.count(); ++i) {
    from = inputs[i] + offset;
    for (size_t u = 0; u < kUnroll; ++u) acc[u] = R::Combine(d, acc[u], WholeVector::Load(d, from + u * kVectorBytes));
  }
  hn::VFromD<D> result[kUnroll];
  for (size_t u = 0; u < kUnroll; ++u) result[u] = R::Narrow(d, acc[u], divisor);
  outputs.Store(d, result, offset);
}

/// At least one vector of bytes; whole steps begin at `head`, less than a vector.
template <class R, class D, class Inputs, class Outputs>
HWY_INLINE void ReduceAll(D d, const Inputs& inputs, const Outputs& outputs, size_t bytes, size_t head,
                          int32_t divisor) {
  constexpr size_t kVectorBytes = hn::MaxLanes(hn::Repartition<uint8_t, D>());
  const auto last = ReduceAt<R, WholeVector>(d, inputs, bytes - kVectorBytes, divisor);
  const auto first = head == 0 ? last : ReduceAt<R, WholeVector>(d, inputs, 0, divisor);
  size_t offset = head;
  if constexpr (R::kUnroll > 1) {
    for (; offset + R::kUnroll * kVectorBytes <= bytes; offset += R::kUnroll * kVectorBytes) {
      Step<R, R::kUnroll>(d, inputs, outputs, offset, divisor);
    }
  }
  for (; offset + kVectorBytes <= bytes; offset += kVectorBytes) Step<R, 1>(d, inputs, outputs, offset, divisor);
  if (head != 0) outputs.template StoreEdge<WholeVector>(d, first, 0);
  outputs.template StoreEdge<WholeVector>(d, last, bytes - kVectorBytes);
}

/// `size` <= bytes <= 2 * `size`, where `size` is what Access moves.
template <class R, class Access, class D, class Inputs, class Outputs>
HWY_INLINE void ReduceEdges(D d, const Inputs& inputs, const Outputs& outputs, size_t bytes, size_t size,
                            int32_t divisor) {
  const auto first = ReduceAt<R, Access>(d, inputs, 0, divisor);
  const auto last = ReduceAt<R, Access>(d, inputs, bytes - size, divisor);
  outputs.template StoreEdge<Access>(d, first, 0);
  outputs.template StoreEdge<Access>(d, last, bytes - size);
}

/// Less than two vectors of `D`.
template <class R, class D, class Inputs, class Outputs>
HWY_INLINE void ReduceSmall(D d, const Inputs& inputs, const Outputs& outputs, size_t bytes, int32_t divisor) {
  constexpr size_t kVectorBytes = hn::MaxLanes(hn::Repartition<uint8_t, D>());
  constexpr size_t kElementBytes = sizeof(hn::TFromD<D>);
  if (bytes >= kVectorBytes) {
    ReduceEdges<R, WholeVector>(d, inputs, outputs, bytes, kVectorBytes, divisor);
  } else if constexpr (kVectorBytes > 16) {
    ReduceSmall<R>(hn::Half<D>(), inputs, outputs, bytes, divisor);
  } else if (bytes >= 8) {
    ReduceEdges<R, PartVector<uint64_t>>(d, inputs, outputs, bytes, 8, divisor);
  } else if constexpr (kElementBytes <= 4) {
    if (bytes >= 4) {
      ReduceEdges<R, PartVector<uint32_t>>(d, inputs, outputs, bytes, 4, divisor);
    } else if constexpr (kElementBytes <= 2) {
      if (bytes >= 2) {
        ReduceEdges<R, PartVector<uint16_t>>(d, inputs, outputs, bytes, 2, divisor);
      } else if constexpr (kElementBytes == 1) {
        if (bytes == 1) ReduceEdges<R, PartVector<uint8_t>>(d, inputs, outputs, bytes, 1, divisor);
      }
    }
  }
}

// ---- Alignment of the stores ---------------------------------------------------------------------------------------

/// Below this, aligned or non-temporal stores cost more than they save.
constexpr size_t kAlignBytesMin = 4096;

struct StorePlan {
  size_t head = 0;      // bytes before the first aligned store
  uint32_t stream = 0;  // outputs that take non-temporal stores from there
};

/// Outputs stream together only where they are equally aligned: the first that can be streamed decides, or, if there is
/// none, the first output (aligned stores never cross a cache line). An output cannot be aligned if its address is no
/// multiple of its element size.
HWY_INLINE StorePlan PlanStores(void* const* outputs, int output_count, uint32_t wanted, size_t bytes,
                                size_t vector_bytes, size_t element_bytes) {
  StorePlan plan;
  if (bytes < kAlignBytesMin) return plan;
  const auto head_of = [=](int j) {
    return (vector_bytes - reinterpret_cast<uintptr_t>(outputs[j]) % vector_bytes) % vector_bytes;
  };
  if (head_of(0) % element_bytes == 0) plan.head = head_of(0);
  for (int j = 0; wanted != 0 && j < output_count && j < 32; ++j) {
    if (((wanted >> j) & 1) == 0 || head_of(j) % element_bytes != 0) continue;
    if (plan.stream == 0) plan.head = head_of(j);
    if (head_of(j) == plan.head) plan.stream |= uint32_t{1} << j;
  }
  return plan;
}

/// Any number of inputs, outputs and streams.
template <class R, typename T>
HWY_NOINLINE void ReduceAny(const void* const* inputs, int input_count, void* const* outputs, int output_count,
                            size_t bytes, uint32_t stream_outputs, int32_t divisor) {
  const hn::ScalableTag<T> d;
  constexpr size_t kVectorBytes = hn::MaxLanes(hn::Repartition<uint8_t, decltype(d)>());
  const AnyInputs from = {inputs, input_count};
  if (bytes < kVectorBytes) {
    ReduceSmall<R>(d, from, AnyOutputs{outputs, output_count, 0}, bytes, divisor);
    return;
  }
  const StorePlan plan = PlanStores(outputs, output_count, stream_outputs, bytes, kVectorBytes, sizeof(T));
  ReduceAll<R>(d, from, AnyOutputs{outputs, output_count, plan.stream}, bytes, plan.head, divisor);
  // Non-temporal stores are not ordered by the release store that will publish them.
  if (plan.stream != 0) hwy::FlushStream();
}

// ---- The functions that ApplyFor returns ---------------------------------------------------------------------------

template <typename Element, ReduceOp op>
void Reduce(const void* const* inputs, int input_count, void* const* outputs, int output_count, size_t count,
            const ApplyOptions& options) {
  using R = Rule<Element, op>;
  using T = typename StorageOf<Element>::Type;
  MYCEL_DCHECK(input_count >= 1 && input_count <= kApplyInputsMax && options.rank_count >= 1);
  const size_t bytes = count * sizeof(T);
  if (op != ReduceOp::kAvg && input_count == 1) {
    CopyBytes(inputs[0], outputs, output_count, bytes, options.stream_outputs);
    return;
  }
  const hn::ScalableTag<T> d;
  constexpr size_t kVectorBytes = hn::MaxLanes(hn::Repartition<uint8_t, decltype(d)>());
  if (input_count != 2 || output_count != 1 || (options.stream_outputs != 0 && bytes >= kAlignBytesMin)) {
    ReduceAny<R, T>(inputs, input_count, outputs, output_count, bytes, options.stream_outputs, options.rank_count);
    return;
  }
  const TwoInputs from = {static_cast<const uint8_t*>(inputs[0]), static_cast<const uint8_t*>(inputs[1])};
  const OneOutput to = {static_cast<uint8_t*>(outputs[0])};
  if (bytes < kVectorBytes) {
    ReduceSmall<R>(d, from, to, bytes, options.rank_count);
  } else {
    const StorePlan plan = PlanStores(outputs, 1, 0, bytes, kVectorBytes, sizeof(T));
    ReduceAll<R>(d, from, to, bytes, plan.head, options.rank_count);
  }
}

/// A partial average is a sum; only the instruction that completes the result divides.
template <typename Element, typename SumElement>
void Average(const void* const* inputs, int input_count, void* const* outputs, int output_count, size_t count,
             const ApplyOptions& options) {
  if (options.finish) {
    Reduce<Element, ReduceOp::kAvg>(inputs, input_count, outputs, output_count, count, options);
  } else {
    Reduce<SumElement, ReduceOp::kSum>(inputs, input_count, outputs, output_count, count, options);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace mycel
HWY_AFTER_NAMESPACE();

#endif
