// Transport: a way to reach other ranks. Creates the memory that channels live in; the step loop then works on plain
// ChannelEnd structs and never calls a virtual function.
//
// Life: Prepare (local resources, returns this rank's address) -> the communicator allgathers addresses -> Connect ->
// OpenSend / OpenRecv for each channel of a plan -> destruction. One thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/ids.h"
#include "core/base/status.h"
#include "core/spi/board.h"
#include "core/spi/bootstrap.h"
#include "core/spi/channel.h"
#include "core/spi/window.h"

namespace mycel {

/// Payload bytes of each channel's ring, so that the rings towards a rank (two from every other rank) stay within 8 MiB
/// together: 512 KiB up to 9 ranks, then less, never below 16 KiB. A multiple of 4096.
constexpr size_t PayloadBytesFor(int32_t rank_count) {
  constexpr size_t kMost = 512 * 1024;
  constexpr size_t kLeast = 16 * 1024;
  constexpr size_t kInboundBytes = 8 * 1024 * 1024;
  if (rank_count <= 1) return kMost;
  const size_t share = kInboundBytes / (2 * static_cast<size_t>(rank_count - 1)) / 4096 * 4096;
  return share > kMost ? kMost : (share < kLeast ? kLeast : share);
}

struct TransportOptions {
  Rank rank;
  int32_t rank_count = 0;
  int32_t channels_per_pair = 2;      // channel indices 0..channels_per_pair-1 between every ordered pair
  size_t payload_bytes = 512 * 1024;  // of each channel's ring
  uint64_t communicator = 0;          // random id shared by all ranks of the communicator
};

class Transport {
 public:
  virtual ~Transport() = default;
  virtual std::string_view name() const = 0;  // "shm", "loopback"

  /// Creates local resources and returns the opaque address that peers need. SystemError says need / have / cure.
  virtual StatusOr<std::string> Prepare(const TransportOptions& options) = 0;
  /// `addresses[r]`: what rank r's Prepare returned. Collective; maps the peers. Reachability is proved (a token read
  /// through the mapping), never guessed from names.
  virtual Status Connect(const std::vector<std::string>& addresses, Deadline deadline) = 0;

  /// Whether channels to and from `peer` exist after Connect.
  virtual bool Reaches(Rank peer) const = 0;
  /// The two ends of channel (source, target, index); `index` < channels_per_pair. Valid while the transport lives.
  virtual StatusOr<ChannelEnd> OpenSend(Rank target, int32_t index) = 0;
  virtual StatusOr<ChannelEnd> OpenRecv(Rank source, int32_t index) = 0;
  /// The board of a reachable rank (own included), or null.
  virtual RankBoard* BoardOf(Rank rank) = 0;

  /// Slow path of a wait: OK while `peer` is alive as far as can be told, RemoteError("rank 3 (pid 17) died") else. A
  /// peer may publish its last message and leave between the caller's look and this call: look once more before
  /// believing the error.
  virtual Status CheckAlive(Rank peer) = 0;
  /// How `peer`'s process stands, for texts: "pid 17 is alive but stopped by a signal". Empty where it cannot be told.
  virtual std::string ConditionOf(Rank peer) {
    (void)peer;
    return std::string();
  }
  /// Whether Progress must be called while waiting: the transport is not plain memory.
  virtual bool NeedsProgress() const { return false; }
  /// Moves messages along. True when something moved.
  virtual bool Progress() { return false; }
  /// After Connect: whether every rank may read every other's memory, by pointer or by DirectRead (agreed by all).
  virtual bool AllReadDirectly() const { return false; }
  /// Why not, for logs: who cannot or may not read whom. Empty while AllReadDirectly.
  virtual std::string WhyNotDirectly() const { return AllReadDirectly() ? "" : "this transport cannot"; }
  /// Copies `bytes` from `address` in `peer`'s memory; only when OpenRecv set ChannelEnd::direct_read.
  virtual Status DirectRead(Rank peer, uint64_t address, void* target, size_t bytes) {
    (void)peer, (void)address, (void)target, (void)bytes;
    return InternalError("this transport cannot read a peer's memory");
  }
  /// `parts[r]`: rank r's memory of window `window`. From now on DirectReads from inside it go through a mapping, where
  /// it can be mapped; how many peers' parts could. What could not is read as before.
  virtual int32_t MapWindow(uint64_t window, const std::vector<WindowPart>& parts) {
    (void)window, (void)parts;
    return 0;
  }
  virtual void UnmapWindow(uint64_t window) { (void)window; }
  /// DirectReads that went through a window.
  virtual uint64_t WindowReads() const { return 0; }
  /// Bytes of memory this rank holds for the communicator.
  virtual size_t MemoryBytes() const = 0;
};

}  // namespace mycel
