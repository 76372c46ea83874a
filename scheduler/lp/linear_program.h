// A linear program with integer coefficients: maximise objective . y over y >= 0 with rows that are at most, or equal
// to, a limit. Integers keep the question exact: a floating-point solver only proposes which rows are tight
// (lp_solver.h), and exact_vertex.h then computes and proves the answer.
#pragma once

#include <cstdint>
#include <vector>

namespace mycel {

struct LinearProgram {
  struct Term {
    int32_t variable;
    int64_t coefficient;
  };
  struct Row {
    std::vector<Term> terms;  // each variable at most once
    int64_t limit = 0;
    bool equal = false;  // sum == limit instead of sum <= limit
  };
  std::vector<int64_t> objective;  // one for each variable
  std::vector<Row> rows;

  int32_t variable_count() const { return static_cast<int32_t>(objective.size()); }
};

/// The corner of the feasible region that a simplex method stops at: as many things are basic as there are rows.
struct LpBasis {
  std::vector<bool> variable_basic;  // false: the variable is 0
  std::vector<bool> row_basic;       // false: the row holds with equality
};

}  // namespace mycel
