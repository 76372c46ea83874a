// 8-bit floating rules (see rule-inl.h): accumulated in float32, rounded once to nearest even. The four bytes of each
// 32-bit word become four vectors of float32, by shifts and never by moving lanes.
#if defined(MYCEL_KERNELS_HOST_BYTE_FLOAT_RULES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MYCEL_KERNELS_HOST_BYTE_FLOAT_RULES_INL_H_
#undef MYCEL_KERNELS_HOST_BYTE_FLOAT_RULES_INL_H_
#else
#define MYCEL_KERNELS_HOST_BYTE_FLOAT_RULES_INL_H_
#endif

#include "kernels/host/floating_rules-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mycel {
namespace HWY_NAMESPACE {

/// What tells the two formats apart. kOverflow: magnitudes from this float32 on become kLargest.
struct E4m3 {
  static constexpr int kFractionBits = 3;
  static constexpr uint32_t kBias = 7;
  static constexpr uint32_t kNan = 0x7F;
  static constexpr uint32_t kFirstSpecial = 0x7F;    // the least magnitude that is no number
  static constexpr uint32_t kOverflow = 0x43E00000;  // 448: there is no infinity to round to
  static constexpr uint32_t kLargest = 0x7E;
};
struct E5m2 {
  static constexpr int kFractionBits = 2;
  static constexpr uint32_t kBias = 15;
  static constexpr uint32_t kNan = 0x7E;
  static constexpr uint32_t kFirstSpecial = 0x7C;
  static constexpr uint32_t kOverflow = 0x47700000;  // 61440, halfway beyond the largest number: infinity
  static constexpr uint32_t kLargest = 0x7C;
};
template <>
struct StorageOf<E4m3> {
  using Type = uint8_t;
};
template <>
struct StorageOf<E5m2> {
  using Type = uint8_t;
};

template <class Format, ReduceOp op>
struct ByteFloatRule {
  static constexpr size_t kUnroll = 1;
  static constexpr int kShift = 23 - Format::kFractionBits;  // from a byte's fraction to a float32's
  template <class D>
  struct Accumulator {
    hn::VFromD<FloatTag<D>> byte[4];
  };

  /// Both below 2^31, where signed comparison (the one SSSE3 has) is enough.
  template <class DW, class V = hn::VFromD<DW>>
  static HWY_INLINE auto AtLeast(DW dw, V bits, uint32_t bound) {
    const hn::RebindToSigned<DW> ds;
    return hn::RebindMask(dw, hn::Gt(hn::BitCast(ds, bits), hn::Set(ds, static_cast<int32_t>(bound - 1))));
  }

  /// `v`: an element in the low 8 bits of each word. Subnormals are made normal by subtracting the exponent bit they
  /// lack.
  template <class D, class V = hn::VFromD<WordTag<D>>>
  static HWY_INLINE hn::VFromD<FloatTag<D>> ToFloat(D /*d*/, V v) {
    const WordTag<D> dw;
    const FloatTag<D> df;
    const V magnitude = hn::And(v, hn::Set(dw, 0x7Fu));
    const V shifted = hn::ShiftLeft<kShift>(magnitude);
    const V normal = hn::Add(shifted, hn::Set(dw, (127u - Format::kBias) << 23));
    const auto magic = hn::BitCast(df, hn::Set(dw, (128u - Format::kBias) << 23));
    const V with_bit = hn::Add(normal, hn::Set(dw, 1u << 23));
    const V tiny = hn::BitCast(dw, hn::Sub(hn::BitCast(df, with_bit), magic));
    // Infinity keeps its fraction of zero, NaN one that is not; e4m3's only NaN has all bits set.
    const V special = hn::Or(shifted, hn::Set(dw, 0x7F800000u));
    V bits = hn::IfThenElse(AtLeast(dw, magnitude, 1u << Format::kFractionBits), normal, tiny);
    bits = hn::IfThenElse(AtLeast(dw, magnitude, Format::kFirstSpecial), special, bits);
    return hn::BitCast(df, hn::Or(bits, hn::ShiftLeft<24>(hn::And(v, hn::Set(dw, 0x80u)))));
  }
  /// Nearest even, into the low 8 bits of each word. Results below the smallest normal number are rounded by the float
  /// adder itself, against a constant whose last bit is the format's.
  template <class D>
  static HWY_INLINE hn::VFromD<WordTag<D>> FromFloat(D /*d*/, hn::VFromD<FloatTag<D>> v) {
    const WordTag<D> dw;
    const FloatTag<D> df;
    using V = hn::VFromD<WordTag<D>>;
    const V all = hn::BitCast(dw, v);
    const V sign = hn::And(all, hn::Set(dw, 0x80000000u));
    const V bits = hn::Xor(all, sign);
    const V odd = hn::And(hn::ShiftRight<kShift>(bits), hn::Set(dw, 1u));
    constexpr uint32_t kRound = ((Format::kBias - 127u) << 23) + (1u << (kShift - 1)) - 1;
    const V normal = hn::ShiftRight<kShift>(hn::Add(bits, hn::Add(hn::Set(dw, kRound), odd)));
    const V magic = hn::Set(dw, (127u - Format::kBias + static_cast<uint32_t>(kShift) + 1u) << 23);
    const V tiny = hn::Sub(hn::BitCast(dw, hn::Add(hn::BitCast(df, bits), hn::BitCast(df, magic))), magic);
    V byte = hn::IfThenElse(AtLeast(dw, bits, (128u - Format::kBias) << 23), normal, tiny);
    byte = hn::IfThenElse(AtLeast(dw, bits, Format::kOverflow), hn::Set(dw, Format::kLargest), byte);
    byte = hn::IfThenElse(AtLeast(dw, bits, 0x7F800001u), hn::Set(dw, Format::kNan), byte);
    return hn::Or(byte, hn::ShiftRight<24>(sign));
  }

  template <class D>
  static HWY_INLINE Accumulator<D> Widen(D d, hn::VFromD<D> v) {
    const WordTag<D> dw;
    const auto words = hn::BitCast(dw, v);
    return {{ToFloat(d, words), ToFloat(d, hn::ShiftRight<8>(words)), ToFloat(d, hn::ShiftRight<16>(words)),
             ToFloat(d, hn::ShiftRight<24>(words))}};
  }
  template <class D>
  static HWY_INLINE Accumulator<D> Combine(D d, Accumulator<D> acc, hn::VFromD<D> v) {
    const FloatTag<D> df;
    const Accumulator<D> next = Widen(d, v);
    for (int i = 0; i < 4; ++i) acc.byte[i] = CombineFloating<op>(df, acc.byte[i], next.byte[i]);
    return acc;
  }
  template <class D>
  static HWY_INLINE hn::VFromD<D> Narrow(D d, Accumulator<D> acc, int32_t divisor) {
    const FloatTag<D> df;
    hn::VFromD<WordTag<D>> byte[4];
    for (int i = 0; i < 4; ++i) byte[i] = FromFloat(d, FinishFloating<op>(df, acc.byte[i], divisor));
    const auto low = hn::Or(byte[0], hn::ShiftLeft<8>(byte[1]));
    const auto high = hn::Or(hn::ShiftLeft<16>(byte[2]), hn::ShiftLeft<24>(byte[3]));
    return hn::BitCast(d, hn::Or(low, high));
  }
};
template <ReduceOp op>
struct Rule<E4m3, op> : ByteFloatRule<E4m3, op> {};
template <ReduceOp op>
struct Rule<E5m2, op> : ByteFloatRule<E5m2, op> {};

}  // namespace HWY_NAMESPACE
}  // namespace mycel
HWY_AFTER_NAMESPACE();

#endif
