// Program + (type, count) + channels -> BoundProgram: hop 6. Done once per distinct call; kept by the communicator.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "core/base/status.h"
#include "core/plan/program.h"
#include "core/plan/types.h"
#include "core/spi/launch.h"
#include "core/spi/transport.h"

namespace mycel {

/// What one end of a channel has carried since the communicator was made: every message counts where its slot is
/// published (source) or given back (target), point-to-point messages and operations that failed half-way included.
struct ChannelTraffic {
  Rank peer;
  int32_t index = 0;
  bool sends = false;     // true: this rank is the source
  uint64_t messages = 0;  // slices
  uint64_t bytes = 0;     // of payload; whatever the protocol
};

/// The channel ends a rank has opened, one per (peer, index, direction), kept for the communicator's life: their step
/// counters never restart. Owner: the thread inside the communicator.
class ChannelTable {
 public:
  ChannelTable(Transport* transport, int32_t rank_count, int32_t channels_per_pair);

  StatusOr<ChannelEnd*> Send(Rank target, int32_t index) { return Open(target, index, true); }
  StatusOr<ChannelEnd*> Recv(Rank source, int32_t index) { return Open(source, index, false); }
  int32_t channels_per_pair() const { return channels_per_pair_; }
  /// Of every open channel: sending ends first, then by peer and index.
  std::vector<ChannelTraffic> Traffic() const;
  /// The same for ends whose counts somebody else keeps: `read` brings one up to date.
  std::vector<ChannelTraffic> Traffic(const std::function<Status(ChannelEnd*)>& read) {
    for (const std::unique_ptr<ChannelEnd>& end : ends_) {
      if (end != nullptr) read(end.get()).IgnoreError();  // then it tells what it knew
    }
    return Traffic();
  }

 private:
  StatusOr<ChannelEnd*> Open(Rank peer, int32_t index, bool sends);

  Transport* transport_;
  int32_t rank_count_;
  int32_t channels_per_pair_;
  std::vector<std::unique_ptr<ChannelEnd>> ends_;  // [direction][peer][index]
};

/// Byte offsets, slice counts and channel pointers of `program` for `count` elements of `type` per block. The units of
/// v-collectives are bytes, whatever the type: their blocks say how long they are, `count` and `type` do not matter,
/// the launch's element is one byte, and PlaceBlocks must be called before each launch. InvalidArgument when the ring
/// is too small for the plan's slots, a channel index is out of range, or a v-collective's plan stages more bytes on
/// this rank than the whole exchange moves.
StatusOr<std::unique_ptr<BoundProgram>> Bind(const Program& program, DataType type, int64_t count,
                                             ChannelTable& channels);

/// The same for a plan of a regular collective whose blocks have unlike counts: `counts[block]` elements, as many as
/// the plan has blocks. All ranks pass the same. PlaceBlocks must be called before each launch.
StatusOr<std::unique_ptr<BoundProgram>> BindBlocks(const Program& program, DataType type,
                                                   const std::vector<size_t>& counts, ChannelTable& channels);

/// v-collectives: blocks begin at these displacements, in elements of `element_bytes`, one per place. Those of places
/// without bytes are not read.
void PlaceBlocks(const size_t* send_at, const size_t* recv_at, size_t element_bytes, BoundProgram* program);

/// Readies a bound program's rings for a launch: a ring whose slot geometry changes must drain first.
void ClaimRings(const BoundProgram& program);

}  // namespace mycel
