#include "scheduler/graph/transit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "core/base/rng.h"
#include "scheduler/graph/shallow_trees.h"

namespace mycel {
namespace {

/// Ranks 0..3 in group 0 and 4..7 in group 1 around switch 8, `capacity` each way.
CapacityGraph TwoServers(int64_t capacity) {
  CapacityGraph graph(9);
  for (int32_t rank = 0; rank < 8; ++rank) {
    graph.Set(rank, 8, capacity);
    graph.Set(8, rank, capacity);
  }
  return graph;
}

TEST(Transit, ServersMeetAlongRails) {
  const std::vector<int32_t> groups = {0, 0, 0, 0, 1, 1, 1, 1, -1};
  const std::vector<Transit> transits = FairTransit(TwoServers(15), 8, groups);
  EXPECT_EQ(transits.size(), 8U);
  for (const auto& [source, target, amount] : transits) {
    EXPECT_EQ((source + 4) % 8, target);
    EXPECT_EQ(amount, 15);
  }
}

TEST(Transit, OneServerBecomesAClique) {
  const std::vector<Transit> transits = FairTransit(TwoServers(15), 8, std::vector<int32_t>(9, 0));
  EXPECT_EQ(transits.size(), 56U);
  for (const auto& [source, target, amount] : transits) {
    EXPECT_NE(source, target);
    EXPECT_TRUE(amount == 2 || amount == 3) << amount;  // 15 units to 7 others
  }
}

TEST(Transit, WhatOneNeighbourHasInExcessStaysWithIt) {
  CapacityGraph graph(4);
  for (const auto& [rank, capacity] : {std::pair(0, 10), std::pair(1, 2), std::pair(2, 3)}) {
    graph.Set(rank, 3, capacity);
    graph.Set(3, rank, capacity);
  }
  int64_t back = 0;
  for (const auto& [source, target, amount] : FairTransit(graph, 3, {-1, -1, -1, -1})) {
    if (source == target) back += amount;
    if (source != target) {
      EXPECT_TRUE(source == 0 || target == 0);  // the small ones must take what 0 has
    }
  }
  EXPECT_EQ(back, 5);
}

TEST(Transit, SumsHoldOnRandomMatrices) {
  const uint64_t seed = 11;
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  Rng random(seed);
  for (int trial = 0; trial < 2000; ++trial) {
    const auto n = static_cast<size_t>(random.Between(1, 9));
    const int64_t most = random.OneIn(3) ? 1'000'000'000 : 12;
    std::vector<int64_t> rows(n);
    for (int64_t& row : rows) row = random.Between(0, most);
    std::vector<int64_t> columns = rows;
    std::reverse(columns.begin(), columns.end());
    const bool off_diagonal = random.OneIn(2);
    const auto matrix = SpreadEvenly(rows, columns, off_diagonal);
    const int64_t total = std::accumulate(rows.begin(), rows.end(), int64_t{0});
    for (size_t i = 0; i < n; ++i) {
      int64_t column = 0;
      for (size_t j = 0; j < n; ++j) column += matrix[j][i];
      EXPECT_EQ(std::accumulate(matrix[i].begin(), matrix[i].end(), int64_t{0}), rows[i]);
      EXPECT_EQ(column, columns[i]);
      EXPECT_GE(*std::min_element(matrix[i].begin(), matrix[i].end()), 0);
      const int64_t forced = std::max<int64_t>(0, rows[i] + columns[i] - total);
      if (off_diagonal) {
        EXPECT_EQ(matrix[i][i], forced) << "nothing but what the others cannot take";
      }
    }
    if (HasFailure()) break;
  }
}

TEST(ShallowTrees, EnterAGroupOnceWhereItHasNothingToSpare) {
  // Two servers of two ranks: a clique inside, one unit to the partner across. Each root has one tree, so one unit over
  // each crossing edge is all that the other server's roots need.
  CapacityGraph graph(4);
  for (const auto& [a, b] : {std::pair(0, 1), std::pair(2, 3)}) {
    graph.Set(a, b, 4);
    graph.Set(b, a, 4);
  }
  for (const auto& [a, b] : {std::pair(0, 2), std::pair(1, 3)}) {
    graph.Set(a, b, 1);
    graph.Set(b, a, 1);
  }
  const std::vector<int32_t> nodes = {0, 1, 2, 3};
  const std::vector<int64_t> roots = {1, 1, 1, 1};
  ShallowTrees trees(graph, nodes, roots, {0, 0, 1, 1});
  for (const int32_t root : nodes) {
    const auto batch = trees.Find(root);
    ASSERT_TRUE(batch.has_value());
    int crossings = 0;
    for (const auto& [source, target] : batch->edges) crossings += source / 2 != target / 2;
    EXPECT_EQ(crossings, 1);
    trees.Take(*batch);
    EXPECT_EQ(trees.Missing(root), 0);
  }
  EXPECT_EQ(trees.Residual(0, 2), 0);
}

TEST(ShallowTrees, SayWhenTheyAreStuckAndGiveBack) {
  CapacityGraph path(3);  // 0 -> 1 -> 2 carries one tree of 0
  path.Set(0, 1, 1);
  path.Set(1, 2, 1);
  const std::vector<int32_t> nodes = {0, 1, 2};
  const std::vector<int64_t> roots = {2, 0, 0};
  ShallowTrees trees(path, nodes, roots, {});
  const auto first = trees.Find(0);
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ(first->multiplicity, 1);
  trees.Take(*first);
  EXPECT_EQ(trees.Missing(0), 1);
  EXPECT_FALSE(trees.Find(0).has_value());
  trees.Take(*first, -1);
  EXPECT_EQ(trees.Missing(0), 2);
  EXPECT_TRUE(trees.Find(0).has_value());
}

}  // namespace
}  // namespace mycel
