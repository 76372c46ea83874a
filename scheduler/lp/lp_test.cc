// The solver's answers and errors, and the exact corner with its proof, against programs whose solution is known and
// against enumeration of all corners.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "core/base/rational.h"
#include "core/base/rng.h"
#include "scheduler/lp/exact_vertex.h"
#include "scheduler/lp/linear_program.h"
#include "scheduler/lp/lp_solver.h"
#include "scheduler/lp/prime_field.h"

namespace mycel {
namespace {

constexpr int64_t kIterationsMax = 10'000;

#define NEEDS_SOLVER() \
  if (!LpSolver::Available()) GTEST_SKIP() << "built without CLP"

/// max x + y with x + 3y <= 7, 3x + y <= 7, x - y == 0 unless `skew`.
LinearProgram Corner(bool skew) {
  LinearProgram program;
  program.objective = {1, 1};
  program.rows.push_back({{{0, 1}, {1, 3}}, 7, false});
  program.rows.push_back({{{0, 3}, {1, 1}}, skew ? 6 : 7, false});
  return program;
}

Rational ObjectiveOf(const LinearProgram& program, const ExactSolution& solution) {
  Rational sum;
  for (size_t i = 0; i < program.objective.size(); ++i) {
    sum += Rational(program.objective[i]) * Rational(solution.values[i], solution.denominator);
  }
  return sum;
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

TEST(LpSolver, FindsTheCornerAndGoesOnAfterNewRows) {
  NEEDS_SOLVER();
  LinearProgram program = Corner(true);
  LpSolver solver(program);
  StatusOr<LpSolution> solution = solver.Solve(kIterationsMax);
  ASSERT_TRUE(solution.ok()) << solution.status();
  EXPECT_NEAR(solution->objective, 26.0 / 8, 1e-9);
  program.rows.push_back({{{1, 1}}, 1, false});
  solver.AddRow(program.rows.back());
  solution = solver.Solve(kIterationsMax);
  ASSERT_TRUE(solution.ok()) << solution.status();
  const StatusOr<ExactSolution> exact = ExactVertex(program, solution->basis);
  ASSERT_TRUE(exact.ok()) << exact.status();
  EXPECT_EQ(ObjectiveOf(program, *exact), Rational(8, 3));
}

TEST(LpSolver, NamesWhatIsWrong) {
  NEEDS_SOLVER();
  LinearProgram program = Corner(true);
  program.rows.push_back({{{0, -1}}, -100, false});  // x >= 100
  EXPECT_EQ(LpSolver(program).Solve(kIterationsMax).status().code(), StatusCode::kUnimplemented);

  LinearProgram endless;
  endless.objective = {1, 1};
  endless.rows.push_back({{{0, 1}}, 1, false});
  EXPECT_EQ(LpSolver(endless).Solve(kIterationsMax).status().code(), StatusCode::kInvalidArgument);

  const StatusOr<LpSolution> hurried = LpSolver(Corner(true)).Solve(0);
  EXPECT_EQ(hurried.status().code(), StatusCode::kDeadlineExceeded);
  EXPECT_NE(StatusMessage(hurried.status()).find("0 iterations"), std::string::npos);
}

TEST(LpSolver, SaysWhenItIsNotBuiltIn) {
  if (LpSolver::Available()) GTEST_SKIP() << "CLP is built in";
  const Status status = LpSolver(Corner(true)).Solve(kIterationsMax).status();
  EXPECT_EQ(status.code(), StatusCode::kUnimplemented);
  EXPECT_NE(StatusMessage(status).find("coinor-libclp-dev"), std::string::npos);
}

/// The best corner over all bases, nothing when there is none.
std::optional<Rational> ByEnumeration(const LinearProgram& program) {
  const size_t variables = program.objective.size();
  const size_t rows = program.rows.size();
  std::optional<Rational> best;
  for (uint32_t mask = 0; mask < (1U << (variables + rows)); ++mask) {
    LpBasis basis;
    size_t count = 0;
    for (size_t i = 0; i < variables + rows; ++i) {
      const bool basic = ((mask >> i) & 1) != 0;
      count += basic ? 1 : 0;
      (i < variables ? basis.variable_basic : basis.row_basic).push_back(basic);
    }
    if (count != rows) continue;
    const StatusOr<ExactSolution> solution = ExactVertex(program, basis);
    if (solution.ok()) best = best ? std::max(*best, ObjectiveOf(program, *solution)) : ObjectiveOf(program, *solution);
  }
  return best;
}

TEST(LpSolver, AgreesWithEveryCornerOfRandomPrograms) {
  NEEDS_SOLVER();
  const uint64_t seed = 20250301;
  SCOPED_TRACE("seed " + std::to_string(seed));
  Rng rng(seed);
  int bounded = 0;
  for (int round = 0; round < 200; ++round) {
    LinearProgram program;
    const auto variables = static_cast<int32_t>(rng.Between(1, 4));
    for (int32_t i = 0; i < variables; ++i) program.objective.push_back(rng.Between(-3, 5));
    for (int64_t rows = rng.Between(1, 5); rows > 0; --rows) {
      LinearProgram::Row row{{}, rng.Between(0, 9), rng.OneIn(6)};
      for (int32_t i = 0; i < variables; ++i) {
        if (const int64_t coefficient = rng.Between(-2, 4); coefficient != 0) row.terms.push_back({i, coefficient});
      }
      program.rows.push_back(row);
    }
    const StatusOr<LpSolution> solution = LpSolver(program).Solve(kIterationsMax);
    const std::optional<Rational> best = ByEnumeration(program);
    // A best corner exists exactly when the program has a solution and is bounded.
    ASSERT_EQ(solution.ok(), best.has_value()) << "round " << round << ": " << solution.status();
    if (!best) continue;
    ++bounded;
    const StatusOr<ExactSolution> exact = ExactVertex(program, solution->basis);
    ASSERT_TRUE(exact.ok()) << "round " << round << ": " << exact.status();
    EXPECT_EQ(ObjectiveOf(program, *exact), *best) << "round " << round;
  }
  EXPECT_GT(bounded, 50);
}

}  // namespace
}  // namespace mycel
