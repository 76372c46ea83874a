// Stages: a matrix of what servers have for each other, cut into one-to-one stages (a preemptive open shop).
//
// Model. Entry (a, b) is what server a has for server b, in units of time. In a stage every server sends to at most one
// server and receives from at most one. A stage has a length; a pair may send less than that, and then idles. The sum
// of the lengths is at least R, the largest sum of a row or column, and R can be had: with all rows and columns filled
// up to R the matrix is R times a doubly stochastic one, i.e. a sum of permutations (Birkhoff 1946, von Neumann 1953;
// Gonzalez and Sahni 1976 for the open shop).
//
// Four ways, which differ in what they pay for how many stages; all are integers only with fixed ties, the same on
// every rank:
//   exact      length R, about N^2 stages: fill up, then match; what hits zero is matched anew, the rest stays
//   lazy       length R, about 5 N stages at N = 40: no filling; a row or column may idle while it has slack. A stage
//              is as long as a falling threshold w allows: a matching of pairs that last w and of all rows and columns
//              that cannot idle for w
//   quantised  length at most (1 + eps) R, about 2.5 N stages: lazy on entries rounded up to a quantum
//   grouped    N - 1 stages of whole entries, heavy ones together; longer, for when each stage costs much
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace mycel {

/// Square; entries >= 0, row = sender. Row and column sums stay below 2^61.
struct StageMatrix {
  explicit StageMatrix(int32_t n = 0) : size(n), entries(static_cast<size_t>(n) * static_cast<size_t>(n)) {}
  int32_t size;
  std::vector<int64_t> entries;
  int64_t& At(int32_t row, int32_t column) { return entries[Index(row, column)]; }
  int64_t At(int32_t row, int32_t column) const { return entries[Index(row, column)]; }
  size_t Index(int32_t row, int32_t column) const {
    return static_cast<size_t>(row) * static_cast<size_t>(size) + static_cast<size_t>(column);
  }
};

struct StageList {
  int32_t size = 0;             // servers
  std::vector<int64_t> length;  // by stage, > 0
  std::vector<int32_t> target;  // by stage, sender: to whom, or -1
  std::vector<int64_t> sent;    // by stage, sender: how much, <= length; 0 where the target is -1

  int32_t count() const { return static_cast<int32_t>(length.size()); }
  int64_t TotalLength() const;
  const int32_t* TargetsOf(int32_t stage) const { return target.data() + Begin(stage); }
  const int64_t* SentIn(int32_t stage) const { return sent.data() + Begin(stage); }
  size_t Begin(int32_t stage) const { return static_cast<size_t>(stage) * static_cast<size_t>(size); }
};

/// R: the largest row or column sum.
int64_t LongestLine(const StageMatrix& matrix);

StageList DecomposeExactly(const StageMatrix& matrix);
StageList DecomposeLazily(const StageMatrix& matrix);
/// `loss_per_mille` >= 0: at most so many thousandths longer than R.
StageList DecomposeQuantised(const StageMatrix& matrix, int32_t loss_per_mille);
/// The diagonal must be zero.
StageList DecomposeGrouped(const StageMatrix& matrix);

/// What the usual all-to-all takes, in which stage s sends from a to a + s: the sum over s of the largest entry. The
/// diagonal must be zero.
int64_t SpreadOutLength(const StageMatrix& matrix);

/// Stages in the order of `order`.
StageList Reordered(const StageList& stages, const std::vector<int32_t>& order);

}  // namespace mycel
