#include "core/base/rational.h"

#include <algorithm>
#include <limits>

#include "core/base/check.h"

namespace mycel {
namespace {

// Magnitudes are unsigned so that the most negative value needs no special case.
uint128 Magnitude(int128 value) {
  return value < 0 ? uint128{0} - static_cast<uint128>(value) : static_cast<uint128>(value);
}

uint128 GreatestCommonDivisor(uint128 a, uint128 b) {
  while (b != 0) {
    const uint128 rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

// 10^37 is the largest power of ten that, times 9, stays inside a signed 128-bit integer.
constexpr int kDigitsMax = 37;

int128 PowerOfTen(int exponent) {
  MYCEL_CHECK(exponent >= 0 && exponent <= kDigitsMax);
  int128 power = 1;
  for (int i = 0; i < exponent; ++i) power *= 10;
  return power;
}

std::string Quoted(std::string_view text) {
  constexpr size_t kShown = 40;
  return "'" + std::string(text.substr(0, kShown)) + (text.size() > kShown ? "...'" : "'");
}

Status NotANumber(std::string_view text) {
  return InvalidArgument(Quoted(text) + " is not a number; write a decimal like 12.5 or a fraction like 25/2");
}

Status TooLong(std::string_view text) {
  return InvalidArgument(Quoted(text) + " does not fit an exact fraction of 64-bit integers; use fewer digits");
}

// Takes leading digits off `text`.
std::string_view TakeDigits(std::string_view& text) {
  size_t count = 0;
  while (count < text.size() && text[count] >= '0' && text[count] <= '9') ++count;
  const std::string_view digits = text.substr(0, count);
  text.remove_prefix(count);
  return digits;
}

StatusOr<int64_t> ParseInteger(std::string_view all, std::string_view digits, bool negative) {
  if (digits.empty()) return NotANumber(all);
  uint128 value = 0;
  const uint128 max = static_cast<uint128>(std::numeric_limits<int64_t>::max()) + (negative ? 1 : 0);
  for (const char digit : digits) {
    value = value * 10 + static_cast<uint128>(digit - '0');
    if (value > max) return TooLong(all);
  }
  return static_cast<int64_t>(negative ? -static_cast<int128>(value) : static_cast<int128>(value));
}

StatusOr<Rational> ParseFraction(std::string_view all, std::string_view upper, std::string_view lower, bool negative) {
  std::string_view rest_upper = upper;
  std::string_view rest_lower = lower;
  MYCEL_ASSIGN_OR_RETURN(const int64_t numerator, ParseInteger(all, TakeDigits(rest_upper), negative));
  MYCEL_ASSIGN_OR_RETURN(const int64_t denominator, ParseInteger(all, TakeDigits(rest_lower), false));
  if (!rest_upper.empty() || !rest_lower.empty()) return NotANumber(all);
  if (denominator == 0) return InvalidArgument(Quoted(all) + " divides by zero; write a denominator above 0");
  return Rational::TryMake(numerator, denominator);
}

// The digits before and after the point, without leading and trailing zeros, and the power of ten they stand for.
struct Decimal {
  std::string digits;
  int64_t exponent = 0;
};

StatusOr<Decimal> SplitDecimal(std::string_view all, std::string_view text) {
  const std::string_view whole = TakeDigits(text);
  if (whole.empty()) return NotANumber(all);
  std::string_view part;
  if (!text.empty() && text.front() == '.') {
    text.remove_prefix(1);
    part = TakeDigits(text);
    if (part.empty()) return NotANumber(all);
  }
  int64_t exponent = 0;
  if (!text.empty() && (text.front() == 'e' || text.front() == 'E')) {
    text.remove_prefix(1);
    const bool negative = !text.empty() && text.front() == '-';
    if (negative || (!text.empty() && text.front() == '+')) text.remove_prefix(1);
    const std::string_view digits = TakeDigits(text);
    if (digits.empty()) return NotANumber(all);
    constexpr int64_t kExponentMax = int64_t{1} << 40;  // beyond any text's length: further digits change nothing
    for (const char digit : digits) exponent = std::min(exponent * 10 + (digit - '0'), kExponentMax);
    if (negative) exponent = -exponent;
  }
  if (!text.empty()) return NotANumber(all);

  Decimal decimal;
  decimal.digits.append(whole).append(part);
  decimal.exponent = exponent - static_cast<int64_t>(part.size());
  while (!decimal.digits.empty() && decimal.digits.back() == '0') {
    decimal.digits.pop_back();
    ++decimal.exponent;
  }
  decimal.digits.erase(0, std::min(decimal.digits.find_first_not_of('0'), decimal.digits.size()));
  return decimal;
}

StatusOr<Rational> ParseDecimal(std::string_view all, std::string_view text, bool negative) {
  MYCEL_ASSIGN_OR_RETURN(const Decimal decimal, SplitDecimal(all, text));
  if (decimal.digits.empty()) return Rational(0);
  const int64_t digit_count = static_cast<int64_t>(decimal.digits.size());
  if (digit_count > kDigitsMax || digit_count + decimal.exponent > kDigitsMax || decimal.exponent < -kDigitsMax) {
    return TooLong(all);
  }
  int128 value = 0;
  for (const char digit : decimal.digits) value = value * 10 + (digit - '0');
  if (negative) value = -value;
  const int exponent = static_cast<int>(decimal.exponent);
  auto made = exponent >= 0 ? Rational::TryMake(value * PowerOfTen(exponent), 1)
                            : Rational::TryMake(value, PowerOfTen(-exponent));
  if (!made.ok()) return TooLong(all);
  return made;
}

// For the operators, whose callers promise that the result fits.
Rational Fitting(const StatusOr<Rational>& result) {
  if (!result.ok()) CheckFailed(__FILE__, __LINE__, "rational arithmetic", ": " + StatusMessage(result.status()));
  return *result;
}

}  // namespace

Rational::Rational(int64_t numerator, int64_t denominator) { *this = Fitting(TryMake(numerator, denominator)); }

std::string Rational::ToString() const {
  std::string text = std::to_string(numerator_);
  if (denominator_ != 1) text += "/" + std::to_string(denominator_);
  return text;
}

StatusOr<Rational> Rational::Parse(std::string_view text) {
  std::string_view rest = text;
  const bool negative = !rest.empty() && rest.front() == '-';
  if (negative) rest.remove_prefix(1);
  const size_t slash = rest.find('/');
  if (slash == std::string_view::npos) return ParseDecimal(text, rest, negative);
  return ParseFraction(text, rest.substr(0, slash), rest.substr(slash + 1), negative);
}

StatusOr<Rational> Rational::TryMake(int128 numerator, int128 denominator) {
  if (denominator == 0) return InvalidArgument("division by zero");
  const bool negative = (numerator < 0) != (denominator < 0);
  uint128 upper = Magnitude(numerator);
  uint128 lower = Magnitude(denominator);
  const uint128 divisor = GreatestCommonDivisor(upper, lower);
  upper /= divisor;
  lower /= divisor;
  const uint128 max = static_cast<uint128>(std::numeric_limits<int64_t>::max());
  if (lower > max || upper > max + (negative ? 1 : 0)) {
    return InvalidArgument("a fraction leaves 64-bit integers; use rounder numbers");
  }
  Rational result;
  result.numerator_ = static_cast<int64_t>(negative ? -static_cast<int128>(upper) : static_cast<int128>(upper));
  result.denominator_ = static_cast<int64_t>(lower);
  return result;
}

// Both products are below 2^126 in magnitude, so that neither they nor their sum leave 128 bits.
StatusOr<Rational> Rational::TryAdd(const Rational& a, const Rational& b) {
  return TryMake(int128{a.numerator_} * b.denominator_ + int128{b.numerator_} * a.denominator_,
                 int128{a.denominator_} * b.denominator_);
}

StatusOr<Rational> Rational::TryMultiply(const Rational& a, const Rational& b) {
  return TryMake(int128{a.numerator_} * b.numerator_, int128{a.denominator_} * b.denominator_);
}

Rational operator+(const Rational& a, const Rational& b) { return Fitting(Rational::TryAdd(a, b)); }

Rational operator-(const Rational& a, const Rational& b) {
  return Fitting(Rational::TryMake(int128{a.numerator_} * b.denominator_ - int128{b.numerator_} * a.denominator_,
                                   int128{a.denominator_} * b.denominator_));
}

Rational operator*(const Rational& a, const Rational& b) { return Fitting(Rational::TryMultiply(a, b)); }

Rational operator/(const Rational& a, const Rational& b) {
  return Fitting(Rational::TryMake(int128{a.numerator_} * b.denominator_, int128{a.denominator_} * b.numerator_));
}

std::strong_ordering operator<=>(const Rational& a, const Rational& b) {
  return int128{a.numerator_} * b.denominator_ <=> int128{b.numerator_} * a.denominator_;
}

std::ostream& operator<<(std::ostream& out, const Rational& value) { return out << value.ToString(); }

}  // namespace mycel
