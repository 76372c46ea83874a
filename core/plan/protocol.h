// How a plan's messages travel, and the limits of plans: plain types that device code includes too.
#pragma once

#include <cstdint>

namespace mycel {

/// Which of the devices that a rank leaves its server by a route takes, and which of the target's: numbers from 1 in
/// the order of WaysOut (rails.h); 0: nothing is said.
struct Rails {
  uint8_t out;  // no initialisers: slot headers hold one
  uint8_t in;
  friend bool operator==(const Rails&, const Rails&) = default;
};

enum class Protocol : uint8_t {
  kInline,  // payload and flag in the same cache line, then following lines
  kSlot,    // ring of payload slots, pipelined
  kDirect,  // only flags travel; the consumer reads the producer's memory
};

inline constexpr int32_t kSlotCountMax = 64;
inline constexpr int64_t kSliceBytesMax = int64_t{1} << 30;
inline constexpr int32_t kOpOperandsMax = 1024;  // inputs of one op, and outputs

}  // namespace mycel
