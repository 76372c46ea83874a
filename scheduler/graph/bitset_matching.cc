#include "scheduler/graph/bitset_matching.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/base/check.h"

namespace mycel {
namespace {

/// Bit j of word i becomes bit i of word j: exchanges the off-diagonal quarters of ever smaller squares.
void TransposeBlock(std::array<uint64_t, 64>* block) {
  uint64_t low = 0x00000000ffffffffU;  // the lower half of each square's columns
  for (size_t half = 32; half != 0; half /= 2, low ^= low << half) {
    for (size_t i = 0; i < 64; i = ((i | half) + 1) & ~half) {
      uint64_t& above = (*block)[i];
      uint64_t& below = (*block)[i | half];
      const uint64_t differs = (above >> half ^ below) & low;
      above ^= differs << half;
      below ^= differs;
    }
  }
}

}  // namespace

BitsetMatching::BitsetMatching(int32_t size)
    : size_(size),
      words_(std::max(1, (size + 63) / 64)),
      rows_(static_cast<size_t>(size) * static_cast<size_t>(words_)),
      columns_(rows_.size()),
      column_of_(static_cast<size_t>(size), kNone),
      row_of_(static_cast<size_t>(size), kNone),
      free_columns_(static_cast<size_t>(words_)),
      free_rows_(static_cast<size_t>(words_)),
      unseen_(static_cast<size_t>(words_)),
      reached_from_(static_cast<size_t>(size)) {
  MYCEL_CHECK_GE(size, 0);
  queue_.reserve(static_cast<size_t>(size));
  for (int32_t i = 0; i < size; ++i) SetBit(free_columns_.data(), i), SetBit(free_rows_.data(), i);
}

void BitsetMatching::AddEdge(int32_t row, int32_t column) {
  SetBit(MutableRowBits(row), column);
  SetBit(columns_.data() + Begin(column), row);
}

void BitsetMatching::RemoveEdge(int32_t row, int32_t column) {
  ClearBit(MutableRowBits(row), column);
  ClearBit(columns_.data() + Begin(column), row);
  if (ColumnOf(row) == column) Unmatch(row);
}

void BitsetMatching::Settle() {
  columns_stale_ = true;
  for (int32_t row = 0; row < size_; ++row) {
    if (ColumnOf(row) != kNone && !HasEdge(row, ColumnOf(row))) Unmatch(row);
  }
}

void BitsetMatching::Match(int32_t row, int32_t column) {
  MYCEL_DCHECK(ColumnOf(row) == kNone && RowOf(column) == kNone);
  column_of_[static_cast<size_t>(row)] = column;
  row_of_[static_cast<size_t>(column)] = row;
  ClearBit(free_rows_.data(), row);
  ClearBit(free_columns_.data(), column);
}

void BitsetMatching::Unmatch(int32_t row) {
  const int32_t column = ColumnOf(row);
  if (column == kNone) return;
  column_of_[static_cast<size_t>(row)] = row_of_[static_cast<size_t>(column)] = kNone;
  SetBit(free_rows_.data(), row);
  SetBit(free_columns_.data(), column);
}

bool BitsetMatching::MatchAllRows() {
  for (int32_t row = 0; row < size_; ++row) {
    if (ColumnOf(row) == kNone && !Augment(row)) return false;
  }
  return true;
}

bool BitsetMatching::CoverColumn(int32_t column, const uint64_t* releasable) {
  if (columns_stale_) Transpose();
  return Search(columns_, column, releasable, &row_of_, &column_of_, &free_rows_, &free_columns_);
}

void BitsetMatching::Transpose() {
  columns_stale_ = false;
  std::array<uint64_t, 64> block;
  for (int32_t down = 0; down < words_; ++down) {
    for (int32_t word = 0; word < words_; ++word) {
      for (int32_t i = 0; i < 64; ++i) {
        const int32_t row = down * 64 + i;
        block[static_cast<size_t>(i)] = row < size_ ? RowBits(row)[word] : 0;
      }
      TransposeBlock(&block);
      const int32_t last = std::min(64, size_ - word * 64);
      for (int32_t i = 0; i < last; ++i) {
        columns_[Begin(word * 64 + i) + static_cast<size_t>(down)] = block[static_cast<size_t>(i)];
      }
    }
  }
}

bool BitsetMatching::Search(const std::vector<uint64_t>& lines, int32_t start, const uint64_t* releasable,
                            std::vector<int32_t>* partner_of_line, std::vector<int32_t>* line_of_partner,
                            std::vector<uint64_t>* free_partners, std::vector<uint64_t>* free_lines) {
  MYCEL_DCHECK((*partner_of_line)[static_cast<size_t>(start)] == kNone);
  std::fill(unseen_.begin(), unseen_.end(), ~uint64_t{0});
  queue_.clear();
  queue_.push_back(start);
  int32_t end = kNone;       // the partner at which the way ends
  int32_t released = kNone;  // the line that loses it
  for (size_t at = 0; at < queue_.size() && end == kNone; ++at) {
    const int32_t line = queue_[at];
    const uint64_t* bits = lines.data() + Begin(line);
    for (int32_t word = 0; word < words_ && end == kNone; ++word) {
      const uint64_t open = bits[word] & (*free_partners)[static_cast<size_t>(word)];
      if (open == 0) continue;
      end = word * 64 + std::countr_zero(open);
      reached_from_[static_cast<size_t>(end)] = line;
    }
    for (int32_t word = 0; word < words_ && end == kNone; ++word) {
      uint64_t fresh = bits[word] & unseen_[static_cast<size_t>(word)];
      unseen_[static_cast<size_t>(word)] &= ~fresh;
      for (; fresh != 0; fresh &= fresh - 1) {
        const int32_t partner = word * 64 + std::countr_zero(fresh);
        const int32_t owner = (*line_of_partner)[static_cast<size_t>(partner)];
        reached_from_[static_cast<size_t>(partner)] = line;
        if (releasable != nullptr && TestBit(releasable, owner)) {
          end = partner;
          released = owner;
          break;
        }
        queue_.push_back(owner);
      }
    }
  }
  if (end == kNone) return false;
  if (released == kNone) {
    ClearBit(free_partners->data(), end);
  } else {
    (*partner_of_line)[static_cast<size_t>(released)] = kNone;
    SetBit(free_lines->data(), released);
  }
  ClearBit(free_lines->data(), start);
  while (true) {
    const int32_t line = reached_from_[static_cast<size_t>(end)];
    (*line_of_partner)[static_cast<size_t>(end)] = line;
    std::swap((*partner_of_line)[static_cast<size_t>(line)], end);
    if (line == start) return true;
  }
}

}  // namespace mycel
