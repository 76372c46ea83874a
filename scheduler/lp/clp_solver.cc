// LpSolver by COIN-OR CLP: the only file that includes CLP.
#include <ClpSimplex.hpp>
#include <algorithm>
#include <cstdlib>
#include <limits>
#include <string>

#include "scheduler/lp/lp_solver.h"

namespace mycel {

struct LpSolver::Impl {
  ClpSimplex clp;
  double scale = 1;  // CLP sees limits divided by this, so that its absolute tolerances mean something
  int64_t rows = 0;
};

bool LpSolver::Available() { return true; }

LpSolver::LpSolver(const LinearProgram& program) : impl_(std::make_unique<Impl>()) {
  ClpSimplex& clp = impl_->clp;
  clp.setLogLevel(0);
  clp.setOptimizationDirection(-1);
  clp.resize(0, program.variable_count());
  for (int32_t i = 0; i < program.variable_count(); ++i) {
    clp.setColumnBounds(i, 0, COIN_DBL_MAX);
    clp.setObjectiveCoefficient(i, static_cast<double>(program.objective[static_cast<size_t>(i)]));
  }
  int64_t largest = 1;
  for (const LinearProgram::Row& row : program.rows) largest = std::max(largest, std::abs(row.limit));
  impl_->scale = static_cast<double>(largest);
  for (const LinearProgram::Row& row : program.rows) AddRow(row);
}

LpSolver::LpSolver(LpSolver&&) noexcept = default;
LpSolver& LpSolver::operator=(LpSolver&&) noexcept = default;
LpSolver::~LpSolver() = default;

void LpSolver::AddRow(const LinearProgram::Row& row) {
  std::vector<int> columns;
  std::vector<double> elements;
  for (const LinearProgram::Term& term : row.terms) {
    columns.push_back(term.variable);
    elements.push_back(static_cast<double>(term.coefficient));
  }
  const double limit = static_cast<double>(row.limit) / impl_->scale;
  impl_->clp.addRow(static_cast<int>(columns.size()), columns.data(), elements.data(),
                    row.equal ? limit : -COIN_DBL_MAX, limit);
  ++impl_->rows;
}

StatusOr<LpSolution> LpSolver::Solve(int64_t iterations_max) {
  ClpSimplex& clp = impl_->clp;
  clp.setMaximumIterations(static_cast<int>(std::min<int64_t>(iterations_max, std::numeric_limits<int>::max())));
  clp.dual();
  const std::string size = "the linear program of " + std::to_string(clp.numberColumns()) + " variables and " +
                           std::to_string(impl_->rows) + " rows ";
  switch (clp.status()) {
    case 0:
      break;
    case 1:
      return Impossible(size + "has no solution");
    case 2:
      return InvalidArgument(size + "is unbounded: a row is missing");
    case 3:
      return TimeoutError(size + "took more than " + std::to_string(iterations_max) + " iterations");
    default:
      return InternalError(size + "defeated CLP (status " + std::to_string(clp.status()) + ")");
  }
  LpSolution solution;
  solution.objective = clp.objectiveValue() * impl_->scale;
  solution.iterations = clp.numberIterations();
  for (int i = 0; i < clp.numberColumns(); ++i) {
    solution.values.push_back(clp.primalColumnSolution()[i] * impl_->scale);
    solution.basis.variable_basic.push_back(clp.getColumnStatus(i) == ClpSimplex::basic);
  }
  for (int i = 0; i < clp.numberRows(); ++i) {
    solution.basis.row_basic.push_back(clp.getRowStatus(i) == ClpSimplex::basic);
  }
  return solution;
}

}  // namespace mycel
