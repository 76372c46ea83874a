// Counts: how the ranks of an alltoallv find out, before anything moves, whether they mean the same exchange.
//
// Problem. A plan follows from the whole matrix, but a rank knows its own row (what it sends) and column (what it
// expects). It cannot even tell that nothing has changed: others may have changed what they send each other.
//
// Way. Every rank sends every other one CountsWord (24 bytes, so it travels inside the slot header). Each pair
// (sender, receiver, bytes) has a hash; `row` sums those of the rank's row, `column` those of its column. Over all
// ranks both sums run over the same pairs, so they are equal if the two sides of every pair agree, and the sum is the
// matrix's key. Every rank judges the same words, hence all ranks take the same way: known matrix, new matrix (rows are
// gathered next), or refusal (rows and columns are gathered next, to name the pair). A known matrix costs O(n) a rank
// and call. Sums of 64-bit hashes collide with likelihood 2^-64; a rank holds its own row and column against the plan's
// before it runs, so even then no byte goes astray.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/base/status.h"

namespace mycel {

/// What one rank says about its counts; sent as it lies in memory, between ranks of one architecture.
struct CountsWord {
  uint64_t row;     // hashes of (me, j, bytes), summed
  uint64_t column;  // hashes of (i, me, bytes), summed
  uint64_t bytes;   // the row's sum; kCountsBeyond when it, an entry, or an entry of the column is beyond the limits
};
static_assert(sizeof(CountsWord) == 24);

inline constexpr uint64_t kCountsBeyond = uint64_t{1} << 63;
inline constexpr uint64_t kExchangeBytesMax = uint64_t{1} << 62;  // all pairs together
inline constexpr uint64_t kPairBytesMax = uint64_t{1} << 50;      // what a block of a plan may have

/// The word of `rank` of `rank_count`, whose counts are in elements of `element_bytes`.
CountsWord WordOf(int32_t rank, int32_t rank_count, const size_t* send_counts, const size_t* recv_counts,
                  size_t element_bytes);

enum class CountsVerdict : uint8_t { kAgree, kDisagree, kBeyond };

/// The verdict on the words of all ranks, and with kAgree the matrix's key: never 0, equal on every rank.
CountsVerdict Judge(const CountsWord* words, int32_t rank_count, uint64_t* key);

/// Why counts were refused. `tables`: for each rank its row, then its column (2 x rank_count counts in elements).
/// InvalidArgument names the entry that is beyond the limits; InvalidUsage the first pair that disagrees, with both
/// numbers, and how many more do.
Status WhyRefused(const uint64_t* tables, int32_t rank_count, size_t element_bytes);

}  // namespace mycel
