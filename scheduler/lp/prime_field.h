// Arithmetic modulo a prime 2^61 - c with a small c, and linear systems over it: how exact answers are had without
// numbers that grow. A fraction is recovered from its residues when it is known to be small enough.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/int128.h"

namespace mycel {

class PrimeField {
 public:
  /// 2^61 - complement must be prime: 1 and 31 are the first two.
  explicit constexpr PrimeField(uint64_t complement)
      : complement_(complement), prime_((uint64_t{1} << 61) - complement) {}

  uint64_t prime() const { return prime_; }
  uint64_t FromInt(int64_t value) const {
    const int64_t rest = value % static_cast<int64_t>(prime_);
    return rest < 0 ? static_cast<uint64_t>(rest + static_cast<int64_t>(prime_)) : static_cast<uint64_t>(rest);
  }
  uint64_t Add(uint64_t a, uint64_t b) const { return a + b >= prime_ ? a + b - prime_ : a + b; }
  uint64_t Subtract(uint64_t a, uint64_t b) const { return a >= b ? a - b : a + prime_ - b; }
  uint64_t Multiply(uint64_t a, uint64_t b) const {
    // Twice: high * 2^61 + low == high * c + low.
    uint128 product = uint128{a} * b;
    product = (product & kMask) + (product >> 61) * complement_;
    product = (product & kMask) + (product >> 61) * complement_;
    const auto rest = static_cast<uint64_t>(product);
    return rest >= prime_ ? rest - prime_ : rest;
  }
  uint64_t Inverse(uint64_t a) const;  // a != 0

 private:
  static constexpr uint64_t kMask = (uint64_t{1} << 61) - 1;
  uint64_t complement_;
  uint64_t prime_;
};

/// A square system, sparse: row i says sum of coefficient * unknown == right[i].
struct SparseSystem {
  struct Entry {
    int32_t column;
    int64_t coefficient;
  };
  std::vector<std::vector<Entry>> rows;
  std::vector<int64_t> right;
};

/// The unknowns' residues; nothing when the system is singular modulo the prime. Time: cubic at worst, but rows with
/// few entries are eliminated first, and a graph's rows stay thin.
std::optional<std::vector<uint64_t>> SolveModulo(const SparseSystem& system, const PrimeField& field);

}  // namespace mycel
