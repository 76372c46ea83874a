// What a rank tells the ranks of other servers about itself: its board (core/spi/board.h) without the bell. They keep a
// copy, and error texts read that as they read the board of a rank whose memory is mapped.
#pragma once

#include <cstdint>
#include <type_traits>

#include "core/spi/board.h"

namespace mycel {

/// Fields are RankBoard's.
struct BoardFacts {
  uint64_t operation;
  uint64_t count;
  uint32_t phase;
  uint32_t collective;
  uint32_t type;
  uint32_t op;
  uint32_t counts_hash;
  uint32_t waits;
  int32_t root;
  int32_t pid;
  uint32_t error;
  char error_text[sizeof(RankBoard::error_text)];
  CallRecord calls[CallHistory::kKept];  // the last ones, the latest first; operation 0: none
  uint64_t shrink_view;                  // and what follows: ShrinkBoard's
  uint64_t shrink_hosted;
  uint32_t shrink_failure;
  unsigned char shrink_place[sizeof(ShrinkBoard::place)];

  friend bool operator==(const BoardFacts&, const BoardFacts&) = default;
};
static_assert(std::is_trivially_copyable_v<BoardFacts>);

/// Any thread. May mix two operations, as every reader of a board may see it.
BoardFacts FactsOf(const RankBoard& board);
/// The one writer of the copy.
void CopyFacts(const BoardFacts& facts, RankBoard* board);

}  // namespace mycel
