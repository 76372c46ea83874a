// The slot protocol of core/spi/channel.h in its plainest form, for tests of the memory that it works on.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "core/base/rng.h"
#include "core/spi/channel.h"

namespace mycel {

using Bytes = std::vector<std::byte>;

struct Geometry {
  uint64_t slot_count = 4;
  uint64_t slice_bytes = 4096;
};

/// Publishes `message` unless the target holds all slots.
inline bool TrySend(ChannelEnd& end, const Geometry& geometry, const Bytes& message, uint32_t signature) {
  // acquire: pairs with the release store in TryReceive; the target has read the slot that is written next.
  const uint64_t released = end.release->released.load(std::memory_order_acquire);
  if (end.step - released >= geometry.slot_count) return false;
  SlotHeader& header = end.headers[end.step % kSlotCountMax];
  header.signature = signature;
  header.bytes = static_cast<uint32_t>(message.size());
  std::byte* place = reinterpret_cast<std::byte*>(header.inline_bytes);
  if (message.size() > kInlineBytesMax) {
    header.longer.address = end.step % geometry.slot_count * geometry.slice_bytes;
    place = end.payload + header.longer.address;
  }
  if (!message.empty()) std::memcpy(place, message.data(), message.size());
  // release: publishes header and payload; pairs with the acquire load in TryReceive.
  header.flag.store(++end.step, std::memory_order_release);
  return true;
}

/// Takes the next message if there is one. `keep`: read it without giving the slot back.
inline bool TryReceive(ChannelEnd& end, const Geometry& geometry, Bytes* message, uint32_t* signature,
                       bool keep = false) {
  const SlotHeader& header = end.headers[end.step % kSlotCountMax];
  // acquire: pairs with the release store in TrySend.
  if (header.flag.load(std::memory_order_acquire) != end.step + 1) return false;
  const std::byte* place = header.bytes <= kInlineBytesMax
                               ? reinterpret_cast<const std::byte*>(header.inline_bytes)
                               : end.payload + end.step % geometry.slot_count * geometry.slice_bytes;
  message->resize(header.bytes);
  if (header.bytes > 0) std::memcpy(message->data(), place, header.bytes);
  *signature = header.signature;
  if (keep) return true;
  // release: the slot has been read; pairs with the acquire load in TrySend.
  end.release->released.store(++end.step, std::memory_order_release);
  return true;
}

/// Whether `bytes` bytes at `got` begin `expected`. One call: sanitizers make a loop over bytes dear.
inline bool Begins(const Bytes& expected, const std::byte* got, size_t bytes) {
  return bytes <= expected.size() && (bytes == 0 || std::memcmp(expected.data(), got, bytes) == 0);
}
inline bool Same(const Bytes& a, const Bytes& b) { return a.size() == b.size() && Begins(a, b.data(), b.size()); }

/// `bytes` bytes that follow from the seed.
inline Bytes PatternOf(uint64_t seed, size_t bytes) {
  Bytes pattern(bytes);
  uint64_t words[64];  // copied in blocks: sanitizers make each copy dear
  for (size_t done = 0; done < bytes; done += sizeof(words)) {
    const size_t block = std::min(bytes - done, sizeof(words));
    for (size_t i = 0; i < (block + 7) / 8; ++i) words[i] = SplitMix64(seed);
    std::memcpy(pattern.data() + done, words, block);
  }
  return pattern;
}

}  // namespace mycel
