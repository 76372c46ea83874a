#include "scheduler/lp/exact_vertex.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>

#include "core/base/check.h"
#include "core/base/int128.h"
#include "scheduler/lp/prime_field.h"

namespace mycel {
namespace {

constexpr PrimeField kFirst(1);
constexpr PrimeField kSecond(31);
/// Products of a value and a denominator, and sums of a few thousand of them, must fit 128 bits.
constexpr int128 kNumberMax = int128{1} << 56;

Status TooFine() { return InvalidArgument("the fractions of the linear program's solution do not fit 56 bits"); }

/// Residues of one number modulo both primes.
struct Residues {
  uint64_t first;
  uint64_t second;
};

/// The number modulo the product of the primes (Chinese remainders).
uint128 Joined(const Residues& residues) {
  const uint64_t inverse = kSecond.Inverse(kFirst.prime() % kSecond.prime());
  const uint64_t rest = residues.first % kSecond.prime();
  const uint64_t step = kSecond.Multiply(kSecond.Subtract(residues.second, rest), inverse);
  return uint128{kFirst.prime()} * step + residues.first;
}

/// numerator / denominator with both at most kNumberMax that has these residues, if any (Wang's rational
/// reconstruction by the extended Euclidean algorithm). It is unique because 2 * kNumberMax^2 is below the modulus.
std::optional<std::pair<int64_t, int64_t>> Fraction(const Residues& residues) {
  const uint128 modulus = uint128{kFirst.prime()} * kSecond.prime();
  auto r0 = static_cast<int128>(modulus);
  auto r1 = static_cast<int128>(Joined(residues));
  int128 t0 = 0;
  int128 t1 = 1;
  while (r1 > kNumberMax) {
    const int128 quotient = r0 / r1;
    r0 = std::exchange(r1, r0 - quotient * r1);
    t0 = std::exchange(t1, t0 - quotient * t1);
  }
  if (t1 < 0) {
    t1 = -t1;
    r1 = -r1;
  }
  if (t1 == 0 || t1 > kNumberMax) return std::nullopt;
  return std::make_pair(static_cast<int64_t>(r1), static_cast<int64_t>(t1));
}

struct Fractions {
  std::vector<int64_t> numerators;
  int64_t denominator = 1;
};

/// The unknowns of `system` over one denominator.
StatusOr<Fractions> SolveExactly(const SparseSystem& system) {
  const auto first = SolveModulo(system, kFirst);
  const auto second = SolveModulo(system, kSecond);
  if (!first || !second) return InternalError("the basis of the linear program is singular");
  Fractions all;
  for (size_t i = 0; i < first->size(); ++i) {
    // The denominators found so far are taken out first: most later numbers then are whole.
    const Residues residues{kFirst.Multiply((*first)[i], kFirst.FromInt(all.denominator)),
                            kSecond.Multiply((*second)[i], kSecond.FromInt(all.denominator))};
    const auto fraction = Fraction(residues);
    if (!fraction) return TooFine();
    const auto [numerator, denominator] = *fraction;
    if (int128{all.denominator} * denominator > kNumberMax) return TooFine();
    for (int64_t& known : all.numerators) {
      if (int128{std::abs(known)} * denominator > kNumberMax) return TooFine();
      known *= denominator;
    }
    all.denominator *= denominator;
    all.numerators.push_back(numerator);
  }
  return all;
}

Status NotOptimal(const std::string& what) {
  return InternalError("the simplex method's last basis is not exactly optimal: " + what);
}

Status CheckPrimal(const LinearProgram& program, const ExactSolution& solution) {
  for (const int64_t value : solution.values) {
    if (value < 0) return NotOptimal("a variable is negative");
  }
  for (size_t i = 0; i < program.rows.size(); ++i) {
    int128 sum = 0;
    for (const auto& [variable, coefficient] : program.rows[i].terms) {
      sum += int128{coefficient} * solution.values[static_cast<size_t>(variable)];
    }
    const int128 limit = int128{program.rows[i].limit} * solution.denominator;
    if (sum > limit || (program.rows[i].equal && sum != limit)) {
      return NotOptimal("row " + std::to_string(i) + " is broken");
    }
  }
  return OkStatus();
}

Status CheckDual(const LinearProgram& program, const ExactSolution& solution) {
  std::vector<int128> cost(program.objective.size(), 0);
  for (size_t i = 0; i < program.rows.size(); ++i) {
    if (solution.prices[i] < 0 && !program.rows[i].equal) return NotOptimal("a price is negative");
    for (const auto& [variable, coefficient] : program.rows[i].terms) {
      cost[static_cast<size_t>(variable)] += int128{coefficient} * solution.prices[i];
    }
  }
  for (size_t i = 0; i < cost.size(); ++i) {
    if (cost[i] < int128{program.objective[i]} * solution.price_denominator) {
      return NotOptimal("variable " + std::to_string(i) + " gains more than its rows cost");
    }
  }
  return OkStatus();
}

}  // namespace

StatusOr<ExactSolution> ExactVertex(const LinearProgram& program, const LpBasis& basis) {
  MYCEL_CHECK_EQ(basis.variable_basic.size(), program.objective.size());
  MYCEL_CHECK_EQ(basis.row_basic.size(), program.rows.size());
  std::vector<int32_t> place(program.objective.size(), -1);  // of basic variables
  std::vector<size_t> variables;
  std::vector<size_t> rows;
  for (size_t i = 0; i < place.size(); ++i) {
    if (!basis.variable_basic[i]) continue;
    place[i] = static_cast<int32_t>(variables.size());
    variables.push_back(i);
  }
  for (size_t i = 0; i < program.rows.size(); ++i) {
    if (!basis.row_basic[i]) rows.push_back(i);
  }
  if (rows.size() != variables.size()) return InternalError("the basis of the linear program has the wrong size");

  SparseSystem primal;
  SparseSystem dual;
  primal.rows.resize(rows.size());
  dual.rows.resize(rows.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    const LinearProgram::Row& row = program.rows[rows[i]];
    primal.right.push_back(row.limit);
    dual.right.push_back(program.objective[variables[i]]);
    for (const auto& [variable, coefficient] : row.terms) {
      const int32_t column = place[static_cast<size_t>(variable)];
      if (column < 0) continue;
      primal.rows[i].push_back({column, coefficient});
      dual.rows[static_cast<size_t>(column)].push_back({static_cast<int32_t>(i), coefficient});
    }
  }
  MYCEL_ASSIGN_OR_RETURN(const Fractions values, SolveExactly(primal));
  MYCEL_ASSIGN_OR_RETURN(const Fractions prices, SolveExactly(dual));
  ExactSolution solution;
  solution.values.assign(program.objective.size(), 0);
  solution.prices.assign(program.rows.size(), 0);
  solution.denominator = values.denominator;
  solution.price_denominator = prices.denominator;
  for (size_t i = 0; i < variables.size(); ++i) {
    solution.values[variables[i]] = values.numerators[i];
    solution.prices[rows[i]] = prices.numerators[i];
  }
  MYCEL_RETURN_IF_ERROR(CheckPrimal(program, solution));
  MYCEL_RETURN_IF_ERROR(CheckDual(program, solution));
  return solution;
}

}  // namespace mycel
