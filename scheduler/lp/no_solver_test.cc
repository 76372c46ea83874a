// A build without CLP says so, and what to install.
#include <gtest/gtest.h>

#include <string>

#include "scheduler/lp/lp_solver.h"

namespace mycel {
namespace {

TEST(LpSolver, SaysThatItIsNotBuiltIn) {
  EXPECT_FALSE(LpSolver::Available());
  LinearProgram program;
  program.objective = {1};
  program.rows.push_back({{{0, 1}}, 1, false});
  const Status status = LpSolver(program).Solve(1000).status();
  EXPECT_EQ(status.code(), StatusCode::kUnimplemented);
  EXPECT_NE(StatusMessage(status).find("coinor-libclp-dev"), std::string::npos);
}

}  // namespace
}  // namespace mycel
