// Counts: agreement, its key, and what refusals say.
#include "core/runtime/counts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/base/rng.h"

namespace mycel {
namespace {

using ::testing::HasSubstr;

constexpr size_t kElementBytes = 4;

/// Rows that ranks send by and columns they expect by, which a test may set apart.
struct Matrix {
  explicit Matrix(int32_t n) : ranks(n), sent(static_cast<size_t>(n * n)), expected(static_cast<size_t>(n * n)) {}
  void Set(int32_t i, int32_t j, size_t count) { sent[At(i, j)] = expected[At(i, j)] = count; }
  size_t At(int32_t i, int32_t j) const { return static_cast<size_t>(i * ranks + j); }

  CountsVerdict Verdict(uint64_t* key) const {
    std::vector<CountsWord> words;
    for (int32_t r = 0; r < ranks; ++r) {
      std::vector<size_t> row, column;
      for (int32_t peer = 0; peer < ranks; ++peer) {
        row.push_back(sent[At(r, peer)]);
        column.push_back(expected[At(peer, r)]);
      }
      words.push_back(WordOf(r, ranks, row.data(), column.data(), kElementBytes));
    }
    return Judge(words.data(), ranks, key);
  }
  std::string Why() const {
    std::vector<uint64_t> tables;
    for (int32_t r = 0; r < ranks; ++r) {
      for (int32_t peer = 0; peer < ranks; ++peer) tables.push_back(sent[At(r, peer)]);
      for (int32_t peer = 0; peer < ranks; ++peer) tables.push_back(expected[At(peer, r)]);
    }
    return StatusMessage(WhyRefused(tables.data(), ranks, kElementBytes));
  }

  int32_t ranks;
  std::vector<size_t> sent;
  std::vector<size_t> expected;
};

Matrix RandomMatrix(int32_t n, Rng* rng) {
  Matrix matrix(n);
  for (int32_t i = 0; i < n; ++i) {
    for (int32_t j = 0; j < n; ++j) matrix.Set(i, j, rng->OneIn(2) ? 0 : rng->Below(100));
  }
  return matrix;
}

TEST(Counts, EveryChangeOfTheMatrixChangesTheKey) {
  constexpr uint64_t kSeed = 5;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  Rng rng(kSeed);
  for (int32_t n = 1; n < 7; ++n) {
    Matrix matrix = RandomMatrix(n, &rng);
    uint64_t key = 0;
    ASSERT_EQ(matrix.Verdict(&key), CountsVerdict::kAgree);
    for (int32_t i = 0; i < n; ++i) {
      for (int32_t j = 0; j < n; ++j) {
        const size_t was = matrix.sent[matrix.At(i, j)];
        matrix.Set(i, j, was + 1);
        uint64_t other = 0;
        EXPECT_EQ(matrix.Verdict(&other), CountsVerdict::kAgree);
        EXPECT_NE(other, key);
        matrix.Set(i, j, was);
      }
    }
    uint64_t again = 0;
    matrix.Verdict(&again);
    EXPECT_EQ(again, key);
  }
}

TEST(Counts, TheTransposedMatrixHasAnotherKey) {
  Matrix matrix(2), transposed(2);
  matrix.Set(0, 1, 7);
  transposed.Set(1, 0, 7);
  uint64_t key = 0, other = 0;
  matrix.Verdict(&key);
  transposed.Verdict(&other);
  EXPECT_NE(key, other);
}

TEST(Counts, ADisagreementIsSeenAndItsPairNamed) {
  Rng rng(6);
  for (int32_t i = 0; i < 4; ++i) {
    for (int32_t j = 0; j < 4; ++j) {
      Matrix matrix = RandomMatrix(4, &rng);
      const size_t sent = matrix.sent[matrix.At(i, j)];
      matrix.expected[matrix.At(i, j)] = sent + 3;
      uint64_t key = 0;
      EXPECT_EQ(matrix.Verdict(&key), CountsVerdict::kDisagree);
      EXPECT_THAT(matrix.Why(),
                  HasSubstr("rank " + std::to_string(i) + " sends " + std::to_string(sent) + " elements to rank " +
                            std::to_string(j) + ", which expects " + std::to_string(sent + 3) + " from it"));
    }
  }
}

TEST(Counts, SwappedMistakesDoNotCancel) {
  Matrix matrix(3);
  matrix.sent[matrix.At(0, 1)] = 5;
  matrix.expected[matrix.At(0, 2)] = 5;
  uint64_t key = 0;
  EXPECT_EQ(matrix.Verdict(&key), CountsVerdict::kDisagree);
  EXPECT_THAT(matrix.Why(), HasSubstr("(and so for 1 more pairs)"));
}

TEST(Counts, WhatIsBeyondTheLimitsIsNamed) {
  uint64_t key = 0;
  Matrix pair(2);
  pair.Set(1, 0, kPairBytesMax / kElementBytes);
  EXPECT_EQ(pair.Verdict(&key), CountsVerdict::kAgree);
  pair.Set(1, 0, kPairBytesMax / kElementBytes + 1);
  EXPECT_EQ(pair.Verdict(&key), CountsVerdict::kBeyond);
  EXPECT_THAT(pair.Why(), HasSubstr("from rank 1 to rank 0: more than 2^50 bytes"));

  // Only the receiver is wrong, by a number whose bytes wrap to few.
  Matrix wraps(2);
  wraps.expected[wraps.At(0, 1)] = size_t{1} << 62;
  EXPECT_EQ(wraps.Verdict(&key), CountsVerdict::kBeyond);
  EXPECT_THAT(wraps.Why(), HasSubstr("recvcounts says 4611686018427387904 elements of 4 bytes from rank 0 to rank 1"));

  Matrix sum(70);
  for (int32_t i = 0; i < 70; ++i) {
    for (int32_t j = 0; j < 70; ++j) sum.Set(i, j, kPairBytesMax / kElementBytes);
  }
  EXPECT_EQ(sum.Verdict(&key), CountsVerdict::kBeyond);
  EXPECT_THAT(sum.Why(), HasSubstr("sum to more than 2^62 bytes"));
}

}  // namespace
}  // namespace mycel
