// Integer rules (see rule-inl.h). Widening never moves lanes: narrow elements are taken out of the word that holds them
// by shifts, and put back the same way.
#if defined(MYCEL_KERNELS_HOST_INTEGER_RULES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MYCEL_KERNELS_HOST_INTEGER_RULES_INL_H_
#undef MYCEL_KERNELS_HOST_INTEGER_RULES_INL_H_
#else
#define MYCEL_KERNELS_HOST_INTEGER_RULES_INL_H_
#endif

#include "kernels/host/rule-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mycel {
namespace HWY_NAMESPACE {

// ---- Integers, wrapping in their own width -------------------------------------------------------------------------

template <class D, class V = hn::VFromD<D>>
HWY_INLINE V WrappingMul(D d, V a, V b) {
  if constexpr (sizeof(hn::TFromD<D>) == 1) {
    // No CPU multiplies bytes: the odd ones are multiplied in place, as the upper byte of a 16-bit product.
    const hn::Repartition<uint16_t, D> dw;
    const auto wa = hn::BitCast(dw, a);
    const auto wb = hn::BitCast(dw, b);
    const auto even = hn::And(hn::Mul(wa, wb), hn::Set(dw, uint16_t{0x00FF}));
    const auto odd = hn::Mul(hn::And(wa, hn::Set(dw, uint16_t{0xFF00})), hn::ShiftRight<8>(wb));
    return hn::BitCast(d, hn::Or(even, odd));
  } else {
    return hn::Mul(a, b);
  }
}

template <ReduceOp op>
struct IntegerRule : PlainRule {
  template <class D>
  static HWY_INLINE hn::VFromD<D> Combine(D d, hn::VFromD<D> acc, hn::VFromD<D> v) {
    if constexpr (op == ReduceOp::kSum) {
      return hn::Add(acc, v);
    } else if constexpr (op == ReduceOp::kProd) {
      return WrappingMul(d, acc, v);
    } else if constexpr (op == ReduceOp::kMax) {
      return hn::Max(acc, v);
    } else {
      static_assert(op == ReduceOp::kMin);
      return hn::Min(acc, v);
    }
  }
};
template <ReduceOp op>
struct Rule<int8_t, op> : IntegerRule<op> {};
template <ReduceOp op>
struct Rule<uint8_t, op> : IntegerRule<op> {};
template <ReduceOp op>
struct Rule<int32_t, op> : IntegerRule<op> {};
template <ReduceOp op>
struct Rule<uint32_t, op> : IntegerRule<op> {};
template <ReduceOp op>
struct Rule<int64_t, op> : IntegerRule<op> {};
template <ReduceOp op>
struct Rule<uint64_t, op> : IntegerRule<op> {};

// ---- Finished averages of integers: a wide sum, divided and truncated toward zero ----------------------------------

/// 8 bits: sums in int32 (kApplyInputsMax * 255 < 2^20), divided in float32. Exact: a quotient that is no whole number
/// is farther from the next one than float32 rounds, and a divisor float32 cannot hold is larger than any sum.
template <typename T>
struct ByteAverageRule {
  static constexpr size_t kUnroll = 1;
  template <class D>
  using SignedTag = hn::Repartition<int32_t, D>;
  template <class D>
  struct Accumulator {
    hn::VFromD<SignedTag<D>> byte[4];
  };

  /// Byte `kIndex` of each word, sign- or zero-extended.
  template <int kIndex, class D>
  static HWY_INLINE hn::VFromD<SignedTag<D>> Byte(D /*d*/, hn::VFromD<D> v) {
    const SignedTag<D> ds;
    const hn::RebindToUnsigned<SignedTag<D>> du;
    const auto top = hn::ShiftLeft<24 - 8 * kIndex>(hn::BitCast(du, v));
    if constexpr (hwy::IsSigned<T>()) return hn::ShiftRight<24>(hn::BitCast(ds, top));
    return hn::BitCast(ds, hn::ShiftRight<24>(top));
  }
  template <class D>
  static HWY_INLINE Accumulator<D> Widen(D d, hn::VFromD<D> v) {
    return {{Byte<0>(d, v), Byte<1>(d, v), Byte<2>(d, v), Byte<3>(d, v)}};
  }
  template <class D>
  static HWY_INLINE Accumulator<D> Combine(D d, Accumulator<D> acc, hn::VFromD<D> v) {
    return {{hn::Add(acc.byte[0], Byte<0>(d, v)), hn::Add(acc.byte[1], Byte<1>(d, v)),
             hn::Add(acc.byte[2], Byte<2>(d, v)), hn::Add(acc.byte[3], Byte<3>(d, v))}};
  }
  /// The low byte of the quotient in each word.
  template <class D>
  static HWY_INLINE hn::VFromD<SignedTag<D>> Quotient(D /*d*/, hn::VFromD<SignedTag<D>> sum, int32_t divisor) {
    const SignedTag<D> ds;
    const FloatTag<D> df;
    const auto quotient = hn::Div(hn::ConvertTo(df, sum), hn::Set(df, static_cast<float>(divisor)));
    return hn::And(hn::ConvertTo(ds, quotient), hn::Set(ds, 0xFF));
  }
  template <class D>
  static HWY_INLINE hn::VFromD<D> Narrow(D d, Accumulator<D> acc, int32_t divisor) {
    const auto low = hn::Or(Quotient(d, acc.byte[0], divisor), hn::ShiftLeft<8>(Quotient(d, acc.byte[1], divisor)));
    const auto high = hn::Or(Quotient(d, acc.byte[2], divisor), hn::ShiftLeft<8>(Quotient(d, acc.byte[3], divisor)));
    return hn::BitCast(d, hn::Or(low, hn::ShiftLeft<16>(high)));
  }
};
template <>
struct Rule<int8_t, ReduceOp::kAvg> : ByteAverageRule<int8_t> {};
template <>
struct Rule<uint8_t, ReduceOp::kAvg> : ByteAverageRule<uint8_t> {};

/// 32 bits: sums in int64 (kApplyInputsMax * 2^32 = 2^44), divided in float64, exact for the same reason. Integers and
/// doubles of that size turn into each other by adding 1.5 * 2^52, whose last bit is worth one.
template <typename T>
struct WordAverageRule {
  static constexpr size_t kUnroll = 1;
  static constexpr int64_t kMagicBits = 0x4338000000000000;
  static constexpr double kMagic = 6755399441055744.0;
  template <class D>
  using WideTag = hn::Repartition<int64_t, D>;
  template <class D>
  struct Accumulator {
    hn::VFromD<WideTag<D>> low;
    hn::VFromD<WideTag<D>> high;
  };

  template <class D>
  static HWY_INLINE Accumulator<D> Widen(D /*d*/, hn::VFromD<D> v) {
    const WideTag<D> dw;
    if constexpr (hwy::IsSigned<T>()) {
      const auto wide = hn::BitCast(dw, v);
      return {hn::ShiftRight<32>(hn::ShiftLeft<32>(wide)), hn::ShiftRight<32>(wide)};
    } else {
      const hn::RebindToUnsigned<WideTag<D>> du;
      const auto wide = hn::BitCast(du, v);
      return {hn::BitCast(dw, hn::And(wide, hn::Set(du, 0xFFFFFFFFu))), hn::BitCast(dw, hn::ShiftRight<32>(wide))};
    }
  }
  template <class D>
  static HWY_INLINE Accumulator<D> Combine(D d, Accumulator<D> acc, hn::VFromD<D> v) {
    const Accumulator<D> next = Widen(d, v);
    return {hn::Add(acc.low, next.low), hn::Add(acc.high, next.high)};
  }
  template <class D>
  static HWY_INLINE hn::VFromD<WideTag<D>> Quotient(D /*d*/, hn::VFromD<WideTag<D>> sum, int32_t divisor) {
    const WideTag<D> dw;
    const hn::Repartition<double, D> dd;
    const auto magic = hn::Set(dd, kMagic);
    const auto dividend = hn::Sub(hn::BitCast(dd, hn::Add(sum, hn::Set(dw, kMagicBits))), magic);
    const auto quotient = hn::Trunc(hn::Div(dividend, hn::Set(dd, static_cast<double>(divisor))));
    return hn::Sub(hn::BitCast(dw, hn::Add(quotient, magic)), hn::Set(dw, kMagicBits));
  }
  template <class D>
  static HWY_INLINE hn::VFromD<D> Narrow(D d, Accumulator<D> acc, int32_t divisor) {
    const WideTag<D> dw;
    const auto low = hn::And(Quotient(d, acc.low, divisor), hn::Set(dw, int64_t{0xFFFFFFFF}));
    return hn::BitCast(d, hn::Or(low, hn::ShiftLeft<32>(Quotient(d, acc.high, divisor))));
  }
};
template <>
struct Rule<int32_t, ReduceOp::kAvg> : WordAverageRule<int32_t> {};
template <>
struct Rule<uint32_t, ReduceOp::kAvg> : WordAverageRule<uint32_t> {};

/// 64 bits: the sum wraps, and is divided lane by lane (no CPU divides vectors of integers).
template <typename T>
struct LongAverageRule : IntegerRule<ReduceOp::kSum> {
  template <class D>
  static HWY_INLINE hn::VFromD<D> Narrow(D d, hn::VFromD<D> acc, int32_t divisor) {
    HWY_ALIGN T lanes[hn::MaxLanes(D())];
    hn::Store(acc, d, lanes);
    for (T& lane : lanes) lane /= static_cast<T>(divisor);
    return hn::Load(d, lanes);
  }
};
template <>
struct Rule<int64_t, ReduceOp::kAvg> : LongAverageRule<int64_t> {};
template <>
struct Rule<uint64_t, ReduceOp::kAvg> : LongAverageRule<uint64_t> {};

}  // namespace HWY_NAMESPACE
}  // namespace mycel
HWY_AFTER_NAMESPACE();

#endif
