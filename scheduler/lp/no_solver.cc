// LpSolver of a build without CLP: refuses, and says what to install.
#include "scheduler/lp/lp_solver.h"

namespace mycel {

struct LpSolver::Impl {};

bool LpSolver::Available() { return false; }

LpSolver::LpSolver(const LinearProgram& program) { (void)program; }
LpSolver::LpSolver(LpSolver&&) noexcept = default;
LpSolver& LpSolver::operator=(LpSolver&&) noexcept = default;
LpSolver::~LpSolver() = default;

void LpSolver::AddRow(const LinearProgram::Row& row) { (void)row; }

StatusOr<LpSolution> LpSolver::Solve(int64_t iterations_max) {
  (void)iterations_max;
  return Impossible("this build has no linear-program solver; install coinor-libclp-dev and configure again");
}

}  // namespace mycel
