#include "core/runtime/counts.h"

#include <string>

#include "core/base/int128.h"

namespace mycel {
namespace {

/// SplitMix64's finalizer (Steele, Lea, Flood 2014): a bijection, so that different bytes of one pair never meet.
constexpr uint64_t Mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

uint64_t PairHash(int32_t sender, int32_t receiver, uint64_t bytes) {
  if (bytes == 0) return 0;
  const uint64_t pair = static_cast<uint64_t>(sender) << 32 | static_cast<uint64_t>(receiver);
  return Mix(Mix(pair + 0x9e3779b97f4a7c15U) + bytes);
}

bool IsBeyond(uint64_t count, size_t element_bytes) { return count > kPairBytesMax / element_bytes; }

std::string Pair(int32_t sender, int32_t receiver) {
  return "from rank " + std::to_string(sender) + " to rank " + std::to_string(receiver);
}

}  // namespace

CountsWord WordOf(int32_t rank, int32_t rank_count, const size_t* send_counts, const size_t* recv_counts,
                  size_t element_bytes) {
  CountsWord word{};
  bool beyond = false;
  for (int32_t peer = 0; peer < rank_count; ++peer) {
    const uint64_t sent = send_counts[peer];
    const uint64_t expected = recv_counts[peer];
    beyond |= IsBeyond(sent, element_bytes) || IsBeyond(expected, element_bytes);
    word.row += PairHash(rank, peer, sent * element_bytes);
    word.column += PairHash(peer, rank, expected * element_bytes);
    word.bytes += sent * element_bytes;
    beyond |= word.bytes > kExchangeBytesMax;
  }
  if (beyond) word.bytes = kCountsBeyond;
  return word;
}

CountsVerdict Judge(const CountsWord* words, int32_t rank_count, uint64_t* key) {
  uint64_t rows = 0;
  uint64_t columns = 0;
  uint64_t bytes = 0;
  for (int32_t rank = 0; rank < rank_count; ++rank) {
    rows += words[rank].row;
    columns += words[rank].column;
    // Both are at most 2^63 here, and the sum is looked at before the next is added.
    bytes += words[rank].bytes;
    if (words[rank].bytes > kExchangeBytesMax || bytes > kExchangeBytesMax) return CountsVerdict::kBeyond;
  }
  if (rows != columns) return CountsVerdict::kDisagree;
  *key = rows == 0 ? 1 : rows;
  return CountsVerdict::kAgree;
}

Status WhyRefused(const uint64_t* tables, int32_t rank_count, size_t element_bytes) {
  const auto n = static_cast<size_t>(rank_count);
  int128 total = 0;
  uint64_t largest = 0;
  int32_t largest_sender = 0;
  int32_t largest_receiver = 0;
  int64_t differing = 0;
  std::string difference;
  for (int32_t i = 0; i < rank_count; ++i) {
    for (int32_t j = 0; j < rank_count; ++j) {
      const uint64_t sent = tables[static_cast<size_t>(i) * 2 * n + static_cast<size_t>(j)];
      const uint64_t expected = tables[static_cast<size_t>(j) * 2 * n + n + static_cast<size_t>(i)];
      for (const uint64_t count : {sent, expected}) {
        if (!IsBeyond(count, element_bytes)) continue;
        return InvalidArgument("alltoallv: " + std::string(count == sent ? "sendcounts" : "recvcounts") + " says " +
                               std::to_string(count) + " elements of " + std::to_string(element_bytes) + " bytes " +
                               Pair(i, j) + ": more than 2^50 bytes, the most of one pair");
      }
      total += sent * element_bytes;
      if (sent > largest) largest = sent, largest_sender = i, largest_receiver = j;
      if (sent == expected || ++differing > 1) continue;
      difference = "alltoallv: rank " + std::to_string(i) + " sends " + std::to_string(sent) + " elements to rank " +
                   std::to_string(j) + ", which expects " + std::to_string(expected) + " from it; sendcounts[" +
                   std::to_string(j) + "] at rank " + std::to_string(i) + " and recvcounts[" + std::to_string(i) +
                   "] at rank " + std::to_string(j) + " must be equal";
    }
  }
  if (total > static_cast<int128>(kExchangeBytesMax)) {
    return InvalidArgument("alltoallv: the counts sum to more than 2^62 bytes; the largest is " +
                           std::to_string(largest) + " elements of " + std::to_string(element_bytes) + " bytes " +
                           Pair(largest_sender, largest_receiver));
  }
  if (differing == 0) return InternalError("alltoallv: the ranks' counts agree, but the hashes of them do not");
  if (differing > 1) difference += " (and so for " + std::to_string(differing - 1) + " more pairs)";
  return InvalidUsage(difference);
}

}  // namespace mycel
