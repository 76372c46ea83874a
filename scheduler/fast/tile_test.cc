// Oracles O1 and O10, and what every balanced tile promises.
#include "scheduler/fast/tile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>

#include "core/base/rng.h"

namespace mycel::fast {
namespace {

using ::testing::ElementsAre;

/// Rails of equal rates.
Pair Rails(int32_t ranks) {
  Pair pair;
  for (int32_t p = 0; p < ranks; ++p) pair.legs.push_back({p, p, 1});
  pair.shares = pair.rate = ranks;
  return pair;
}

std::vector<Piece> QueueOf(const TileBalancer& balancer, int32_t row) {
  return {balancer.QueueBegin(row), balancer.QueueEnd(row)};
}

TEST(Tile, OracleO1) {
  TileBalancer balancer;
  const int64_t b_to_a[] = {6, 2, 2, 2};
  balancer.Balance(Rails(2), 1, 0, b_to_a, 2, 2, 2);
  EXPECT_THAT(balancer.quotas(), ElementsAre(6, 6));
  EXPECT_EQ(balancer.moved(), 2);
  // Cell (0, 1) moves whole: its target sits where it then arrives.
  EXPECT_THAT(QueueOf(balancer, 0), ElementsAre(Piece{0, 0, 0, 6}));
  EXPECT_THAT(QueueOf(balancer, 1), ElementsAre(Piece{1, 0, 0, 2}, Piece{0, 1, 0, 2}, Piece{1, 1, 0, 2}));

  const int64_t a_to_b[] = {1, 3, 4, 2};
  balancer.Balance(Rails(2), 1, 0, a_to_b, 2, 2, 2);
  EXPECT_THAT(balancer.quotas(), ElementsAre(5, 5));
  EXPECT_EQ(balancer.moved(), 1);
  EXPECT_THAT(QueueOf(balancer, 0), ElementsAre(Piece{0, 1, 0, 3}, Piece{1, 0, 3, 1}, Piece{0, 0, 0, 1}));
  EXPECT_THAT(QueueOf(balancer, 1), ElementsAre(Piece{1, 0, 0, 3}, Piece{1, 1, 0, 2}));
}

TEST(Tile, OracleO10) {
  TileBalancer balancer;
  std::vector<int64_t> cells(64);
  cells[0] = 13;
  balancer.Balance(Rails(8), 1, 0, cells.data(), 8, 8, 8);
  EXPECT_THAT(balancer.quotas(), ElementsAre(2, 2, 2, 2, 2, 2, 1, 0));
  EXPECT_THAT(QueueOf(balancer, 0), ElementsAre(Piece{0, 0, 0, 2}));
  for (int32_t p = 1; p <= 5; ++p) {
    EXPECT_THAT(QueueOf(balancer, p), ElementsAre(Piece{0, 0, 13 - 2 * p, 2})) << p;
  }
  EXPECT_THAT(QueueOf(balancer, 6), ElementsAre(Piece{0, 0, 2, 1}));
  EXPECT_TRUE(QueueOf(balancer, 7).empty());
  balancer.Balance(Rails(8), 1, 3, cells.data(), 8, 8, 8);
  EXPECT_THAT(balancer.quotas(), ElementsAre(2, 1, 0, 2, 2, 2, 2, 2));
}

// Another number of ranks on either side, other rates, any unit: every byte once, quotas kept, as little moved as can
// be.
TEST(Tile, EveryByteStandsInOneQueue) {
  Rng rng(11);
  TileBalancer balancer;
  for (int round = 0; round < 3000; ++round) {
    SCOPED_TRACE("seed 11, round " + std::to_string(round));
    const auto rows = static_cast<int32_t>(1 + rng.Below(6)), columns = static_cast<int32_t>(1 + rng.Below(6));
    Pair pair;
    for (int32_t p = 0; p < rows; ++p) {
      const auto legs = static_cast<int32_t>(1 + rng.Below(2));
      for (int32_t k = 0; k < legs; ++k) {
        pair.legs.push_back({p, (p + k) % columns, rng.Between(1, 3)});
        pair.shares += pair.legs.back().share;
      }
    }
    pair.rate = pair.shares;
    const int64_t most = int64_t{1} << rng.Below(41);
    std::vector<int64_t> cells(static_cast<size_t>(rows) * static_cast<size_t>(columns));
    for (int64_t& cell : cells) cell = rng.OneIn(2) ? 0 : rng.Between(0, most);
    if (rng.OneIn(4)) cells[0] += 20 * most;
    balancer.Balance(pair, int64_t{1} << rng.Below(6), static_cast<int32_t>(rng.Below(9)), cells.data(), rows, columns,
                     columns);
    EXPECT_EQ(balancer.total(), std::accumulate(cells.begin(), cells.end(), int64_t{0}));
    std::vector<int64_t> queue(static_cast<size_t>(rows));
    for (size_t l = 0; l < pair.legs.size(); ++l) {
      queue[static_cast<size_t>(pair.legs[l].sender)] += balancer.quotas()[l];
    }
    int64_t away = 0, least = 0;
    std::vector<std::vector<std::pair<int64_t, int64_t>>> covered(cells.size());
    for (int32_t p = 0; p < rows; ++p) {
      int64_t bytes = 0, row = 0;
      for (const Piece& piece : QueueOf(balancer, p)) {
        ASSERT_GT(piece.bytes, 0);
        bytes += piece.bytes;
        away += piece.row == p ? 0 : piece.bytes;
        covered[static_cast<size_t>(piece.row * columns + piece.column)].emplace_back(piece.offset,
                                                                                      piece.offset + piece.bytes);
      }
      EXPECT_EQ(bytes, queue[static_cast<size_t>(p)]);
      for (int32_t d = 0; d < columns; ++d) row += cells[static_cast<size_t>(p * columns + d)];
      least += std::max<int64_t>(0, row - queue[static_cast<size_t>(p)]);
    }
    EXPECT_EQ(away, least);
    EXPECT_EQ(balancer.moved(), least);
    for (size_t c = 0; c < cells.size(); ++c) {
      std::sort(covered[c].begin(), covered[c].end());
      int64_t at = 0;
      for (const auto& [begin, end] : covered[c]) {
        ASSERT_EQ(begin, at);
        at = end;
      }
      ASSERT_EQ(at, cells[c]);
    }
  }
}

}  // namespace
}  // namespace mycel::fast
