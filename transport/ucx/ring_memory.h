// RingMemory: memory of one end of a channel, of pages that are zero until touched.
#pragma once

#include <cstddef>
#include <memory>

#include "core/base/status.h"
#include "core/spi/channel.h"

namespace mycel {

class RingMemory {
 public:
  /// SystemError says how much was wanted and the cure.
  static StatusOr<std::unique_ptr<RingMemory>> Make(size_t payload_bytes);
  ~RingMemory();
  RingMemory(const RingMemory&) = delete;
  RingMemory& operator=(const RingMemory&) = delete;

  /// Its parts, with fresh counters.
  ChannelEnd End() const { return ChannelAt(base_, payload_bytes_); }
  size_t bytes() const { return ChannelBytes(payload_bytes_); }

 private:
  RingMemory(std::byte* base, size_t payload_bytes) : base_(base), payload_bytes_(payload_bytes) {}

  std::byte* const base_;
  const size_t payload_bytes_;
};

}  // namespace mycel
