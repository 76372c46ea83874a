#include "core/plan/verify/contributors.h"

#include <algorithm>
#include <bit>

#include "core/base/check.h"

namespace mycel::verify {
namespace {

constexpr int kWordBits = 64;

uint64_t HashOfWords(const uint64_t* words, size_t count) {
  uint64_t hash = 0x9e3779b97f4a7c15U;
  for (size_t i = 0; i < count; ++i) {
    hash = (hash ^ words[i]) * 0xbf58476d1ce4e5b9U;
    hash ^= hash >> 29;
  }
  return hash;
}

}  // namespace

ContributorSets::ContributorSets(int32_t rank_count)
    : words_per_set_((static_cast<size_t>(rank_count) + kWordBits - 1) / kWordBits) {
  for (int32_t rank = 0; rank < rank_count; ++rank) {
    words_.resize(words_.size() + words_per_set_, 0);
    words_[words_.size() - words_per_set_ + static_cast<size_t>(rank / kWordBits)] = uint64_t{1} << (rank % kWordBits);
    MYCEL_CHECK_EQ(Intern(), rank);
  }
  words_.resize(words_.size() + words_per_set_, 0);
  for (int32_t rank = 0; rank < rank_count; ++rank) {
    words_[words_.size() - words_per_set_ + static_cast<size_t>(rank / kWordBits)] |= uint64_t{1} << (rank % kWordBits);
  }
  all_ = Intern();  // of one rank: the same as {0}
}

int32_t ContributorSets::Intern() {
  const auto set = static_cast<int32_t>(words_.size() / words_per_set_ - 1);
  const uint64_t hash = HashOfWords(WordsOf(set), words_per_set_);
  const auto [begin, end] = by_hash_.equal_range(hash);
  for (auto it = begin; it != end; ++it) {
    if (!std::equal(WordsOf(set), WordsOf(set) + words_per_set_, WordsOf(it->second))) continue;
    words_.resize(words_.size() - words_per_set_);
    return it->second;
  }
  by_hash_.emplace(hash, set);
  return set;
}

int32_t ContributorSets::Unite(int32_t a, int32_t b) {
  if (a > b) std::swap(a, b);
  const uint64_t key = (static_cast<uint64_t>(a) << 32) | static_cast<uint32_t>(b);
  const auto known = unions_.find(key);
  if (known != unions_.end()) return known->second;
  int32_t result = -1;
  if (CommonRank(a, b) < 0) {
    words_.resize(words_.size() + words_per_set_);
    uint64_t* out = words_.data() + (words_.size() - words_per_set_);
    for (size_t i = 0; i < words_per_set_; ++i) out[i] = WordsOf(a)[i] | WordsOf(b)[i];
    result = Intern();
  }
  unions_.emplace(key, result);
  return result;
}

bool ContributorSets::Holds(int32_t set, Rank rank) const {
  return (WordsOf(set)[rank.index() / kWordBits] >> (rank.index() % kWordBits) & 1) != 0;
}

int32_t ContributorSets::CommonRank(int32_t a, int32_t b) const {
  for (size_t i = 0; i < words_per_set_; ++i) {
    const uint64_t common = WordsOf(a)[i] & WordsOf(b)[i];
    if (common != 0) return static_cast<int32_t>(i) * kWordBits + std::countr_zero(common);
  }
  return -1;
}

}  // namespace mycel::verify
