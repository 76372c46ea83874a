// What ranks of different servers say to each other. Every message is a UCP active message: this header, then payload.
// Plain structs in the machine's byte order: ranks of one job run on machines of one kind, which Connect checks (the
// token would come out reversed).
#pragma once

#include <cstdint>
#include <type_traits>

namespace mycel {

enum class WireKind : uint16_t {
  kHello = 1,  // payload: HelloWire. "I am rank `source`; this is the token that you gave out."
  kWelcome,    // the hello was right
  kData,       // slot `step` of channel (source, target, index): `bytes` bytes of payload follow
  kCredit,     // the target has given back `released` slots of channel (target, source, index)
  kBoard,      // payload: BoardFacts of `source`
  kBye,        // on every way: `source` leaves; nothing follows there but the answer to a bye
  kByeSeen,    // the byes have been seen: everything sent before has arrived
};

struct WireHeader {
  uint64_t communicator;  // of the sender; others are not for us
  uint64_t step;          // kData
  uint64_t released;      // kData, kCredit: slots given back of the channel in the other direction
  uint64_t place;         // kData: where in the ring the payload lies
  uint32_t signature;     // kData: SlotHeader::signature
  uint32_t bytes;         // kData: SlotHeader::bytes
  int32_t source;         // rank
  uint16_t index;         // kData, kCredit
  WireKind kind;
};
static_assert(sizeof(WireHeader) == 48 && std::is_trivially_copyable_v<WireHeader>);

struct HelloWire {
  uint64_t token[2];  // the target's
};

}  // namespace mycel
