// Integer rules (see rule-inl.h). Widening never moves lanes: narrow elements are taken out of the word that holds them
// by shifts, and put back the same way.
#if defined(MYCEL_KERNELS_HOST_INTEGER_RULES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MYCEL_KERNELS_HOST_INTEGER_RULES_INL_H_
#undef MYCEL_KERNELS_HOST_INTEGER_RULES_INL_H_
#else
#define MYCEL_KERNELS_HOST_INTEGER_RULES_INL_H_
#endif

#include <type_traits>

#include "core/base/int128.h"
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
    } else if constexpr (op == ReduceOp::kMin) {
      return hn::Min(acc, v);
    } else if constexpr (op == ReduceOp::kBand) {
      return hn::And(acc, v);
    } else if constexpr (op == ReduceOp::kBor) {
      return hn::Or(acc, v);
    } else {
      static_assert(op == ReduceOp::kBxor);
      return hn::Xor(acc, v);
    }
  }
};
template <ReduceOp op>
struct Rule<int8_t, op> : IntegerRule<op> {};
template <ReduceOp op>
struct Rule<uint8_t, op> : IntegerRule<op> {};
template <ReduceOp op>
struct Rule<int16_t, op> : IntegerRule<op> {};
template <ReduceOp op>
struct Rule<uint16_t, op> : IntegerRule<op> {};
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

/// 16 and 32 bits: sums in int64 (kApplyInputsMax * 2^32 = 2^44), divided in float64, exact for the same reason.
/// Integers and doubles of that size turn into each other by adding 1.5 * 2^52, whose last bit is worth one.
template <typename T>
struct WordAverageRule {
  static constexpr size_t kUnroll = 1;
  static constexpr int kBits = 8 * sizeof(T);
  static constexpr int kParts = 8 / sizeof(T);  // elements in a 64-bit word
  static constexpr int64_t kMagicBits = 0x4338000000000000;
  static constexpr double kMagic = 6755399441055744.0;
  template <class D>
  using WideTag = hn::Repartition<int64_t, D>;
  template <class D>
  struct Accumulator {
    hn::VFromD<WideTag<D>> part[kParts];
  };

  /// Element `kIndex` of each 64-bit word, sign- or zero-extended.
  template <int kIndex, class D>
  static HWY_INLINE hn::VFromD<WideTag<D>> Part(D /*d*/, hn::VFromD<D> v) {
    const WideTag<D> dw;
    const hn::RebindToUnsigned<WideTag<D>> du;
    constexpr int kAbove = 64 - kBits * (kIndex + 1);
    auto top = hn::BitCast(du, v);
    if constexpr (kAbove > 0) top = hn::ShiftLeft<kAbove>(top);
    if constexpr (hwy::IsSigned<T>()) return hn::ShiftRight<64 - kBits>(hn::BitCast(dw, top));
    return hn::BitCast(dw, hn::ShiftRight<64 - kBits>(top));
  }
  template <class D>
  static HWY_INLINE Accumulator<D> Widen(D d, hn::VFromD<D> v) {
    if constexpr (kParts == 2) {
      return {{Part<0>(d, v), Part<1>(d, v)}};
    } else {
      return {{Part<0>(d, v), Part<1>(d, v), Part<2>(d, v), Part<3>(d, v)}};
    }
  }
  template <class D>
  static HWY_INLINE Accumulator<D> Combine(D d, Accumulator<D> acc, hn::VFromD<D> v) {
    const Accumulator<D> next = Widen(d, v);
    for (int i = 0; i < kParts; ++i) acc.part[i] = hn::Add(acc.part[i], next.part[i]);
    return acc;
  }
  /// The low bits of the quotient in each 64-bit word.
  template <class D>
  static HWY_INLINE hn::VFromD<WideTag<D>> Quotient(D /*d*/, hn::VFromD<WideTag<D>> sum, int32_t divisor) {
    const WideTag<D> dw;
    const hn::Repartition<double, D> dd;
    const auto magic = hn::Set(dd, kMagic);
    const auto dividend = hn::Sub(hn::BitCast(dd, hn::Add(sum, hn::Set(dw, kMagicBits))), magic);
    const auto quotient = hn::Trunc(hn::Div(dividend, hn::Set(dd, static_cast<double>(divisor))));
    const auto whole = hn::Sub(hn::BitCast(dw, hn::Add(quotient, magic)), hn::Set(dw, kMagicBits));
    return hn::And(whole, hn::Set(dw, (int64_t{1} << kBits) - 1));
  }
  template <class D>
  static HWY_INLINE hn::VFromD<D> Narrow(D d, Accumulator<D> acc, int32_t divisor) {
    auto word = Quotient(d, acc.part[0], divisor);
    word = hn::Or(word, hn::ShiftLeft<kBits>(Quotient(d, acc.part[1], divisor)));
    if constexpr (kParts == 4) {
      word = hn::Or(word, hn::ShiftLeft<2 * kBits>(Quotient(d, acc.part[2], divisor)));
      word = hn::Or(word, hn::ShiftLeft<3 * kBits>(Quotient(d, acc.part[3], divisor)));
    }
    return hn::BitCast(d, word);
  }
};
template <>
struct Rule<int16_t, ReduceOp::kAvg> : WordAverageRule<int16_t> {};
template <>
struct Rule<uint16_t, ReduceOp::kAvg> : WordAverageRule<uint16_t> {};
template <>
struct Rule<int32_t, ReduceOp::kAvg> : WordAverageRule<int32_t> {};
template <>
struct Rule<uint32_t, ReduceOp::kAvg> : WordAverageRule<uint32_t> {};

/// 64 bits: sums in 128, of which `high` counts carries and borrows; divided lane by lane (no CPU divides vectors of
/// integers).
template <typename T>
struct LongAverageRule {
  static constexpr size_t kUnroll = 1;
  template <class D>
  struct Accumulator {
    hn::VFromD<D> low;
    hn::VFromD<D> high;
  };

  template <class D>
  static HWY_INLINE hn::VFromD<D> SignOf(D d, hn::VFromD<D> v) {
    if constexpr (hwy::IsSigned<T>()) return hn::BroadcastSignBit(v);
    return hn::Zero(d);
  }
  template <class D>
  static HWY_INLINE Accumulator<D> Widen(D d, hn::VFromD<D> v) {
    return {v, SignOf(d, v)};
  }
  template <class D>
  static HWY_INLINE Accumulator<D> Combine(D d, Accumulator<D> acc, hn::VFromD<D> v) {
    const hn::RebindToUnsigned<D> du;
    const auto low = hn::Add(acc.low, v);
    // The sum of unsigned words is below its terms where it carried; a mask is minus one.
    const auto carry = hn::VecFromMask(d, hn::RebindMask(d, hn::Lt(hn::BitCast(du, low), hn::BitCast(du, v))));
    return {low, hn::Sub(hn::Add(acc.high, SignOf(d, v)), carry)};
  }
  template <class D>
  static HWY_INLINE hn::VFromD<D> Narrow(D d, Accumulator<D> acc, int32_t divisor) {
    using Wide = std::conditional_t<hwy::IsSigned<T>(), int128, uint128>;
    HWY_ALIGN T low[hn::MaxLanes(D())];
    HWY_ALIGN T high[hn::MaxLanes(D())];
    hn::Store(acc.low, d, low);
    hn::Store(acc.high, d, high);
    for (size_t i = 0; i < hn::Lanes(d); ++i) {
      const uint128 sum = static_cast<uint128>(static_cast<uint64_t>(high[i])) << 64 | static_cast<uint64_t>(low[i]);
      low[i] = static_cast<T>(static_cast<Wide>(sum) / divisor);
    }
    return hn::Load(d, low);
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
