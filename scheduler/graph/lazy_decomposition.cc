// The lazy decomposition: few stages of total length R.
//
// State: what is left of R, of each entry E(a, b), and the slack of each row and column: how long it may still idle.
// A pair that is matched for w sends min(w, E) and idles for the rest, so it lasts v(a, b) = E + min(slack of a, slack
// of b). For a threshold w a stage of at least w exists if and only if some matching uses only pairs with E > 0 and
// v >= w and covers all rows and columns whose slack is below w. Entries and slacks only fall, so w never has to rise
// again, and one matching is kept through all stages. Every stage uses up an entry or a slack, and a line without slack
// keeps none: at most (entries > 0) + 2 N stages.
#include <algorithm>
#include <type_traits>
#include <vector>

#include "core/base/check.h"
#include "scheduler/graph/bitset_matching.h"
#include "scheduler/graph/stage_decomposition.h"

namespace mycel {
namespace {

// The two loops that take the time, on their own so that the compiler sees that nothing overlaps.

/// flags[b] = 1 where a pair of this row lasts `w`.
template <typename Word>
void MarkLasting(const Word* __restrict row, const Word* __restrict column_slack, Word row_slack, Word w, int32_t count,
                 uint8_t* __restrict flags) {
  const Word least = w - row_slack;
  for (int32_t b = 0; b < count; ++b) {
    flags[b] = static_cast<uint8_t>((row[b] >= least) & (row[b] + column_slack[b] >= w));
  }
}

/// How long the row's best pair lasts; `best_in_column` rises to this row's pairs.
template <typename Word>
Word BestPair(const Word* __restrict row, const Word* __restrict column_slack, Word row_slack, int32_t count,
              Word* __restrict best_in_column) {
  Word best = 0;
  for (int32_t b = 0; b < count; ++b) {
    const Word lasts = row[b] + std::min(row_slack, column_slack[b]);
    best = std::max(best, lasts);
    best_in_column[b] = std::max(best_in_column[b], lasts);
  }
  return best;
}

/// `Word` holds twice R.
template <typename Word>
class LazyDecomposition {
 public:
  LazyDecomposition(const StageMatrix& matrix, int64_t longest)
      : n_(matrix.size),
        stride_((n_ + kLanes - 1) / kLanes * kLanes),
        left_(static_cast<Word>(longest)),
        entries_(static_cast<size_t>(n_) * static_cast<size_t>(stride_), kNothing),
        row_slack_(static_cast<size_t>(n_), left_),
        column_slack_(static_cast<size_t>(stride_), left_),
        flags_(static_cast<size_t>(stride_)),
        idle_rows_(static_cast<size_t>((n_ + 63) / 64)),
        idle_columns_(idle_rows_.size()),
        matching_(n_) {
    for (int32_t a = 0; a < n_; ++a) {
      for (int32_t b = 0; b < n_; ++b) {
        const auto entry = static_cast<Word>(matrix.At(a, b));
        if (entry == 0) continue;
        Row(a)[b] = entry;
        row_slack_[static_cast<size_t>(a)] -= entry;
        column_slack_[static_cast<size_t>(b)] -= entry;
        threshold_ = std::max(threshold_, entry);
      }
    }
  }

  StageList Run() {
    stages_.size = n_;
    while (left_ > 0) {
      LowerThreshold(Bound());
      while (!CoverAt(threshold_)) {
        MYCEL_CHECK_GT(threshold_, 1);  // at 1 only lines without slack must be covered, and Birkhoff covers them
        LowerThreshold(std::min<Word>(threshold_ - 1, threshold_ - threshold_ / 5));
      }
      FillIdle();
      Send(StageLength());
    }
    return std::move(stages_);
  }

 private:
  static constexpr int32_t kLanes = 16;  // rows are padded to so many entries
  /// An entry of zero: its pair never lasts long enough, whatever its slacks.
  static constexpr Word kNothing = -(Word{1} << (8 * sizeof(Word) - 2));

  Word* Row(int32_t a) { return entries_.data() + static_cast<size_t>(a) * static_cast<size_t>(stride_); }
  Word Entry(int32_t a, int32_t b) { return Row(a)[b]; }
  Word SlackOf(int32_t a, int32_t b) const {
    return std::min(row_slack_[static_cast<size_t>(a)], column_slack_[static_cast<size_t>(b)]);
  }
  void LowerThreshold(Word bound) { threshold_ = std::max<Word>(1, std::min(threshold_, bound)); }

  /// No stage can be longer: every row and column must idle or be matched that long.
  Word Bound() {
    Word bound = left_;
    best_in_column_.assign(column_slack_.begin(), column_slack_.end());
    for (int32_t a = 0; a < n_; ++a) {
      const Word slack = row_slack_[static_cast<size_t>(a)];
      const Word best = BestPair(Row(a), column_slack_.data(), slack, stride_, best_in_column_.data());
      bound = std::min(bound, std::max(slack, best));
    }
    for (int32_t b = 0; b < n_; ++b) bound = std::min(bound, best_in_column_[static_cast<size_t>(b)]);
    return bound;
  }

  /// The pairs that last `w` become the matching's edges.
  void SetEdges(Word w) {
    for (int32_t a = 0; a < n_; ++a) {
      MarkLasting(Row(a), column_slack_.data(), row_slack_[static_cast<size_t>(a)], w, stride_, flags_.data());
      uint64_t* bits = matching_.MutableRowBits(a);
      std::fill(bits, bits + matching_.words(), 0);
      for (int32_t b = 0; b < stride_; b += 8) {
        uint64_t eight = 0;  // flags as bytes, the first one lowest
        for (int32_t i = 0; i < 8; ++i) {
          eight |= static_cast<uint64_t>(flags_[static_cast<size_t>(b + i)]) << (8 * i);
        }
        // One byte each becomes one bit each: the product gathers them in the top byte.
        bits[b / 64] |= (eight * 0x0102040810204080U >> 56) << (b % 64);
      }
    }
    matching_.Settle();
  }

  bool CoverAt(Word w) {
    SetEdges(w);
    std::fill(idle_rows_.begin(), idle_rows_.end(), 0);
    std::fill(idle_columns_.begin(), idle_columns_.end(), 0);
    for (int32_t i = 0; i < n_; ++i) {
      const auto word = static_cast<size_t>(i) / 64, bit = static_cast<size_t>(i) % 64;
      idle_rows_[word] |= static_cast<uint64_t>(row_slack_[static_cast<size_t>(i)] >= w) << bit;
      idle_columns_[word] |= static_cast<uint64_t>(column_slack_[static_cast<size_t>(i)] >= w) << bit;
    }
    const auto must = [](const std::vector<uint64_t>& idle, int32_t line) {
      return !BitsetMatching::TestBit(idle.data(), line);
    };
    for (int32_t a = 0; a < n_; ++a) {
      if (!must(idle_rows_, a) || matching_.ColumnOf(a) >= 0) continue;
      if (!matching_.CoverRow(a, idle_rows_.data())) return false;
    }
    for (int32_t b = 0; b < n_; ++b) {
      if (!must(idle_columns_, b) || matching_.RowOf(b) >= 0) continue;
      if (!matching_.CoverColumn(b, idle_columns_.data())) return false;
    }
    return true;
  }

  /// Idle rows may as well send to idle columns: it costs no length. The largest entry of each row.
  void FillIdle() {
    for (int32_t a = 0; a < n_; ++a) {
      if (matching_.ColumnOf(a) >= 0) continue;
      int32_t best = -1;
      for (int32_t b = 0; b < n_; ++b) {
        if (Entry(a, b) > 0 && matching_.RowOf(b) < 0 && (best < 0 || Entry(a, b) > Entry(a, best))) best = b;
      }
      if (best >= 0) matching_.Match(a, best);
    }
  }

  Word StageLength() {
    Word length = left_;
    for (int32_t a = 0; a < n_; ++a) {
      const int32_t b = matching_.ColumnOf(a);
      length = std::min(length, b < 0 ? row_slack_[static_cast<size_t>(a)] : Entry(a, b) + SlackOf(a, b));
    }
    for (int32_t b = 0; b < n_; ++b) {
      if (matching_.RowOf(b) < 0) length = std::min(length, column_slack_[static_cast<size_t>(b)]);
    }
    MYCEL_DCHECK(length >= threshold_);
    return length;
  }

  void Send(Word length) {
    stages_.length.push_back(length);
    for (int32_t b = 0; b < n_; ++b) column_slack_[static_cast<size_t>(b)] -= length;
    for (int32_t a = 0; a < n_; ++a) {
      row_slack_[static_cast<size_t>(a)] -= length;
      const int32_t b = matching_.ColumnOf(a);
      stages_.target.push_back(b);
      Word sent = 0;
      if (b >= 0) {
        Word& entry = Row(a)[b];
        sent = std::min(length, entry);
        entry = entry == sent ? kNothing : entry - sent;
        row_slack_[static_cast<size_t>(a)] += sent;
        column_slack_[static_cast<size_t>(b)] += sent;
      }
      stages_.sent.push_back(sent);
    }
    left_ -= length;
  }

  int32_t n_;
  int32_t stride_;
  Word left_;
  Word threshold_ = 1;
  std::vector<Word> entries_;  // n rows of `stride_`; kNothing where nothing is left
  std::vector<Word> row_slack_;
  std::vector<Word> column_slack_;
  std::vector<Word> best_in_column_;
  std::vector<uint8_t> flags_;
  std::vector<uint64_t> idle_rows_;  // which may idle for the threshold
  std::vector<uint64_t> idle_columns_;
  BitsetMatching matching_;
  StageList stages_;
};

}  // namespace

StageList DecomposeLazily(const StageMatrix& matrix) {
  const int64_t longest = LongestLine(matrix);
  if (longest < int64_t{1} << 30) return LazyDecomposition<int32_t>(matrix, longest).Run();
  MYCEL_CHECK_LT(longest, int64_t{1} << 61);
  return LazyDecomposition<int64_t>(matrix, longest).Run();
}

}  // namespace mycel
