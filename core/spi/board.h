// Board: one small page per rank, mapped by all ranks of the server. Its owner writes where it is; others read it when
// something goes wrong, to name the culprit. Nothing on it is needed for a successful operation.
#pragma once

#include <atomic>
#include <cstdint>

#include "core/spi/call_history.h"
#include "core/spi/channel.h"

namespace mycel {

/// kPlanning: inside an operation, making its plan.
enum class Phase : uint32_t { kIdle = 0, kInit = 1, kRunning = 2, kFinalized = 3, kPlanning = 4 };

/// How the ranks that remain meet when others are left behind (communicator_shrink.cc).
struct alignas(128) ShrinkBoard {
  std::atomic<uint64_t> view;  // while the owner is shrinking: fingerprint of the ranks that it takes to remain; else 0
  std::atomic<uint64_t> hosted;  // grows with each place that the owner offers; a release store publishes what follows
  uint32_t failure;              // 0, or 1 + StatusCode: why there is no place
  unsigned char place[128];      // where to meet: a unique id
};
static_assert(sizeof(ShrinkBoard) == 256);

/// What a blocked rank waits for.
enum class WaitKind : uint8_t { kNothing = 0, kMessage = 1, kRoom = 2 };

struct WaitWord {
  WaitKind kind = WaitKind::kNothing;
  int32_t rank = -1;

  constexpr uint32_t Pack() const {
    return uint32_t{static_cast<uint8_t>(kind)} << 24 | (static_cast<uint32_t>(rank) & 0xffffffU);
  }
  static constexpr WaitWord Unpack(uint32_t word) {
    const auto kind = static_cast<WaitKind>(word >> 24);
    return {kind, kind == WaitKind::kNothing ? -1 : static_cast<int32_t>(word & 0xffffffU)};
  }
};

/// Facts of the operation a rank is in. Relaxed stores by the owner; a reader may see a mix of two operations, which is
/// harmless in an error text.
struct alignas(128) RankBoard {
  std::atomic<uint64_t> operation;   // sequence number of the communicator's calls, from 1; writer: owner
  std::atomic<uint32_t> phase;       // Phase; writer: owner
  std::atomic<uint32_t> collective;  // Collective, kBoardVector + Collective, or one of those below
  std::atomic<uint32_t> type;
  std::atomic<uint32_t> op;
  std::atomic<int32_t> root;
  std::atomic<uint64_t> count;        // elements; of messages: bytes in all, and the root is the peer of the first
  std::atomic<uint32_t> counts_hash;  // v-collectives whose ranks all know all counts: tells unlike ones apart
  std::atomic<uint32_t> waits;        // WaitWord; from a millisecond of waiting until the operation ends
  std::atomic<int32_t> pid;
  std::atomic<uint32_t> error;  // 0, or 1 + StatusCode of the owner's sticky error (set once)
  char error_text[384];         // valid when error != 0; zero terminated
  CallHistory history;          // the last collectives; writer: owner
  alignas(128) Bell bell;
  ShrinkBoard shrink;
};
static_assert(sizeof(RankBoard) == 1664);

inline constexpr uint32_t kBoardSendRecv = 1000;
inline constexpr uint32_t kBoardBarrier = 1001;
inline constexpr uint32_t kBoardSplit = 1002;
inline constexpr uint32_t kBoardWindow = 1003;
inline constexpr uint32_t kBoardVector = 2000;  // + Collective: allgatherv, ...

}  // namespace mycel
