// The exact corner with its proof, on programs whose solution is known; residues and systems modulo primes.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/base/int128.h"
#include "core/base/rational.h"
#include "core/base/rng.h"
#include "scheduler/lp/exact_vertex.h"
#include "scheduler/lp/linear_program.h"
#include "scheduler/lp/prime_field.h"

namespace mycel {
namespace {

/// max x + y with x + 3y <= 7, 3x + y <= 7, x - y == 0 unless `skew`.
LinearProgram Corner(bool skew) {
  LinearProgram program;
  program.objective = {1, 1};
  program.rows.push_back({{{0, 1}, {1, 3}}, 7, false});
  program.rows.push_back({{{0, 3}, {1, 1}}, skew ? 6 : 7, false});
  return program;
}

TEST(PrimeField, MultipliesAndInverts) {
  const uint64_t seed = 11;
  Rng rng(seed);
  for (const uint64_t complement : {1U, 31U}) {
    const PrimeField field(complement);
    for (int i = 0; i < 1000; ++i) {
      const uint64_t a = 1 + rng.Below(field.prime() - 1);
      const uint64_t b = rng.Below(field.prime());
      EXPECT_EQ(field.Multiply(a, b), static_cast<uint64_t>(uint128{a} * b % field.prime())) << "seed " << seed;
      EXPECT_EQ(field.Multiply(a, field.Inverse(a)), 1U) << "seed " << seed;
    }
    EXPECT_EQ(field.FromInt(-1), field.prime() - 1);
  }
}

TEST(PrimeField, SaysWhenASystemIsSingular) {
  SparseSystem system;
  system.rows = {{{0, 1}, {1, 2}}, {{0, 2}, {1, 4}}};
  system.right = {1, 2};
  EXPECT_FALSE(SolveModulo(system, PrimeField(1)).has_value());
}

TEST(ExactVertex, TakesTheTightRowsAsEquations) {
  const StatusOr<ExactSolution> solution = ExactVertex(Corner(true), {{true, true}, {false, false}});
  ASSERT_TRUE(solution.ok()) << solution.status();
  EXPECT_EQ(Rational(solution->values[0], solution->denominator), Rational(11, 8));
  EXPECT_EQ(Rational(solution->values[1], solution->denominator), Rational(15, 8));
  EXPECT_EQ(Rational(solution->prices[0], solution->price_denominator), Rational(1, 4));
  EXPECT_EQ(Rational(solution->prices[1], solution->price_denominator), Rational(1, 4));
}

TEST(ExactVertex, RefusesACornerThatIsNotTheBest) {
  // x = 7/3, y = 0 satisfies the rows; y still gains.
  const StatusOr<ExactSolution> worse = ExactVertex(Corner(false), {{true, false}, {true, false}});
  ASSERT_FALSE(worse.ok());
  EXPECT_NE(StatusMessage(worse.status()).find("gains more"), std::string::npos);
  // x = 7, y = 0 breaks the second row.
  const StatusOr<ExactSolution> broken = ExactVertex(Corner(false), {{true, false}, {false, true}});
  ASSERT_FALSE(broken.ok());
  EXPECT_NE(StatusMessage(broken.status()).find("row 1 is broken"), std::string::npos);
  EXPECT_EQ(ExactVertex(Corner(false), {{true, true}, {true, false}}).status().code(), StatusCode::kInternal);
}

TEST(ExactVertex, KeepsLargeNumbersExact) {
  LinearProgram program;
  program.objective = {1, 1};
  program.rows.push_back({{{0, 30'000'001}, {1, 1}}, 1'000'000'007, false});
  program.rows.push_back({{{0, 1}, {1, 1'000'003}}, 998'244'353, false});
  const StatusOr<ExactSolution> solution = ExactVertex(program, {{true, true}, {false, false}});
  ASSERT_TRUE(solution.ok()) << solution.status();
  for (const LinearProgram::Row& row : program.rows) {
    int128 sum = 0;
    for (const auto& [variable, coefficient] : row.terms) {
      sum += int128{coefficient} * solution->values[static_cast<size_t>(variable)];
    }
    EXPECT_TRUE(sum == int128{row.limit} * solution->denominator);
  }
}

}  // namespace
}  // namespace mycel
