#include "scheduler/graph/bitset_matching.h"

#include <gtest/gtest.h>

#include <functional>

#include "core/base/rng.h"

namespace mycel {
namespace {

using Edges = std::vector<std::vector<bool>>;

Edges RandomEdges(Rng* rng, int32_t n) {
  Edges edges(static_cast<size_t>(n), std::vector<bool>(static_cast<size_t>(n)));
  const auto density = 1 + rng->Below(4);
  for (auto& row : edges) {
    for (size_t c = 0; c < row.size(); ++c) row[c] = rng->Below(4) < density;
  }
  return edges;
}

BitsetMatching MatchingOf(const Edges& edges) {
  BitsetMatching matching(static_cast<int32_t>(edges.size()));
  for (int32_t r = 0; r < matching.size(); ++r) {
    for (int32_t c = 0; c < matching.size(); ++c) {
      if (edges[static_cast<size_t>(r)][static_cast<size_t>(c)]) matching.AddEdge(r, c);
    }
  }
  return matching;
}

/// Tries everything: calls `done(rows, columns)` with the covered sets of every matching until it returns true.
bool SomeMatching(const Edges& edges, const std::function<bool(uint32_t, uint32_t)>& done) {
  const size_t n = edges.size();
  const std::function<bool(size_t, uint32_t, uint32_t)> go = [&](size_t row, uint32_t rows, uint32_t columns) {
    if (row == n) return done(rows, columns);
    if (go(row + 1, rows, columns)) return true;
    for (size_t c = 0; c < n; ++c) {
      if (edges[row][c] && (columns >> c & 1) == 0 && go(row + 1, rows | 1U << row, columns | 1U << c)) return true;
    }
    return false;
  };
  return go(0, 0, 0);
}

void ExpectConsistent(const BitsetMatching& matching) {
  for (int32_t i = 0; i < matching.size(); ++i) {
    if (const int32_t c = matching.ColumnOf(i); c >= 0) {
      EXPECT_EQ(matching.RowOf(c), i);
      EXPECT_TRUE(matching.HasEdge(i, c));
    }
    if (const int32_t r = matching.RowOf(i); r >= 0) {
      EXPECT_EQ(matching.ColumnOf(r), i);
    }
  }
}

TEST(BitsetMatching, FindsAPerfectMatchingWheneverThereIsOne) {
  Rng rng(1);
  for (int round = 0; round < 3000; ++round) {
    const auto n = static_cast<int32_t>(rng.Below(6));
    const Edges edges = RandomEdges(&rng, n);
    BitsetMatching matching = MatchingOf(edges);
    const uint32_t all = (1U << n) - 1;
    EXPECT_EQ(matching.MatchAllRows(), SomeMatching(edges, [&](uint32_t rows, uint32_t) { return rows == all; }))
        << "seed 1, round " << round;
    ExpectConsistent(matching);
  }
}

// Rows first, then columns: the Mendelsohn-Dulmage order.
TEST(BitsetMatching, CoversChosenRowsAndColumnsWheneverThatCanBe) {
  Rng rng(2);
  int possible = 0;
  for (int round = 0; round < 4000; ++round) {
    const auto n = static_cast<int32_t>(1 + rng.Below(5));
    const Edges edges = RandomEdges(&rng, n);
    const auto must_rows = static_cast<uint32_t>(rng.Below(1U << n)),
               must_columns = static_cast<uint32_t>(rng.Below(1U << n));
    BitsetMatching matching = MatchingOf(edges);
    if (rng.OneIn(2)) matching.MatchAllRows();  // from any matching
    const uint64_t idle_rows = ~must_rows, idle_columns = ~must_columns;
    bool covered = true;
    for (int32_t r = 0; r < n; ++r) {
      if ((must_rows >> r & 1) != 0 && matching.ColumnOf(r) < 0) covered = covered && matching.CoverRow(r, &idle_rows);
    }
    for (int32_t c = 0; covered && c < n; ++c) {
      if ((must_columns >> c & 1) != 0 && matching.RowOf(c) < 0) covered = matching.CoverColumn(c, &idle_columns);
    }
    for (int32_t r = 0; covered && r < n; ++r) EXPECT_TRUE((must_rows >> r & 1) == 0 || matching.ColumnOf(r) >= 0);
    const bool expected = SomeMatching(edges, [&](uint32_t rows, uint32_t columns) {
      return (rows & must_rows) == must_rows && (columns & must_columns) == must_columns;
    });
    EXPECT_EQ(covered, expected) << "seed 2, round " << round;
    ExpectConsistent(matching);
    possible += expected ? 1 : 0;
  }
  EXPECT_GT(possible, 1000);
}

// Edges go and matched rows are repaired: as good as starting anew, also beyond one word.
TEST(BitsetMatching, RepairsWhatRemovedEdgesOpen) {
  Rng rng(3);
  for (const int32_t n : {5, 64, 65, 130}) {
    BitsetMatching matching(n);
    for (int32_t r = 0; r < n; ++r) {
      for (int32_t k = 0; k < 6; ++k) matching.AddEdge(r, static_cast<int32_t>(rng.Below(static_cast<uint64_t>(n))));
    }
    while (true) {
      BitsetMatching fresh(n);
      for (int32_t r = 0; r < n; ++r) {
        std::copy(matching.RowBits(r), matching.RowBits(r) + matching.words(), fresh.MutableRowBits(r));
      }
      fresh.Settle();
      const bool repaired = matching.MatchAllRows();
      EXPECT_EQ(repaired, fresh.MatchAllRows()) << n;
      ExpectConsistent(matching);
      if (!repaired) break;
      for (int32_t k = 0; k < 1 + n / 20; ++k) {
        const auto r = static_cast<int32_t>(rng.Below(static_cast<uint64_t>(n)));
        if (matching.ColumnOf(r) >= 0) matching.RemoveEdge(r, matching.ColumnOf(r));
      }
    }
  }
}

}  // namespace
}  // namespace mycel
