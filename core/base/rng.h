// Seeded random numbers: xoshiro256** filled by SplitMix64 (Blackman and Vigna, public domain algorithms). The same
// seed gives the same numbers on every machine and compiler, which std's distributions do not promise.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>

#include "core/base/check.h"
#include "core/base/int128.h"

namespace mycel {

/// One step of SplitMix64: turns any 64-bit state, even 0, 1, 2, ..., into well-mixed numbers.
constexpr uint64_t SplitMix64(uint64_t& state) {
  uint64_t z = (state += 0x9e3779b97f4a7c15U);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31);
}

/// xoshiro256**. A UniformRandomBitGenerator; not for cryptography.
class Rng {
 public:
  using result_type = uint64_t;

  explicit constexpr Rng(uint64_t seed) {
    for (uint64_t& word : state_) word = SplitMix64(seed);
  }

  static constexpr result_type min() { return 0; }
  static constexpr result_type max() { return std::numeric_limits<result_type>::max(); }
  constexpr result_type operator()() { return Next(); }

  constexpr uint64_t Next() {
    const uint64_t result = Rotate(state_[1] * 5, 7) * 9;
    const uint64_t t = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= t;
    state_[3] = Rotate(state_[3], 45);
    return result;
  }

  /// Uniform in [0, n), without bias (Lemire's method); n > 0.
  constexpr uint64_t Below(uint64_t n) {
    MYCEL_DCHECK(n > 0);
    const uint64_t floor = (0 - n) % n;  // 2^64 mod n: products whose low half lies below it would be biased
    while (true) {
      const uint128 product = static_cast<uint128>(Next()) * n;
      if (static_cast<uint64_t>(product) >= floor) return static_cast<uint64_t>(product >> 64);
    }
  }

  /// Uniform in [low, high], both included; low <= high.
  constexpr int64_t Between(int64_t low, int64_t high) {
    MYCEL_DCHECK(low <= high);
    const uint64_t width = static_cast<uint64_t>(high) - static_cast<uint64_t>(low) + 1;
    const uint64_t offset = width == 0 ? Next() : Below(width);  // width 0: the whole 64-bit range
    return static_cast<int64_t>(static_cast<uint64_t>(low) + offset);
  }

  /// Uniform in [0, 1), 53 bits.
  constexpr double Unit() { return static_cast<double>(Next() >> 11) * 0x1.0p-53; }
  /// True once in n.
  constexpr bool OneIn(uint64_t n) { return Below(n) == 0; }

  /// Fisher-Yates over anything with size() and operator[].
  template <typename Sequence>
  constexpr void Shuffle(Sequence& items) {
    for (size_t i = items.size(); i > 1; --i) {
      using std::swap;
      swap(items[i - 1], items[static_cast<size_t>(Below(i))]);
    }
  }

  /// A generator whose numbers are unrelated to this one's further numbers.
  constexpr Rng Fork() { return Rng(Next()); }

 private:
  static constexpr uint64_t Rotate(uint64_t x, int k) { return (x << k) | (x >> (64 - k)); }
  std::array<uint64_t, 4> state_{};
};

}  // namespace mycel
