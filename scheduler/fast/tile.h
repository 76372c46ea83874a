// Tile: the bytes that the ranks of one server have for the ranks of another, made even over the legs between the two.
//
// Model. Row i of the tile is what rank i of the source server has for the ranks d of the target server. Each leg gets
// a quota in proportion to its share; what a rank has beyond its legs' quotas moves to ranks of its server that have
// less (the least that can move), and each rank then has a queue of pieces that its legs send in order.
//
// Which bytes move (clean-room, after the model in fast.md 2.3): always from the tail of a cell, so a cell is a prefix
// that stays and a few pieces that move. First bytes whose target sits at the far end of the leg that they move to, so
// that they need no hop there; then cells in the order i + 1, i + 2, ... so that a rank's own column is given away
// last.
//
// Queue order of the rank whose leg ends at q: own bytes for others, moved bytes for others (both by d = q + 1, q + 2,
// ...: no two queues forward to the same rank first), moved bytes for q, own bytes for q. So the first stage need not
// wait for what moves, and the last one has nothing to forward.
#pragma once

#include <cstdint>
#include <vector>

#include "scheduler/fast/cluster.h"

namespace mycel::fast {

/// Bytes [offset, offset + bytes) of cell (row, column).
struct Piece {
  int32_t row = 0;
  int32_t column = 0;
  int64_t offset = 0;
  int64_t bytes = 0;
  friend bool operator==(const Piece&, const Piece&) = default;
};

/// Balances one tile after another, reusing its memory.
class TileBalancer {
 public:
  /// `unit` >= 1: quotas are multiples of share * unit, but for the last ones. `rotation` says which leg gets its quota
  /// first. `cells`: rows of `columns` byte counts, `stride` apart.
  void Balance(const Pair& pair, int64_t unit, int32_t rotation, const int64_t* cells, int32_t rows, int32_t columns,
               int32_t stride);

  /// Of the whole tile.
  int64_t total() const { return total_; }
  /// Bytes that move within the source server.
  int64_t moved() const { return moved_; }
  /// In the order of Pair::legs.
  const std::vector<int64_t>& quotas() const { return quotas_; }
  /// The queue of `row`: what its legs send, the first leg's quota first.
  const Piece* QueueBegin(int32_t row) const { return queue_.data() + begin_[static_cast<size_t>(row)]; }
  const Piece* QueueEnd(int32_t row) const { return queue_.data() + begin_[static_cast<size_t>(row) + 1]; }

 private:
  void SetQuotas(const Pair& pair, int64_t unit, int32_t rotation);
  void MoveSurplus();
  void Move(int32_t row, int32_t column, int32_t to, int64_t most);
  void FillQueues();

  int64_t& Kept(int32_t row, int32_t column) {
    return kept_[static_cast<size_t>(row) * static_cast<size_t>(columns_) + static_cast<size_t>(column)];
  }

  int32_t rows_ = 0;
  int32_t columns_ = 0;
  int64_t total_ = 0;
  int64_t moved_ = 0;
  std::vector<int64_t> kept_;     // by cell: the prefix that stays
  std::vector<int64_t> quotas_;   // by leg
  std::vector<int64_t> surplus_;  // by row: what it has beyond its quota; negative: what it lacks
  std::vector<int32_t> home_;     // by row: the far end of its first leg, or -1
  struct Moved {
    int32_t to = 0;
    Piece piece;
  };
  std::vector<Moved> moves_;
  std::vector<Piece> queue_;
  std::vector<size_t> begin_;  // by row
};

}  // namespace mycel::fast
