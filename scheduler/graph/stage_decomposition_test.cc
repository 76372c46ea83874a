// The oracles O2..O9 and O11..O17 of the FAST reference, and its properties on random matrices.
#include "scheduler/graph/stage_decomposition.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <string>

#include "core/base/rng.h"

namespace mycel {
namespace {

using Method = std::function<StageList(const StageMatrix&)>;
using Rows = std::vector<std::vector<int64_t>>;

StageMatrix MatrixOf(const Rows& rows) {
  StageMatrix matrix(static_cast<int32_t>(rows.size()));
  matrix.entries.clear();
  for (const auto& row : rows) matrix.entries.insert(matrix.entries.end(), row.begin(), row.end());
  return matrix;
}

struct Lines {
  std::vector<int64_t> row, column;
};
Lines LinesOf(const StageMatrix& matrix) {
  Lines lines{std::vector<int64_t>(static_cast<size_t>(matrix.size)),
              std::vector<int64_t>(static_cast<size_t>(matrix.size))};
  for (int32_t a = 0; a < matrix.size; ++a) {
    for (int32_t b = 0; b < matrix.size; ++b) {
      lines.row[static_cast<size_t>(a)] += matrix.At(a, b);
      lines.column[static_cast<size_t>(b)] += matrix.At(a, b);
    }
  }
  return lines;
}

/// Properties 1 to 4. `tight`: the length is exactly R, and critical lines are busy throughout.
void ExpectStages(const StageMatrix& matrix, const StageList& stages, bool tight) {
  StageMatrix left = matrix;
  int64_t time_left = LongestLine(matrix);
  for (int32_t k = 0; k < stages.count(); ++k) {
    const int64_t length = stages.length[static_cast<size_t>(k)];
    ASSERT_GT(length, 0);
    const Lines before = LinesOf(left);
    std::vector<int> received(static_cast<size_t>(matrix.size));
    std::vector<int64_t> into(received.size());
    for (int32_t a = 0; a < matrix.size; ++a) {
      const int32_t b = stages.TargetsOf(k)[a];
      const int64_t sent = stages.SentIn(k)[a];
      ASSERT_LE(sent, length);
      ASSERT_GE(sent, 0);
      if (b < 0) {
        ASSERT_EQ(sent, 0);
        continue;
      }
      ASSERT_LT(b, matrix.size);
      ASSERT_EQ(++received[static_cast<size_t>(b)], 1) << "two senders to " << b;
      into[static_cast<size_t>(b)] = sent;
      left.At(a, b) -= sent;
    }
    if (!tight) continue;
    for (size_t i = 0; i < received.size(); ++i) {
      ASSERT_LE(before.row[i], time_left);
      ASSERT_LE(before.column[i], time_left);
      if (before.row[i] == time_left) {
        ASSERT_EQ(stages.SentIn(k)[i], length) << "critical row idles";
      }
      if (before.column[i] == time_left) {
        ASSERT_EQ(into[i], length) << "critical column idles";
      }
    }
    time_left -= length;
  }
  for (const int64_t entry : left.entries) ASSERT_EQ(entry, 0);
  if (tight) {
    ASSERT_EQ(stages.TotalLength(), LongestLine(matrix));
  }
}

struct Oracle {
  const char* name;
  Rows rows;
  int64_t longest;
  int64_t spread_out;
  int32_t lazy_max;  // stages of the reference
};

constexpr int64_t k40 = int64_t{1} << 40, k39 = int64_t{1} << 39, k38 = int64_t{1} << 38, k37 = int64_t{1} << 37;

std::vector<Oracle> Oracles() {
  return {
      {"O1", {{0, 5}, {6, 0}}, 6, 6, 1},
      {"O2", {{0, 0, 0}, {0, 0, 0}, {0, 0, 0}}, 0, 0, 0},
      {"O3", {{0, 7, 5, 9}, {0, 0, 0, 0}, {0, 0, 0, 0}, {0, 0, 0, 0}}, 21, 21, 3},
      {"O4", {{0, 0, 0, 0}, {7, 0, 0, 0}, {5, 0, 0, 0}, {9, 0, 0, 0}}, 21, 21, 3},
      {"O5", {{0}}, 0, 0, 0},
      {"O6", {{0, 4, 2}, {2, 0, 4}, {4, 2, 0}}, 6, 6, 2},
      {"O7", {{0, 5, 3, 1}, {3, 0, 7, 1}, {5, 1, 0, 7}, {2, 6, 4, 0}}, 14, 17, 6},
      {"O8", {{0, 10, 10, 10}, {10, 0, 10, 10}, {10, 10, 0, 10}, {10, 10, 10, 0}}, 30, 30, 3},
      {"O9", {{0, 1, 1, 1}, {1, 0, k40, 1}, {1, 1, 0, 1}, {1, 1, 1, 0}}, k40 + 2, k40 + 2, 4},
      {"O11", {{0, k40, k39}, {k38, 0, k40}, {k40, k37, 0}}, k40 + k39, k40 + k39, 2},
      {"O12", {{0, 1, 0}, {2, 0, 3}, {1, 3, 0}}, 5, 6, 3},
      {"O13", {{0, 5, 0, 0}, {3, 0, 0, 0}, {0, 0, 0, 8}, {0, 0, 2, 0}}, 8, 11, 1},
      {"O14", {{0, 1000}, {1, 0}}, 1000, 1000, 1},
      {"O15", {{0, 10, 0}, {0, 0, 0}, {0, 0, 0}}, 10, 10, 1},
      {"O16", {{0, 9, 1, 4, 6}, {3, 0, 8, 2, 7}, {5, 5, 0, 5, 5}, {1, 2, 3, 0, 4}, {8, 1, 1, 1, 0}}, 22, 27, 7},
      {"O17", {{0, 4, 2}, {5, 0, 5}, {3, 2, 0}}, 10, 10, 3},
  };
}

TEST(StageDecomposition, Oracles) {
  for (const Oracle& oracle : Oracles()) {
    SCOPED_TRACE(oracle.name);
    const StageMatrix matrix = MatrixOf(oracle.rows);
    EXPECT_EQ(LongestLine(matrix), oracle.longest);
    EXPECT_EQ(SpreadOutLength(matrix), oracle.spread_out);
    const StageList lazy = DecomposeLazily(matrix);
    ExpectStages(matrix, lazy, true);
    EXPECT_LE(lazy.count(), oracle.lazy_max);
    ExpectStages(matrix, DecomposeExactly(matrix), true);
    const StageList grouped = DecomposeGrouped(matrix);
    ExpectStages(matrix, grouped, false);
    EXPECT_LE(grouped.count(), std::max(0, matrix.size - 1));
    EXPECT_GE(grouped.TotalLength(), oracle.longest);
  }
}

TEST(StageDecomposition, KnownStages) {
  const auto lengths = [](const char* name) {
    for (const Oracle& oracle : Oracles()) {
      if (std::string(name) != oracle.name) continue;
      StageList lazy = DecomposeLazily(MatrixOf(oracle.rows));
      std::sort(lazy.length.rbegin(), lazy.length.rend());
      return lazy.length;
    }
    return std::vector<int64_t>();
  };
  EXPECT_THAT(lengths("O3"), testing::ElementsAre(9, 7, 5));
  EXPECT_THAT(lengths("O4"), testing::ElementsAre(9, 7, 5));
  EXPECT_THAT(lengths("O6"), testing::ElementsAre(4, 2));
  EXPECT_THAT(lengths("O8"), testing::ElementsAre(10, 10, 10));
  EXPECT_THAT(lengths("O11"), testing::ElementsAre(k40, k39));
  EXPECT_THAT(lengths("O13"), testing::ElementsAre(8));
  EXPECT_THAT(lengths("O17"), testing::ElementsAre(5, 5));
}

StageMatrix RandomMatrix(Rng* rng, int32_t n, int64_t most) {
  StageMatrix matrix(n);
  const uint64_t density = 1 + rng->Below(10);
  for (int32_t a = 0; a < n; ++a) {
    for (int32_t b = 0; b < n; ++b) {
      if (a != b && rng->Below(10) < density) matrix.At(a, b) = rng->Between(0, most);
    }
  }
  if (n > 0 && rng->OneIn(5)) {  // a hot row, a hot column
    const auto hot = static_cast<int32_t>(rng->Below(static_cast<uint64_t>(n)));
    for (int32_t i = 0; i < n; ++i) {
      if (i != hot) (rng->OneIn(2) ? matrix.At(hot, i) : matrix.At(i, hot)) += most * 3;
    }
  }
  return matrix;
}

int32_t NonZeros(const StageMatrix& matrix) {
  return static_cast<int32_t>(
      std::count_if(matrix.entries.begin(), matrix.entries.end(), [](int64_t entry) { return entry > 0; }));
}

TEST(StageDecomposition, RandomMatricesKeepEveryProperty) {
  Rng rng(4);
  for (int round = 0; round < 4000; ++round) {
    SCOPED_TRACE("seed 4, round " + std::to_string(round));
    const auto n = static_cast<int32_t>(rng.Below(9));
    const StageMatrix matrix = RandomMatrix(&rng, n, int64_t{1} << rng.Below(42));
    const StageList exact = DecomposeExactly(matrix), lazy = DecomposeLazily(matrix);
    ExpectStages(matrix, exact, true);
    ExpectStages(matrix, lazy, true);
    if (n > 0) {
      EXPECT_LE(exact.count(), n * n - 2 * n + 2);
    }
    EXPECT_LE(lazy.count(), NonZeros(matrix) + 2 * n);
    const auto permille = static_cast<int32_t>(rng.Below(200));
    const StageList quantised = DecomposeQuantised(matrix, permille);
    ExpectStages(matrix, quantised, false);
    const int64_t longest = LongestLine(matrix);
    EXPECT_LE(quantised.TotalLength(), longest + longest / 1000 * permille + permille);
    const StageList grouped = DecomposeGrouped(matrix);
    ExpectStages(matrix, grouped, false);
    EXPECT_LE(grouped.count(), std::max(0, n - 1));
  }
}

// Property 7.
TEST(StageDecomposition, PermutedAndTransposed) {
  Rng rng(5);
  for (int round = 0; round < 300; ++round) {
    const auto n = static_cast<int32_t>(2 + rng.Below(6));
    const StageMatrix matrix = RandomMatrix(&rng, n, 1000);
    std::vector<int32_t> order(static_cast<size_t>(n));
    std::iota(order.begin(), order.end(), 0);
    rng.Shuffle(order);
    StageMatrix permuted(n), transposed(n);
    for (int32_t a = 0; a < n; ++a) {
      for (int32_t b = 0; b < n; ++b) {
        permuted.At(order[static_cast<size_t>(a)], order[static_cast<size_t>(b)]) = matrix.At(a, b);
        transposed.At(b, a) = matrix.At(a, b);
      }
    }
    EXPECT_EQ(DecomposeLazily(permuted).TotalLength(), LongestLine(matrix));
    const StageList stages = DecomposeLazily(matrix);
    StageList turned = stages;
    std::fill(turned.target.begin(), turned.target.end(), -1);
    std::fill(turned.sent.begin(), turned.sent.end(), 0);
    for (int32_t k = 0; k < stages.count(); ++k) {
      const int32_t last = stages.count() - 1 - k;
      turned.length[static_cast<size_t>(last)] = stages.length[static_cast<size_t>(k)];
      for (int32_t a = 0; a < n; ++a) {
        if (stages.TargetsOf(k)[a] < 0) continue;
        const size_t at = turned.Begin(last) + static_cast<size_t>(stages.TargetsOf(k)[a]);
        turned.target[at] = a;
        turned.sent[at] = stages.SentIn(k)[a];
      }
    }
    ExpectStages(transposed, turned, true);
  }
}

/// Sums of 64 flows a tile, as servers of 8 ranks make them.
StageMatrix ServerMatrix(Rng* rng, int32_t n) {
  StageMatrix matrix(n);
  for (int32_t a = 0; a < n; ++a) {
    for (int32_t b = 0; b < n; ++b) {
      for (int k = 0; a != b && k < 64; ++k) matrix.At(a, b) += rng->Between(0, 1 << 17);
    }
  }
  return matrix;
}

// The numbers to beat: stages at most 2.5 N at half a per cent.
TEST(StageDecomposition, FewStagesAtHalfAPerCent) {
  Rng rng(6);
  for (const int32_t n : {4, 8, 16, 40, 64, 128}) {
    const StageMatrix matrix = ServerMatrix(&rng, n);
    const int64_t longest = LongestLine(matrix);
    const StageList stages = DecomposeQuantised(matrix, 5);
    ExpectStages(matrix, stages, false);
    EXPECT_LE(stages.count(), 5 * n / 2) << n;
    EXPECT_LE(stages.TotalLength(), longest + longest / 200) << n;
    const StageList lazy = DecomposeLazily(matrix);
    ExpectStages(matrix, lazy, true);
    EXPECT_LE(lazy.count(), 6 * n) << n;
    RecordProperty("stages" + std::to_string(n), stages.count());
    if (n <= 16) {
      EXPECT_EQ(DecomposeExactly(matrix).TotalLength(), longest);
    }
    EXPECT_LE(DecomposeGrouped(matrix).TotalLength(), longest + longest / 6) << n;
  }
}

}  // namespace
}  // namespace mycel
