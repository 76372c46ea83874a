#include "scheduler/fast/tile.h"

#include <algorithm>

#include "core/base/check.h"

namespace mycel::fast {

void TileBalancer::Balance(const Pair& pair, int64_t unit, int32_t rotation, const int64_t* cells, int32_t rows,
                           int32_t columns, int32_t stride) {
  rows_ = rows;
  columns_ = columns;
  total_ = moved_ = 0;
  moves_.clear();
  kept_.resize(static_cast<size_t>(rows) * static_cast<size_t>(columns));
  surplus_.assign(static_cast<size_t>(rows), 0);
  for (int32_t i = 0; i < rows; ++i) {
    for (int32_t d = 0; d < columns; ++d) {
      const int64_t bytes = cells[static_cast<int64_t>(i) * stride + d];
      Kept(i, d) = bytes;
      surplus_[static_cast<size_t>(i)] += bytes;
    }
    total_ += surplus_[static_cast<size_t>(i)];
  }
  SetQuotas(pair, unit, rotation);
  MoveSurplus();
  FillQueues();
}

void TileBalancer::SetQuotas(const Pair& pair, int64_t unit, int32_t rotation) {
  const auto legs = pair.legs.size();
  quotas_.assign(legs, 0);
  home_.assign(static_cast<size_t>(rows_), -1);
  int64_t each = (total_ + pair.shares - 1) / pair.shares;
  each = (each + unit - 1) / unit * unit;
  int64_t left = total_;
  for (size_t k = 0; k < legs; ++k) {
    const size_t l = (k + static_cast<size_t>(rotation)) % legs;
    // The product of what nobody needs may leave 64 bits.
    const int64_t share = pair.legs[l].share;
    quotas_[l] = left / share < each ? left : share * each;
    left -= quotas_[l];
  }
  MYCEL_DCHECK(left == 0);
  for (size_t l = 0; l < legs; ++l) {
    const auto row = static_cast<size_t>(pair.legs[l].sender);
    surplus_[row] -= quotas_[l];
    if (home_[row] < 0) home_[row] = pair.legs[l].receiver;
  }
}

void TileBalancer::Move(int32_t row, int32_t column, int32_t to, int64_t most) {
  int64_t& kept = Kept(row, column);
  const int64_t bytes = std::min(kept, most);
  if (bytes == 0) return;
  kept -= bytes;
  surplus_[static_cast<size_t>(row)] -= bytes;
  surplus_[static_cast<size_t>(to)] += bytes;
  moved_ += bytes;
  moves_.push_back({to, {row, column, kept, bytes}});
}

void TileBalancer::MoveSurplus() {
  const auto over = [this](int32_t row) { return surplus_[static_cast<size_t>(row)]; };
  for (int32_t p = 0; p < rows_; ++p) {
    const int32_t home = home_[static_cast<size_t>(p)];
    if (over(p) >= 0 || home < 0) continue;
    for (int32_t i = 0; i < rows_ && over(p) < 0; ++i) {
      if (over(i) > 0) Move(i, home, p, std::min(over(i), -over(p)));
    }
  }
  for (int32_t i = 0; i < rows_; ++i) {
    for (int32_t p = 0; p < rows_ && over(i) > 0; ++p) {
      if (over(p) >= 0) continue;
      for (int32_t k = 1; k <= columns_ && over(i) > 0 && over(p) < 0; ++k) {
        Move(i, (i + k) % columns_, p, std::min(over(i), -over(p)));
      }
    }
  }
}

void TileBalancer::FillQueues() {
  queue_.clear();
  begin_.assign(1, 0);
  // Moved pieces by (to, distance from home, row); the sort keeps the order in which they were cut.
  const auto distance = [this](int32_t row, int32_t column) {
    const int32_t home = std::max(0, home_[static_cast<size_t>(row)]);
    return (column - home + columns_ - 1) % columns_;  // home itself comes last
  };
  std::stable_sort(moves_.begin(), moves_.end(), [&](const Moved& a, const Moved& b) {
    if (a.to != b.to) return a.to < b.to;
    return distance(a.to, a.piece.column) < distance(b.to, b.piece.column);
  });
  size_t next = 0;
  for (int32_t p = 0; p < rows_; ++p) {
    const int32_t home = std::max(0, home_[static_cast<size_t>(p)]);
    for (int32_t k = 1; k < columns_; ++k) {
      const int32_t d = (home + k) % columns_;
      if (Kept(p, d) > 0) queue_.push_back({p, d, 0, Kept(p, d)});
    }
    for (; next < moves_.size() && moves_[next].to == p; ++next) queue_.push_back(moves_[next].piece);
    if (columns_ > 0 && Kept(p, home) > 0) queue_.push_back({p, home, 0, Kept(p, home)});
    begin_.push_back(queue_.size());
  }
}

}  // namespace mycel::fast
