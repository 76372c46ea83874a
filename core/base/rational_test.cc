#include "core/base/rational.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <string>

#include "core/base/rng.h"

namespace mycel {
namespace {

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
constexpr int64_t kMin = std::numeric_limits<int64_t>::min();

std::string Parsed(std::string_view text) {
  const auto value = Rational::Parse(text);
  return value.ok() ? value->ToString() : "error: " + StatusMessage(value.status());
}

TEST(RationalTest, IsReducedWithAPositiveDenominator) {
  EXPECT_EQ(Rational(6, 4).ToString(), "3/2");
  EXPECT_EQ(Rational(-6, 4).ToString(), "-3/2");
  EXPECT_EQ(Rational(6, -4).ToString(), "-3/2");
  EXPECT_EQ(Rational(0, -7).ToString(), "0");
  EXPECT_EQ(Rational(0, -7).denominator(), 1);
  EXPECT_EQ(Rational(kMin, kMin), Rational(1));
  EXPECT_EQ(Rational(kMin, 2).ToString(), "-4611686018427387904");
  EXPECT_EQ(Rational(7, 50).ToDouble(), 0.14);
}

TEST(RationalTest, ParsesDecimalsExactly) {
  EXPECT_EQ(Parsed("12.5"), "25/2");
  EXPECT_EQ(Parsed("0.1"), "1/10");
  EXPECT_EQ(Parsed("1e3"), "1000");
  EXPECT_EQ(Parsed("1E+3"), "1000");
  EXPECT_EQ(Parsed("25e-1"), "5/2");
  EXPECT_EQ(Parsed("-0.0"), "0");
  EXPECT_EQ(Parsed("-1.25"), "-5/4");
  EXPECT_EQ(Parsed("0"), "0");
  EXPECT_EQ(Parsed("0e999999999999999999999999"), "0");
  EXPECT_EQ(Parsed("100000000000000000000000e-20"), "1000");
  EXPECT_EQ(Parsed("0.000000000000000000000001e24"), "1");
  EXPECT_EQ(Parsed("9223372036854775807"), "9223372036854775807");
  EXPECT_EQ(Parsed("-9223372036854775808"), "-9223372036854775808");
  // 2^-27 has 27 decimals and a ten to the 27th in its unreduced denominator.
  EXPECT_EQ(Parsed("0.000000007450580596923828125"), "1/134217728");
}

TEST(RationalTest, ParsesFractions) {
  EXPECT_EQ(Parsed("25/2"), "25/2");
  EXPECT_EQ(Parsed("50/4"), "25/2");
  EXPECT_EQ(Parsed("-50/4"), "-25/2");
  EXPECT_EQ(Parsed("0/9"), "0");
}

TEST(RationalTest, RefusesWhatIsNoNumber) {
  for (const std::string_view text :
       {"",    "-",    "+1", " 1", "1 ",   "1.",    ".5",    "1e",  "1e+",   "1.5.2", "nan",
        "inf", "0x10", "1/", "/2", "1/-2", "1/2/3", "1.5/2", "--1", "1e5.5", "1,5",   "1/2 "}) {
    const auto value = Rational::Parse(text);
    EXPECT_EQ(value.status().code(), StatusCode::kInvalidArgument) << text;
    EXPECT_NE(StatusMessage(value.status()).find("write a decimal"), std::string::npos) << text;
  }
  EXPECT_EQ(Parsed("3/0"), "error: '3/0' divides by zero; write a denominator above 0");
}

TEST(RationalTest, RefusesWhatDoesNotFitIn64Bits) {
  for (const std::string_view text :
       {"9223372036854775808", "-9223372036854775809", "1e19", "1e-19", "1e400", "1e-400", "1e99999999999999999999",
        "0.12345678901234567890123", "9223372036854775808/3", "1/9223372036854775808",
        "123456789012345678901234567890123456789012345678901234567890"}) {
    const auto value = Rational::Parse(text);
    EXPECT_EQ(value.status().code(), StatusCode::kInvalidArgument) << text;
    EXPECT_NE(StatusMessage(value.status()).find("use fewer digits"), std::string::npos) << text;
  }
  // The message shows the beginning of an endless number only.
  EXPECT_LT(Parsed(std::string(1'000'000, '7')).size(), 200u);
}

TEST(RationalTest, TryFormsRefuseOverflow) {
  EXPECT_FALSE(Rational::TryMake(1, 0).ok());
  EXPECT_FALSE(Rational::TryMake(int128{kMax} + 1, 1).ok());
  EXPECT_FALSE(Rational::TryMake(1, int128{kMax} + 1).ok());
  EXPECT_EQ(*Rational::TryMake(int128{kMin}, 1), Rational(kMin));
  EXPECT_EQ(*Rational::TryMake(int128{kMax} * 6, int128{kMax} * 4), Rational(3, 2));
  EXPECT_EQ(*Rational::TryMake(-(int128{kMax} * 6), -(int128{kMax} * 4)), Rational(3, 2));
  EXPECT_FALSE(Rational::TryAdd(Rational(kMax), Rational(1)).ok());
  EXPECT_FALSE(Rational::TryAdd(Rational(1, kMax), Rational(1, kMax - 1)).ok());
  EXPECT_FALSE(Rational::TryMultiply(Rational(kMax), Rational(2)).ok());
  EXPECT_EQ(*Rational::TryMultiply(Rational(kMax), Rational(1, kMax)), Rational(1));
}

TEST(RationalDeathTest, OperatorsStopRatherThanWrap) {
  EXPECT_DEATH(Rational(kMax) + Rational(1), "rational arithmetic");
  EXPECT_DEATH(Rational(kMin) - Rational(1), "rational arithmetic");
  EXPECT_DEATH(Rational(kMax) * Rational(kMax), "rational arithmetic");
  EXPECT_DEATH(Rational(1) / Rational(0), "division by zero");
  EXPECT_DEATH(Rational(1, 0), "division by zero");
}

// Against plain 128-bit fractions, compared by cross products.
TEST(RationalTest, AgreesWith128BitFractions) {
  const uint64_t seed = 20240607;
  SCOPED_TRACE("seed " + std::to_string(seed));
  Rng random(seed);
  const auto draw = [&random](int bits) {
    const int64_t value = static_cast<int64_t>(random() >> (64 - bits));
    return random.OneIn(2) ? value : -value;
  };
  for (int i = 0; i < 100'000; ++i) {
    const int bits = static_cast<int>(random.Between(1, 30));
    const int64_t a = draw(bits), c = draw(bits);
    const int64_t b = std::abs(draw(bits)) + 1, d = std::abs(draw(bits)) + 1;
    const Rational x(a, b), y(c, d);
    const auto equals = [](const Rational& value, int128 upper, int128 lower) {
      return int128{value.numerator()} * lower == upper * value.denominator();
    };
    ASSERT_TRUE(equals(x, a, b));
    ASSERT_TRUE(equals(x + y, int128{a} * d + int128{c} * b, int128{b} * d));
    ASSERT_TRUE(equals(x - y, int128{a} * d - int128{c} * b, int128{b} * d));
    ASSERT_TRUE(equals(x * y, int128{a} * c, int128{b} * d));
    if (c != 0) {
      ASSERT_TRUE(equals(x / y, int128{a} * d, int128{b} * c));
    }
    ASSERT_EQ(x < y, int128{a} * d < int128{c} * b);
    ASSERT_EQ(x == y, int128{a} * d == int128{c} * b);
    ASSERT_EQ(x > y, int128{a} * d > int128{c} * b);
    ASSERT_GT(x.denominator(), 0);
    ASSERT_EQ(std::gcd(x.numerator(), x.denominator()), 1);
    ASSERT_EQ(*Rational::Parse(x.ToString()), x);
  }
}

// Whether a result fits is decided on the reduced fraction, over the whole range of 64-bit operands.
TEST(RationalTest, RefusesExactlyWhatLeaves64Bits) {
  const uint64_t seed = 7;
  SCOPED_TRACE("seed " + std::to_string(seed));
  Rng random(seed);
  int refused = 0;
  for (int i = 0; i < 20'000; ++i) {
    const int64_t wide = int64_t{1} << random.Between(1, 62), narrow = int64_t{1} << random.Between(1, 62);
    const Rational x(random.Between(-wide, wide), random.Between(1, narrow));
    const Rational y(random.Between(-narrow, narrow), random.Between(1, wide));
    const int128 upper = int128{x.numerator()} * y.numerator();
    const int128 lower = int128{x.denominator()} * y.denominator();
    int128 a = upper < 0 ? -upper : upper, b = lower;
    while (b != 0) std::swap(a, b), b %= a;
    const bool fits = lower / a <= kMax && upper / a <= kMax && upper / a >= kMin;
    const auto product = Rational::TryMultiply(x, y);
    ASSERT_EQ(product.ok(), fits) << x << " * " << y;
    if (fits) {
      ASSERT_TRUE(product->numerator() == upper / a && product->denominator() == lower / a);
    }
    refused += fits ? 0 : 1;
  }
  EXPECT_GT(refused, 100);
  EXPECT_LT(refused, 19'900);
}

TEST(RationalTest, AnyDecimalOfEighteenDigitsIsReadExactly) {
  const uint64_t seed = 42;
  SCOPED_TRACE("seed " + std::to_string(seed));
  Rng random(seed);
  for (int i = 0; i < 100'000; ++i) {
    const int decimals = static_cast<int>(random.Below(19));
    int64_t scale = 1;
    for (int d = 0; d < decimals; ++d) scale *= 10;
    const int64_t value = random.Between(0, 999'999'999'999'999'999);
    std::string text = std::to_string(value);
    if (decimals > 0) {
      text.insert(0, std::string(static_cast<size_t>(std::max<int64_t>(0, decimals + 1 - std::ssize(text))), '0'));
      text.insert(text.size() - static_cast<size_t>(decimals), ".");
    }
    const auto parsed = Rational::Parse(text);
    ASSERT_TRUE(parsed.ok()) << text;
    ASSERT_EQ(*parsed, Rational(value, scale)) << text;
  }
}

}  // namespace
}  // namespace mycel
