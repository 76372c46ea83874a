#include "scheduler/graph/stage_decomposition.h"

#include <algorithm>
#include <numeric>

#include "core/base/check.h"
#include "core/base/int128.h"
#include "scheduler/graph/bitset_matching.h"

namespace mycel {
namespace {

/// Row and column sums.
struct Sums {
  std::vector<int64_t> row;
  std::vector<int64_t> column;
};

Sums SumsOf(const StageMatrix& matrix) {
  const auto n = static_cast<size_t>(matrix.size);
  Sums sums{std::vector<int64_t>(n), std::vector<int64_t>(n)};
  for (size_t a = 0; a < n; ++a) {
    for (size_t b = 0; b < n; ++b) {
      const int64_t entry = matrix.entries[a * n + b];
      MYCEL_DCHECK(entry >= 0);
      sums.row[a] += entry;
      sums.column[b] += entry;
    }
  }
  return sums;
}

int64_t LongestOf(const Sums& sums) {
  int64_t longest = 0;
  for (const int64_t sum : sums.row) longest = std::max(longest, sum);
  for (const int64_t sum : sums.column) longest = std::max(longest, sum);
  return longest;
}

/// Fills rows and columns up to `longest`: first cells that have something, so that fewer permutations are needed.
StageMatrix FilledUp(const StageMatrix& matrix, int64_t longest) {
  StageMatrix filled = matrix;
  Sums sums = SumsOf(matrix);
  for (const bool anywhere : {false, true}) {
    for (int32_t a = 0; a < matrix.size; ++a) {
      for (int32_t b = 0; b < matrix.size; ++b) {
        if (!anywhere && filled.At(a, b) == 0) continue;
        int64_t& row = sums.row[static_cast<size_t>(a)];
        int64_t& column = sums.column[static_cast<size_t>(b)];
        const int64_t more = longest - std::max(row, column);
        filled.At(a, b) += more;
        row += more;
        column += more;
      }
    }
  }
  return filled;
}

/// The cells off the diagonal, largest first.
std::vector<int32_t> CellsBySize(const StageMatrix& matrix) {
  std::vector<int32_t> cells;
  for (int32_t a = 0; a < matrix.size; ++a) {
    for (int32_t b = 0; b < matrix.size; ++b) {
      if (a != b) cells.push_back(static_cast<int32_t>(matrix.Index(a, b)));
    }
  }
  std::stable_sort(cells.begin(), cells.end(), [&](int32_t x, int32_t y) {
    return matrix.entries[static_cast<size_t>(x)] > matrix.entries[static_cast<size_t>(y)];
  });
  return cells;
}

/// Matches all rows with the largest of `cells` (sorted); returns how many of them were needed. There is a perfect
/// matching among all of them.
size_t MatchHeaviest(const std::vector<int32_t>& cells, size_t at_least, BitsetMatching* matching) {
  const int32_t n = matching->size();
  std::vector<int32_t> open(static_cast<size_t>(n));
  std::iota(open.begin(), open.end(), 0);
  size_t used = 0;
  while (!open.empty()) {
    // So many as were needed last time at once; then one by one, since each may close the last gap.
    const size_t until = used < at_least ? at_least : used + 1;
    for (; used < until && used < cells.size(); ++used) matching->AddEdge(cells[used] / n, cells[used] % n);
    std::erase_if(open, [&](int32_t row) { return matching->Augment(row); });
    MYCEL_CHECK(open.empty() || used < cells.size());
  }
  return used;
}

}  // namespace

int64_t StageList::TotalLength() const { return std::accumulate(length.begin(), length.end(), int64_t{0}); }

int64_t LongestLine(const StageMatrix& matrix) { return LongestOf(SumsOf(matrix)); }

StageList DecomposeExactly(const StageMatrix& matrix) {
  const int32_t n = matrix.size;
  StageList stages;
  stages.size = n;
  int64_t left = LongestLine(matrix);
  StageMatrix filled = FilledUp(matrix, left);
  StageMatrix real = matrix;
  BitsetMatching matching(n);
  for (int32_t a = 0; a < n; ++a) {
    for (int32_t b = 0; b < n; ++b) {
      if (filled.At(a, b) > 0) matching.AddEdge(a, b);
    }
  }
  while (left > 0) {
    MYCEL_CHECK(matching.MatchAllRows());  // Birkhoff: equal sums have a perfect matching
    int64_t length = left;
    for (int32_t a = 0; a < n; ++a) length = std::min(length, filled.At(a, matching.ColumnOf(a)));
    stages.length.push_back(length);
    for (int32_t a = 0; a < n; ++a) {
      const int32_t b = matching.ColumnOf(a);
      const int64_t sent = std::min(length, real.At(a, b));
      stages.target.push_back(sent > 0 ? b : -1);
      stages.sent.push_back(sent);
      real.At(a, b) -= sent;
      filled.At(a, b) -= length;
      if (filled.At(a, b) == 0) matching.RemoveEdge(a, b);
    }
    left -= length;
  }
  return stages;
}

StageList DecomposeQuantised(const StageMatrix& matrix, int32_t loss_per_mille) {
  MYCEL_CHECK_GE(loss_per_mille, 0);
  const int64_t longest = LongestLine(matrix);
  const auto loss = static_cast<int64_t>(static_cast<int128>(longest) * loss_per_mille / 1000);
  const int64_t quantum = matrix.size < 2 ? 1 : std::max<int64_t>(1, loss / (matrix.size - 1));
  if (quantum == 1) return DecomposeLazily(matrix);
  StageMatrix rounded(matrix.size);
  for (size_t i = 0; i < matrix.entries.size(); ++i) {
    rounded.entries[i] = matrix.entries[i] / quantum + (matrix.entries[i] % quantum != 0 ? 1 : 0);
  }
  StageList stages = DecomposeLazily(rounded);
  StageMatrix left = matrix;
  for (int32_t k = 0; k < stages.count(); ++k) {
    stages.length[static_cast<size_t>(k)] *= quantum;
    for (int32_t a = 0; a < matrix.size; ++a) {
      const size_t at = stages.Begin(k) + static_cast<size_t>(a);
      const int32_t b = stages.target[at];
      if (b < 0) continue;
      stages.sent[at] = std::min(stages.sent[at] * quantum, left.At(a, b));
      left.At(a, b) -= stages.sent[at];
    }
  }
  return stages;
}

StageList DecomposeGrouped(const StageMatrix& matrix) {
  const int32_t n = matrix.size;
  StageList stages;
  stages.size = n;
  std::vector<int32_t> cells = CellsBySize(matrix);
  size_t needed = 0;
  for (int32_t round = 1; round < n; ++round) {
    BitsetMatching matching(n);
    needed = MatchHeaviest(cells, needed, &matching);
    int64_t length = 0;
    for (int32_t a = 0; a < n; ++a) length = std::max(length, matrix.At(a, matching.ColumnOf(a)));
    if (length > 0) stages.length.push_back(length);
    for (int32_t a = 0; length > 0 && a < n; ++a) {
      const int64_t sent = matrix.At(a, matching.ColumnOf(a));
      stages.target.push_back(sent > 0 ? matching.ColumnOf(a) : -1);
      stages.sent.push_back(sent);
    }
    const auto is_used = [&](int32_t cell) { return matching.ColumnOf(cell / n) == cell % n; };
    needed -= static_cast<size_t>(std::count_if(cells.begin(), cells.begin() + static_cast<int64_t>(needed), is_used));
    std::erase_if(cells, is_used);
  }
  return stages;
}

int64_t SpreadOutLength(const StageMatrix& matrix) {
  int64_t length = 0;
  for (int32_t shift = 1; shift < matrix.size; ++shift) {
    int64_t largest = 0;
    for (int32_t a = 0; a < matrix.size; ++a) largest = std::max(largest, matrix.At(a, (a + shift) % matrix.size));
    length += largest;
  }
  return length;
}

StageList Reordered(const StageList& stages, const std::vector<int32_t>& order) {
  StageList sorted;
  sorted.size = stages.size;
  sorted.length.reserve(stages.length.size());
  sorted.target.reserve(stages.target.size());
  sorted.sent.reserve(stages.sent.size());
  for (const int32_t k : order) {
    sorted.length.push_back(stages.length[static_cast<size_t>(k)]);
    sorted.target.insert(sorted.target.end(), stages.TargetsOf(k), stages.TargetsOf(k) + stages.size);
    sorted.sent.insert(sorted.sent.end(), stages.SentIn(k), stages.SentIn(k) + stages.size);
  }
  return sorted;
}

}  // namespace mycel
