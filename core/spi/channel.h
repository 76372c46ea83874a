// The bytes of a channel: ONE directed slot ring from a source rank to a target rank, as mapped by both.
//
//   headers[kSlotCountMax]   written by the source, one 64-byte line each: flag, signature, size, inline bytes
//   payload                  written by the source; slot k of a plan starts at (k % slot_count) * slice_bytes
//   released                 written by the target: how many steps it has given back
//
// Step k (0, 1, 2, ... for the life of the channel, 64 bits, never reset) uses header k % kSlotCountMax. The source may
// write step k when k - released < slot_count; it fills the payload, then stores flag = k + 1 with release order. The
// target reads flag with acquire order, uses the payload, then stores released = k + 1 with release order.
// Slot geometry (slot_count, slice_bytes) belongs to the plan; it changes only when the ring is drained
// (released == step), which the source checks.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "core/base/wait.h"
#include "core/plan/protocol.h"

namespace mycel {

inline constexpr size_t kInlineBytesMax = 48;

/// About a payload that does not fit the header.
struct LongPayload {
  // kDirect: where it lies in the source's address space. Else: where in the ring, in bytes, for transports whose two
  // ends share no memory and which do not know the slots' geometry.
  uint64_t address;
  Rails rails;  // not kDirect: for transports with several devices
};

/// One cache line: a small message needs no other.
struct alignas(64) SlotHeader {
  std::atomic<uint64_t> flag;  // step + 1 when the slot is published
  uint32_t signature;          // of the operation, see board.h
  uint32_t bytes;              // of this message
  union {
    unsigned char inline_bytes[kInlineBytesMax];  // payloads of at most kInlineBytesMax bytes
    LongPayload longer;
  };
};
static_assert(sizeof(SlotHeader) == 64 && alignof(SlotHeader) == 64);
static_assert(std::atomic<uint64_t>::is_always_lock_free);

struct alignas(128) ReleaseWord {
  std::atomic<uint64_t> released;  // writer: the target
};
static_assert(sizeof(ReleaseWord) == 128);

/// What one side needs to use a channel. Plain pointers into mapped memory plus that side's private counters; owned by
/// the thread that runs the communicator's collectives. What every message changes fills one cache line.
struct alignas(64) ChannelEnd {
  SlotHeader* headers = nullptr;
  std::byte* payload = nullptr;
  ReleaseWord* release = nullptr;
  Bell* peer_bell = nullptr;        // rung after publish (source side) or release (target side); may be null
  uint64_t payload_bytes = 0;       // capacity: slot_count * slice_bytes must fit
  uint64_t step = 0;                // next step this side publishes (source) or consumes (target)
  uint64_t bytes = 0;               // payload of the steps before it
  uint64_t released_seen = 0;       // source side: last value read from release->released
  uint64_t geometry = 0;            // source side: slot_count and slice_bytes of the last operation
  bool drain = false;               // source side: the geometry changed; wait until the ring is empty
  int32_t peer = -1;                // rank
  bool same_address_space = false;  // kDirect may dereference the peer's pointers
  bool direct_read = false;         // kDirect may use Transport::DirectRead
};
static_assert(offsetof(ChannelEnd, geometry) == 64);

/// Tells apart the slot geometries of one ring; never 0 (ChannelEnd::geometry).
constexpr uint64_t GeometryOf(int64_t slice_bytes, int32_t slot_count) {
  return (static_cast<uint64_t>(slice_bytes) << 8) | static_cast<uint64_t>(slot_count);
}

/// Bytes of shared memory of one channel with `payload_bytes` of payload; a multiple of 4096.
constexpr size_t ChannelBytes(size_t payload_bytes) {
  const size_t raw = sizeof(SlotHeader) * kSlotCountMax + sizeof(ReleaseWord) + payload_bytes;
  return (raw + 4095) / 4096 * 4096;
}

/// The parts of a channel laid out at `base` (64-byte aligned, zero-filled): headers, release word, payload.
inline ChannelEnd ChannelAt(std::byte* base, size_t payload_bytes) {
  ChannelEnd end;
  end.headers = reinterpret_cast<SlotHeader*>(base);
  end.release = reinterpret_cast<ReleaseWord*>(base + sizeof(SlotHeader) * kSlotCountMax);
  end.payload = base + sizeof(SlotHeader) * kSlotCountMax + sizeof(ReleaseWord);
  end.payload_bytes = payload_bytes;
  return end;
}

}  // namespace mycel
