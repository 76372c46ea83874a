// Exact rational numbers over 64-bit integers with 128-bit intermediates. Overflow is refused, never wrapped.
#pragma once

#include <compare>
#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>

#include "core/base/int128.h"
#include "core/base/status.h"

namespace mycel {

/// Always reduced, denominator > 0, so equal numbers have equal parts. Arithmetic that leaves 64 bits, or divides by
/// zero, stops the process (MYCEL_CHECK); code that handles user input uses the Try* forms, which return
/// InvalidArgument.
class Rational {
 public:
  constexpr Rational() = default;
  constexpr Rational(int64_t value) : numerator_(value) {}  // NOLINT(google-explicit-constructor): 3 is a rational
  Rational(int64_t numerator, int64_t denominator);

  int64_t numerator() const { return numerator_; }
  int64_t denominator() const { return denominator_; }
  double ToDouble() const { return static_cast<double>(numerator_) / static_cast<double>(denominator_); }
  /// "7/50", "3", "-1/2".
  std::string ToString() const;
  /// Exact decimal as JSON writes it ("12.5", "-1e3") or fraction of integers ("25/2"); never goes through a double.
  static StatusOr<Rational> Parse(std::string_view text);

  /// numerator / denominator in lowest terms, if that fits 64 bits and denominator is not 0.
  static StatusOr<Rational> TryMake(int128 numerator, int128 denominator);
  static StatusOr<Rational> TryAdd(const Rational& a, const Rational& b);
  static StatusOr<Rational> TryMultiply(const Rational& a, const Rational& b);

  friend Rational operator+(const Rational& a, const Rational& b);
  friend Rational operator-(const Rational& a, const Rational& b);
  friend Rational operator*(const Rational& a, const Rational& b);
  friend Rational operator/(const Rational& a, const Rational& b);
  friend bool operator==(const Rational&, const Rational&) = default;
  friend std::strong_ordering operator<=>(const Rational& a, const Rational& b);
  Rational& operator+=(const Rational& other) { return *this = *this + other; }

 private:
  int64_t numerator_ = 0;
  int64_t denominator_ = 1;
};

std::ostream& operator<<(std::ostream& out, const Rational& value);

}  // namespace mycel
