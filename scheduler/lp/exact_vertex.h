// The exact corner that a basis describes, with its proof of optimality: the simplex method in doubles says which rows
// are tight; solving those as equations in fractions gives the very values, and the same matrix turned gives the prices
// that prove that nothing better exists (linear-program duality). Everything is checked with integers before it is
// returned, so that no tolerance enters.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/status.h"
#include "scheduler/lp/linear_program.h"

namespace mycel {

/// values[i] / denominator solves the program, prices[i] / price_denominator proves it: prices are not negative on rows
/// that are "at most", no variable gains more than the prices of its rows cost, and prices . limits == the objective.
struct ExactSolution {
  std::vector<int64_t> values;
  int64_t denominator = 1;
  std::vector<int64_t> prices;
  int64_t price_denominator = 1;
};

/// InternalError: the basis is singular, or its corner breaks a row or is not optimal (a basis that doubles got wrong).
/// InvalidArgument: the fractions have no common denominator in 62 bits.
StatusOr<ExactSolution> ExactVertex(const LinearProgram& program, const LpBasis& basis);

}  // namespace mycel
