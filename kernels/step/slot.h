// The slot protocol of core/spi/channel.h, one side each. `D` is a device policy (kernels/device).
#pragma once

#include <cstdint>

#include "core/spi/channel.h"
#include "kernels/device/annotations.h"

namespace mycel::step {

/// Source side: whether step `end.step` may be written. Looks at the peer's word only when the cached value says full.
template <typename D>
MYCEL_DEVICE inline bool HasCredit(ChannelEnd& end, int32_t slot_count) {
  if (!end.drain && end.step - end.released_seen < static_cast<uint64_t>(slot_count)) return true;
  // acquire: pairs with the release in Release; the target has finished reading the slots it gives back.
  end.released_seen = D::LoadAcquire(end.release->released);
  if (end.drain) {
    if (end.released_seen != end.step) return false;
    end.drain = false;
  }
  return end.step - end.released_seen < static_cast<uint64_t>(slot_count);
}

/// The same answer for one who only looks.
template <typename D>
MYCEL_DEVICE inline bool WouldHaveCredit(const ChannelEnd& end, int32_t slot_count) {
  // acquire: as in HasCredit; nothing is written on the strength of it.
  const uint64_t released = D::LoadAcquire(end.release->released);
  return end.drain ? released == end.step : end.step - released < static_cast<uint64_t>(slot_count);
}

MYCEL_DEVICE inline SlotHeader& HeaderOf(const ChannelEnd& end) { return end.headers[end.step % kSlotCountMax]; }

/// Where in the ring the payload of `end.step` lies, in bytes.
MYCEL_DEVICE inline uint64_t PlaceOf(const ChannelEnd& end, int32_t slot_count, int64_t slice_bytes) {
  return (end.step % static_cast<uint64_t>(slot_count)) * static_cast<uint64_t>(slice_bytes);
}

MYCEL_DEVICE inline std::byte* PayloadOf(const ChannelEnd& end, int32_t slot_count, int64_t slice_bytes) {
  return end.payload + PlaceOf(end, slot_count, slice_bytes);
}

/// Target side: whether step `end.step` has been published.
template <typename D>
MYCEL_DEVICE inline bool IsReady(const ChannelEnd& end) {
  // acquire: pairs with the release in Publish; makes header fields and payload visible.
  return D::LoadAcquire(HeaderOf(end).flag) == end.step + 1;
}

/// Source side: makes the slot of `end.step` visible and moves on. Payload (`bytes` of it) and header fields are
/// written before.
template <typename D>
MYCEL_DEVICE inline void Publish(ChannelEnd& end, int64_t bytes) {
  // release: publishes the slot's bytes; pairs with the acquire in IsReady.
  D::StoreRelease(HeaderOf(end).flag, end.step + 1);
  ++end.step;
  end.bytes += static_cast<uint64_t>(bytes);
  D::Notify(end.peer_bell);
}

/// Target side: gives the slot of `end.step` back and moves on. The payload (`bytes` of it) is not read afterwards.
template <typename D>
MYCEL_DEVICE inline void Release(ChannelEnd& end, int64_t bytes) {
  ++end.step;
  end.bytes += static_cast<uint64_t>(bytes);
  // release: orders our reads of the slot before the source's next writes; pairs with the acquire in HasCredit.
  D::StoreRelease(end.release->released, end.step);
  D::Notify(end.peer_bell);
}

}  // namespace mycel::step
