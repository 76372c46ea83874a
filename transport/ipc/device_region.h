// DeviceRegion: memory of one rank on its device, in which the channels towards it lie; and a peer's, as it is reached
// from here.
//
//   control    token | one probe word per rank, written by that rank through its mapping
//   channels   source 0 index 0, 1, ..., source 1 index 0, 1, ... (without the owner itself)
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "core/base/ids.h"
#include "core/base/status.h"
#include "core/spi/channel.h"
#include "core/spi/gpu_driver.h"

namespace mycel {

/// Nobody else can know it: whoever reads it has reached the right memory.
struct RegionToken {
  uint64_t words[2] = {0, 0};
  static RegionToken Random();
  friend bool operator==(const RegionToken&, const RegionToken&) = default;
};

/// Where everything lies; every rank computes the same numbers.
struct RegionLayout {
  int32_t rank_count = 0;
  int32_t channels_per_pair = 0;
  size_t payload_bytes = 0;

  static constexpr size_t kProbeStride = 64;
  size_t ProbeAt(Rank rank) const { return (1 + rank.index()) * kProbeStride; }
  size_t ControlBytes() const { return (kProbeStride * (1 + static_cast<size_t>(rank_count)) + 4095) / 4096 * 4096; }
  size_t TotalBytes() const {
    const auto others = static_cast<size_t>(rank_count - 1);
    return ControlBytes() + others * static_cast<size_t>(channels_per_pair) * ChannelBytes(payload_bytes);
  }
  size_t ChannelOffset(Rank source, Rank target, int32_t index) const {
    const size_t place = source.index() - (source.value() > target.value() ? 1 : 0);
    const size_t number = place * static_cast<size_t>(channels_per_pair) + static_cast<size_t>(index);
    return ControlBytes() + number * ChannelBytes(payload_bytes);
  }
};

/// Owned memory. Threads of one process that belong to one communicator keep each other's, so that no kernel looks at
/// memory that its owner has freed.
class DeviceRegion {
 public:
  /// Cleared, with its token. SystemError says how much was wanted.
  static StatusOr<std::shared_ptr<DeviceRegion>> Make(GpuDriver* driver, int32_t device, size_t bytes);
  /// That of this process with this token, or null.
  static std::shared_ptr<DeviceRegion> Find(const RegionToken& token);

  ~DeviceRegion();
  DeviceRegion(const DeviceRegion&) = delete;
  DeviceRegion& operator=(const DeviceRegion&) = delete;

  std::byte* base() const { return base_; }
  size_t bytes() const { return bytes_; }
  int32_t device() const { return device_; }
  const RegionToken& token() const { return token_; }

 private:
  DeviceRegion(GpuDriver* driver, int32_t device, std::byte* base, size_t bytes, const RegionToken& token)
      : driver_(*driver), device_(device), base_(base), bytes_(bytes), token_(token) {}

  GpuDriver& driver_;
  const int32_t device_;
  std::byte* const base_;
  const size_t bytes_;
  const RegionToken token_;
};

/// A peer's region as this rank's device reaches it. Empty where it does not.
class PeerRegion {
 public:
  PeerRegion() = default;
  /// Of a thread of this process.
  explicit PeerRegion(std::shared_ptr<DeviceRegion> region) : base_(region->base()), kept_(std::move(region)) {}
  /// Of another process, opened; closed at the end.
  PeerRegion(GpuDriver* driver, int32_t device, void* opened)
      : driver_(driver), device_(device), base_(static_cast<std::byte*>(opened)) {}
  ~PeerRegion() { Leave(); }
  PeerRegion(PeerRegion&& other) noexcept { *this = std::move(other); }
  PeerRegion& operator=(PeerRegion&& other) noexcept;

  std::byte* base() const { return base_; }

 private:
  void Leave();

  GpuDriver* driver_ = nullptr;  // null: not to be closed
  int32_t device_ = -1;
  std::byte* base_ = nullptr;
  std::shared_ptr<DeviceRegion> kept_;
};

/// Copies between this process's memory and the device's, and waits for it. The device is pushed.
Status CopyNow(GpuDriver& driver, void* target, const void* source, size_t bytes, GpuStream stream);

}  // namespace mycel
