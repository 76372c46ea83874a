// StreamDevice: where a communicator's lanes run by themselves, in the order of streams, while the host goes on. One
// for each communicator. Its launches run one after the other, whatever their streams.
//
// Owners: the thread inside the communicator, but for Look, Fault and Abort, which any thread may call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/base/status.h"
#include "core/plan/types.h"
#include "core/spi/launch.h"

namespace mycel {

enum class StreamState : uint8_t {
  kQueued,   // what is before it in its stream has not ended
  kRunning,  // from there on
  kDone,
};

/// The first launch that could not go on says why; those behind it end at once.
struct StreamFault {
  enum class Kind : uint8_t { kNone, kAborted, kMismatch, kDamaged };
  Kind kind = Kind::kNone;
  int32_t peer = -1;      // of the channel that it is about
  bool receives = false;  // kAborted: it waited for a message of the peer; else for room
  uint32_t signature = 0;
  uint64_t step = 0;
};

class StreamDevice {
 public:
  virtual ~StreamDevice() = default;
  virtual std::string_view name() const = 0;  // "cuda:0"
  /// The arithmetic for (type, op), to be put into Launch::kernel.
  virtual const void* KernelFor(DataType type, ReduceOp op) const = 0;

  /// Memory of the device for staging, and for a rank's data times its factor. The largest need stays.
  virtual StatusOr<std::byte*> Scratch(size_t bytes) = 0;
  virtual StatusOr<std::byte*> Scaled(size_t bytes) = 0;

  /// Puts `launch` into `stream` and returns; of its fields those of the step loop's progress are not used. `kept`: the
  /// program will be launched again and stays as it is. A number for Look; 0: it was recorded into a graph. Waits when
  /// too many launches are on their way. Impossible, saying which, for what a stream cannot have while it captures.
  virtual StatusOr<uint64_t> Submit(const Launch& launch, bool kept, void* stream) = 0;
  /// output[e] = input[e] * *factor, as Device::Scale. `factor_at`: read when it runs; null: `factor` now.
  virtual Status Scale(DataType type, const void* factor, const void* factor_at, const void* input, void* output,
                       size_t count, void* stream) = 0;
  virtual StreamState Look(uint64_t number) = 0;
  /// Launches that graphs hold, which may run at any time without being submitted.
  virtual uint64_t captured() const = 0;
  virtual StreamFault Fault() = 0;
  /// Every launch that waits, and all that come, end soon.
  virtual void Abort() = 0;

  /// A stream of the device's own that goes on from where `stream` is now, for several communicators whose calls share
  /// a stream and wait for each other. Join: `stream` waits for what was put there.
  virtual StatusOr<void*> Fork(void* stream) = 0;
  virtual Status Join(void* stream) = 0;

  /// Brings the counts of an end up to date (ChannelEnd::step, bytes), which the device keeps. Nothing is on its way.
  virtual Status ReadCounts(ChannelEnd* end) = 0;
  /// Bytes held on the device and in pinned memory.
  virtual size_t MemoryBytes() const = 0;
};

}  // namespace mycel
