// CLP behind LpSolver: answers, growing programs, errors by name, and random programs against all their corners.
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

namespace mycel {
namespace {

constexpr int64_t kIterationsMax = 10'000;

/// max x + y with x + 3y <= 7, 3x + y <= 6.
LinearProgram Corner() {
  LinearProgram program;
  program.objective = {1, 1};
  program.rows.push_back({{{0, 1}, {1, 3}}, 7, false});
  program.rows.push_back({{{0, 3}, {1, 1}}, 6, false});
  return program;
}

Rational ObjectiveOf(const LinearProgram& program, const ExactSolution& solution) {
  Rational sum;
  for (size_t i = 0; i < program.objective.size(); ++i) {
    sum += Rational(program.objective[i]) * Rational(solution.values[i], solution.denominator);
  }
  return sum;
}

TEST(LpSolver, FindsTheCornerAndGoesOnAfterNewRows) {
  LinearProgram program = Corner();
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
  LinearProgram program = Corner();
  program.rows.push_back({{{0, -1}}, -100, false});  // x >= 100
  EXPECT_EQ(LpSolver(program).Solve(kIterationsMax).status().code(), StatusCode::kUnimplemented);

  LinearProgram endless;
  endless.objective = {1, 1};
  endless.rows.push_back({{{0, 1}}, 1, false});
  EXPECT_EQ(LpSolver(endless).Solve(kIterationsMax).status().code(), StatusCode::kInvalidArgument);

  const StatusOr<LpSolution> hurried = LpSolver(Corner()).Solve(0);
  EXPECT_EQ(hurried.status().code(), StatusCode::kDeadlineExceeded);
  EXPECT_NE(StatusMessage(hurried.status()).find("0 iterations"), std::string::npos);
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
