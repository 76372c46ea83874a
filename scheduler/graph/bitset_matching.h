// Bipartite matching on bitsets, kept from one question to the next.
//
// Model. n rows and n columns; each row has a bitset of the columns it may go with. A matching is kept while edges come
// and go; what a removed edge leaves open is closed again by one breadth-first search from the open row, which looks at
// 64 columns at a time and ends at the first free one (Berge 1957; the repair costs O(n * n / 64)).
//
// Cover* answers a weaker question than Augment: shall this row (column) be matched at the price of one that may be
// released? Covering first the rows and then the columns that must be matched finds a matching that covers both sets
// whenever there is one (Mendelsohn and Dulmage 1958), because covering a column never uncovers a row.
//
// Deterministic: of several ways the one with the lowest numbers is taken.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace mycel {

class BitsetMatching {
 public:
  static constexpr int32_t kNone = -1;

  /// No edges, nothing matched. `size` >= 0 rows and as many columns.
  explicit BitsetMatching(int32_t size);

  int32_t size() const { return size_; }
  int32_t words() const { return words_; }

  void AddEdge(int32_t row, int32_t column);
  /// The pair is unmatched if it was matched.
  void RemoveEdge(int32_t row, int32_t column);
  bool HasEdge(int32_t row, int32_t column) const { return TestBit(RowBits(row), column); }

  /// The row's columns, words() words, for replacing them all at once. Afterwards Settle() must be called.
  uint64_t* MutableRowBits(int32_t row) { return rows_.data() + Begin(row); }
  const uint64_t* RowBits(int32_t row) const { return rows_.data() + Begin(row); }
  /// Unmatches every pair that is no edge any more.
  void Settle();

  /// kNone when unmatched.
  int32_t ColumnOf(int32_t row) const { return column_of_[static_cast<size_t>(row)]; }
  int32_t RowOf(int32_t column) const { return row_of_[static_cast<size_t>(column)]; }
  void Match(int32_t row, int32_t column);  // both unmatched
  void Unmatch(int32_t row);                // does nothing when it is not matched

  /// Matches one more row, the unmatched `row`; false when no matching does.
  bool Augment(int32_t row) { return Search(rows_, row, nullptr, &column_of_, &row_of_, &free_columns_, &free_rows_); }
  /// Augments every unmatched row; false at the first that has no way.
  bool MatchAllRows();
  /// As Augment, or by unmatching a row whose bit is set in `releasable` (words() words).
  bool CoverRow(int32_t row, const uint64_t* releasable) {
    return Search(rows_, row, releasable, &column_of_, &row_of_, &free_columns_, &free_rows_);
  }
  bool CoverColumn(int32_t column, const uint64_t* releasable);

  static bool TestBit(const uint64_t* bits, int32_t at) {
    return (bits[static_cast<size_t>(at) / 64] >> (static_cast<size_t>(at) % 64) & 1) != 0;
  }

 private:
  size_t Begin(int32_t line) const { return static_cast<size_t>(line) * static_cast<size_t>(words_); }
  static void SetBit(uint64_t* bits, int32_t at) {
    bits[static_cast<size_t>(at) / 64] |= uint64_t{1} << (static_cast<size_t>(at) % 64);
  }
  static void ClearBit(uint64_t* bits, int32_t at) {
    bits[static_cast<size_t>(at) / 64] &= ~(uint64_t{1} << (static_cast<size_t>(at) % 64));
  }
  /// The search in words of rows; columns exchange the arguments.
  bool Search(const std::vector<uint64_t>& lines, int32_t start, const uint64_t* releasable,
              std::vector<int32_t>* partner_of_line, std::vector<int32_t>* line_of_partner,
              std::vector<uint64_t>* free_partners, std::vector<uint64_t>* free_lines);
  void Transpose();

  int32_t size_;
  int32_t words_;
  std::vector<uint64_t> rows_;
  std::vector<uint64_t> columns_;  // the same edges by column, made when a column is to be covered
  bool columns_stale_ = false;
  std::vector<int32_t> column_of_;
  std::vector<int32_t> row_of_;
  std::vector<uint64_t> free_columns_;
  std::vector<uint64_t> free_rows_;
  std::vector<uint64_t> unseen_;  // of a search
  std::vector<int32_t> queue_;
  std::vector<int32_t> reached_from_;
};

}  // namespace mycel
