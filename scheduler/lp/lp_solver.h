// Simplex method for a linear program that grows by rows: each Solve goes on where the last one stopped. Silent and
// deterministic: it looks at no clock, and its limit counts iterations. Without CLP (LpSolver::Available() false) every
// Solve says so.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/base/status.h"
#include "scheduler/lp/linear_program.h"

namespace mycel {

/// In doubles, with the solver's tolerances (about 1e-7 of the largest limit).
struct LpSolution {
  double objective = 0;
  std::vector<double> values;  // of the variables
  LpBasis basis;
  int64_t iterations = 0;
};

class LpSolver {
 public:
  /// Whether a simplex code was built in.
  static bool Available();

  explicit LpSolver(const LinearProgram& program);
  LpSolver(LpSolver&&) noexcept;
  LpSolver& operator=(LpSolver&&) noexcept;
  ~LpSolver();

  void AddRow(const LinearProgram::Row& row);

  /// Impossible: no y satisfies the rows, or CLP is not built in. InvalidArgument: the objective grows without end.
  /// DeadlineExceeded: more than `iterations_max` iterations. InternalError: the solver gave up for numerical reasons.
  StatusOr<LpSolution> Solve(int64_t iterations_max);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace mycel
