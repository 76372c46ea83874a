// Floating rules (see rule-inl.h): float32 and float64 in their own precision, 16-bit formats in float32, rounded once.
#if defined(MYCEL_KERNELS_HOST_FLOATING_RULES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MYCEL_KERNELS_HOST_FLOATING_RULES_INL_H_
#undef MYCEL_KERNELS_HOST_FLOATING_RULES_INL_H_
#else
#define MYCEL_KERNELS_HOST_FLOATING_RULES_INL_H_
#endif

#include "kernels/host/rule-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mycel {
namespace HWY_NAMESPACE {

/// Storage types of the 16-bit floating formats: distinct types, so that rules can be told apart.
struct Half {};
struct Bfloat16 {};

template <>
struct StorageOf<Half> {
  using Type = uint16_t;
};
template <>
struct StorageOf<Bfloat16> {
  using Type = uint16_t;
};

// ---- Floating arithmetic on one vector of float or double ----------------------------------------------------------

/// Any NaN becomes the one quiet NaN with sign and payload zero: which operand's payload survives an addition depends
/// on operand order, which compilers may swap.
template <class D, class V = hn::VFromD<D>>
HWY_INLINE V CanonicalNan(D d, V v) {
  const hn::RebindToUnsigned<D> du;
  using U = hn::TFromD<decltype(du)>;
  const U quiet = sizeof(U) == 4 ? static_cast<U>(0x7FC00000u) : static_cast<U>(0x7FF8000000000000u);
  return hn::IfThenElse(hn::IsNaN(v), hn::BitCast(d, hn::Set(du, quiet)), v);
}

template <ReduceOp op, class D, class V = hn::VFromD<D>>
HWY_INLINE V CombineFloating(D /*d*/, V a, V b) {
  if constexpr (op == ReduceOp::kSum || op == ReduceOp::kAvg) {
    return hn::Add(a, b);
  } else if constexpr (op == ReduceOp::kProd) {
    return hn::Mul(a, b);
  } else {
    // A comparison with NaN is false, so a NaN in b is taken, and one in a is put back. Equal operands are the same
    // bits, or zeros whose signs the bit operation orders.
    constexpr bool kIsMax = op == ReduceOp::kMax;
    const V chosen = hn::IfThenElse(kIsMax ? hn::Gt(a, b) : hn::Lt(a, b), a, b);
    const V ordered = hn::IfThenElse(hn::Eq(a, b), kIsMax ? hn::And(a, b) : hn::Or(a, b), chosen);
    return hn::IfThenElse(hn::IsNaN(a), a, ordered);
  }
}

template <ReduceOp op, class D, class V = hn::VFromD<D>>
HWY_INLINE V FinishFloating(D d, V v, int32_t divisor) {
  if constexpr (op == ReduceOp::kAvg) v = hn::Div(v, hn::Set(d, static_cast<hn::TFromD<D>>(divisor)));
  return CanonicalNan(d, v);
}

template <ReduceOp op>
struct FloatingRule : PlainRule {
  static constexpr size_t kUnroll = op == ReduceOp::kSum ? 8 : 4;

  template <class D>
  static HWY_INLINE hn::VFromD<D> Combine(D d, hn::VFromD<D> acc, hn::VFromD<D> v) {
    return CombineFloating<op>(d, acc, v);
  }
  template <class D>
  static HWY_INLINE hn::VFromD<D> Narrow(D d, hn::VFromD<D> acc, int32_t divisor) {
    return FinishFloating<op>(d, acc, divisor);
  }
};
template <ReduceOp op>
struct Rule<float, op> : FloatingRule<op> {};
template <ReduceOp op>
struct Rule<double, op> : FloatingRule<op> {};

// ---- 16-bit formats, accumulated in float32 ------------------------------------------------------------------------

/// The float32 values of a vector of 16-bit elements: of the low and the high 16 bits of each 32-bit word, or of the
/// vector's two halves; the format says.
template <class D>
struct FloatPair {
  hn::VFromD<FloatTag<D>> low;
  hn::VFromD<FloatTag<D>> high;
};

struct Bfloat16Format {
  template <class D>
  static HWY_INLINE FloatPair<D> ToFloat(D /*d*/, hn::VFromD<D> v) {
    const WordTag<D> dw;
    const FloatTag<D> df;
    const auto words = hn::BitCast(dw, v);
    return {hn::BitCast(df, hn::ShiftLeft<16>(words)), hn::BitCast(df, hn::And(words, hn::Set(dw, 0xFFFF0000u)))};
  }
  /// Nearest even: adds half a unit of the 16 bits kept, less one where the last kept bit is even. Infinity stays, and
  /// the canonical NaN does not carry into its exponent.
  template <class D>
  static HWY_INLINE hn::VFromD<WordTag<D>> Round(D /*d*/, hn::VFromD<FloatTag<D>> v) {
    const WordTag<D> dw;
    const auto bits = hn::BitCast(dw, v);
    const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(dw, 1u));
    return hn::Add(bits, hn::Add(hn::Set(dw, 0x7FFFu), odd));
  }
  template <class D>
  static HWY_INLINE hn::VFromD<D> FromFloat(D d, FloatPair<D> pair) {
    const WordTag<D> dw;
    const auto low = hn::ShiftRight<16>(Round(d, pair.low));
    const auto high = hn::And(Round(d, pair.high), hn::Set(dw, 0xFFFF0000u));
    return hn::BitCast(d, hn::Or(low, high));
  }
};

struct HalfFormat {
  // Highway's own conversions round to nearest even only where the CPU converts (F16C, NEON).
#if (HWY_ARCH_X86 && HWY_TARGET >= HWY_SSE4) || HWY_TARGET == HWY_EMU128
  /// `v`: a half in the low 16 bits of each word. Subnormals are made normal by subtracting the exponent bit they lack.
  template <class D, class V = hn::VFromD<WordTag<D>>>
  static HWY_INLINE hn::VFromD<FloatTag<D>> WordToFloat(D /*d*/, V v) {
    const WordTag<D> dw;
    const FloatTag<D> df;
    const V exponent_mask = hn::Set(dw, 0x7C00u << 13);
    const V magnitude = hn::ShiftLeft<13>(hn::And(v, hn::Set(dw, 0x7FFFu)));
    const V exponent = hn::And(magnitude, exponent_mask);
    const V normal = hn::Add(magnitude, hn::Set(dw, (127u - 15u) << 23));
    const V special = hn::Add(normal, hn::Set(dw, (128u - 16u) << 23));
    const auto magic = hn::BitCast(df, hn::Set(dw, 113u << 23));
    const V tiny = hn::BitCast(dw, hn::Sub(hn::BitCast(df, hn::Add(normal, hn::Set(dw, 1u << 23))), magic));
    V bits = hn::IfThenElse(hn::Eq(exponent, exponent_mask), special, normal);
    bits = hn::IfThenElse(hn::Eq(exponent, hn::Zero(dw)), tiny, bits);
    return hn::BitCast(df, hn::Or(bits, hn::ShiftLeft<16>(hn::And(v, hn::Set(dw, 0x8000u)))));
  }
  /// Both below 2^31, where signed comparison (the one SSSE3 has) is enough.
  template <class DW, class V = hn::VFromD<DW>>
  static HWY_INLINE auto AtLeast(DW dw, V bits, uint32_t bound) {
    const hn::RebindToSigned<DW> ds;
    return hn::RebindMask(dw, hn::Gt(hn::BitCast(ds, bits), hn::Set(ds, static_cast<int32_t>(bound - 1))));
  }
  /// Nearest even, into the low 16 bits of each word. Results below the smallest normal half are rounded by the float
  /// adder itself, against a constant whose last bit is the half's.
  template <class D>
  static HWY_INLINE hn::VFromD<WordTag<D>> FloatToWord(D /*d*/, hn::VFromD<FloatTag<D>> v) {
    const WordTag<D> dw;
    const FloatTag<D> df;
    using V = hn::VFromD<WordTag<D>>;
    const V all = hn::BitCast(dw, v);
    const V sign = hn::And(all, hn::Set(dw, 0x80000000u));
    const V bits = hn::Xor(all, sign);
    const V odd = hn::And(hn::ShiftRight<13>(bits), hn::Set(dw, 1u));
    const V normal = hn::ShiftRight<13>(hn::Add(bits, hn::Add(hn::Set(dw, ((15u - 127u) << 23) + 0xFFFu), odd)));
    const V magic = hn::Set(dw, ((127u - 15u) + (23u - 10u) + 1u) << 23);
    const V tiny = hn::Sub(hn::BitCast(dw, hn::Add(hn::BitCast(df, bits), hn::BitCast(df, magic))), magic);
    V half = hn::IfThenElse(AtLeast(dw, bits, 113u << 23), normal, tiny);
    half = hn::IfThenElse(AtLeast(dw, bits, (127u + 16u) << 23), hn::Set(dw, 0x7C00u), half);
    half = hn::IfThenElse(AtLeast(dw, bits, (255u << 23) + 1u), hn::Set(dw, 0x7E00u), half);
    return hn::Or(half, hn::ShiftRight<16>(sign));
  }
  template <class D>
  static HWY_INLINE FloatPair<D> ToFloat(D d, hn::VFromD<D> v) {
    const WordTag<D> dw;
    const auto words = hn::BitCast(dw, v);
    return {WordToFloat(d, hn::And(words, hn::Set(dw, 0xFFFFu))), WordToFloat(d, hn::ShiftRight<16>(words))};
  }
  template <class D>
  static HWY_INLINE hn::VFromD<D> FromFloat(D d, FloatPair<D> pair) {
    return hn::BitCast(d, hn::Or(FloatToWord(d, pair.low), hn::ShiftLeft<16>(FloatToWord(d, pair.high))));
  }
#else
  // The converting instructions take neighbouring lanes: `low` and `high` are the halves of the vector here.
  template <class D>
  static HWY_INLINE FloatPair<D> ToFloat(D /*d*/, hn::VFromD<D> v) {
    const hn::Half<D> dh;
    const hn::Rebind<hwy::float16_t, decltype(dh)> d16;
    const FloatTag<D> df;
    return {hn::PromoteTo(df, hn::BitCast(d16, hn::LowerHalf(dh, v))),
            hn::PromoteTo(df, hn::BitCast(d16, hn::UpperHalf(dh, v)))};
  }
  template <class D>
  static HWY_INLINE hn::VFromD<D> FromFloat(D d, FloatPair<D> pair) {
    const hn::Half<D> dh;
    const hn::Rebind<hwy::float16_t, decltype(dh)> d16;
    return hn::Combine(d, hn::BitCast(dh, hn::DemoteTo(d16, pair.high)), hn::BitCast(dh, hn::DemoteTo(d16, pair.low)));
  }
#endif
};

template <class Format, ReduceOp op>
struct ShortFloatRule {
  static constexpr size_t kUnroll = 2;
  template <class D>
  using Accumulator = FloatPair<D>;

  template <class D>
  static HWY_INLINE Accumulator<D> Widen(D d, hn::VFromD<D> v) {
    return Format::ToFloat(d, v);
  }
  template <class D>
  static HWY_INLINE Accumulator<D> Combine(D d, Accumulator<D> acc, hn::VFromD<D> v) {
    const FloatTag<D> df;
    const FloatPair<D> next = Format::ToFloat(d, v);
    return {CombineFloating<op>(df, acc.low, next.low), CombineFloating<op>(df, acc.high, next.high)};
  }
  template <class D>
  static HWY_INLINE hn::VFromD<D> Narrow(D d, Accumulator<D> acc, int32_t divisor) {
    const FloatTag<D> df;
    return Format::FromFloat(d, {FinishFloating<op>(df, acc.low, divisor), FinishFloating<op>(df, acc.high, divisor)});
  }
};
template <ReduceOp op>
struct Rule<Half, op> : ShortFloatRule<HalfFormat, op> {};
template <ReduceOp op>
struct Rule<Bfloat16, op> : ShortFloatRule<Bfloat16Format, op> {};

}  // namespace HWY_NAMESPACE
}  // namespace mycel
HWY_AFTER_NAMESPACE();

#endif
