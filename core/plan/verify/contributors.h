// Contributor sets: which ranks' data a value holds, each at most once. Equal sets share a number, so that symbolic
// execution compares and unites them as integers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "core/base/ids.h"

namespace mycel::verify {

class ContributorSets {
 public:
  explicit ContributorSets(int32_t rank_count);

  /// Number of the set {rank}.
  int32_t Single(Rank rank) const { return rank.value(); }
  /// Number of the set of all ranks.
  int32_t all() const { return all_; }
  /// Number of the disjoint union, -1 when a rank is in both.
  int32_t Unite(int32_t a, int32_t b);
  /// Whether `rank` is in the set.
  bool Holds(int32_t set, Rank rank) const;
  /// The lowest rank in both sets; -1 when there is none.
  int32_t CommonRank(int32_t a, int32_t b) const;

 private:
  const uint64_t* WordsOf(int32_t set) const { return words_.data() + static_cast<size_t>(set) * words_per_set_; }
  /// Number of the set whose words were appended to `words_`; drops them when the set is known.
  int32_t Intern();

  size_t words_per_set_;
  std::vector<uint64_t> words_;
  std::unordered_multimap<uint64_t, int32_t> by_hash_;
  std::unordered_map<uint64_t, int32_t> unions_;  // (a, b) with a < b
  int32_t all_ = -1;
};

}  // namespace mycel::verify
