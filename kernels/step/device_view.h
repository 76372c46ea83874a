// DeviceView: a DeviceLaunch as the step loop asks for it: the members that Launch has for the host's loop.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/spi/device_launch.h"
#include "kernels/device/annotations.h"

namespace mycel::step {

/// `kElementType`: what the kernel combines. `kHasArithmetic`: false for the kernel that only moves bytes.
template <typename D, DataType kElementType, bool kHasArithmetic>
class DeviceView {
 public:
  static constexpr DataType kType = kElementType;
  static constexpr bool kCombines = kHasArithmetic;
  static constexpr bool kFetches = false;
  static constexpr bool stream_outputs = false;

  /// `runs`: how often the launch's lanes have run before. `spins`: polls of one operand before the block hears of it.
  MYCEL_DEVICE DeviceView(const DeviceLaunch& launch, uint64_t runs, int spins)
      : kSpins(spins),
        bases(launch.bases),
        element_bytes(launch.element_bytes),
        signature(launch.signature),
        launch_(launch),
        runs_(runs) {}

  const int kSpins;
  std::byte* const* const bases;
  const size_t element_bytes;
  const uint32_t signature;

  MYCEL_DEVICE const DeviceLaunch& launch() const { return launch_; }
  MYCEL_DEVICE uint64_t runs() const { return runs_; }
  MYCEL_DEVICE const BoundLane& Lane(int32_t index) const { return launch_.lanes[index]; }
  MYCEL_DEVICE const BoundInstruction& InstructionAt(int32_t index) const { return launch_.instructions[index]; }
  MYCEL_DEVICE const BoundOperand* OperandsOf(const BoundInstruction& in) const {
    return launch_.operands + in.operands;
  }
  MYCEL_DEVICE const BoundWait& WaitAt(int32_t index) const { return launch_.waits[index]; }
  MYCEL_DEVICE ChannelEnd& ChannelOf(int32_t channel) const { return *launch_.channels[channel]; }
  MYCEL_DEVICE Protocol protocol() const { return launch_.protocol; }
  MYCEL_DEVICE int64_t slice_bytes() const { return launch_.slice_bytes; }
  MYCEL_DEVICE int32_t slot_count() const { return launch_.slot_count; }

  /// A ring whose slot geometry changes must drain first.
  MYCEL_DEVICE void ClaimRing(ChannelEnd& end) const {
    if (end.geometry == launch_.geometry) return;
    end.drain = end.geometry != 0;
    end.geometry = launch_.geometry;
  }
  MYCEL_DEVICE const void* PeerMemory(int32_t channel, const ChannelEnd& /*end*/, uint64_t address,
                                      int64_t bytes) const {
    if (launch_.peer_ranges == nullptr) return reinterpret_cast<const void*>(static_cast<uintptr_t>(address));
    for (int32_t i = launch_.peer_ranges_first[channel]; i < launch_.peer_ranges_first[channel + 1]; ++i) {
      const PeerRange& range = launch_.peer_ranges[i];
      if (address < range.address || address - range.address > range.bytes) continue;
      if (range.bytes - (address - range.address) < static_cast<uint64_t>(bytes)) continue;
      return reinterpret_cast<const void*>(static_cast<uintptr_t>(address + static_cast<uint64_t>(range.shift)));
    }
    return nullptr;
  }
  MYCEL_DEVICE void NoteMismatch(int32_t channel, uint32_t of_message) {
    Report(DeviceFault::kMismatch, lane_, channel, of_message, true);
  }
  MYCEL_DEVICE void NoteUnreadable(int32_t channel) { Report(DeviceFault::kUnmapped, lane_, channel, 0, true); }
  /// For the reports that follow.
  MYCEL_DEVICE void SetLane(int32_t lane) { lane_ = lane; }

  MYCEL_DEVICE bool IsLaneDone(int32_t lane) const {
    // acquire: pairs with the release in RunBlock, which follows all that the lane did.
    return D::LoadAcquireLane(launch_.lane_states[lane].runs) > runs_;
  }
  /// The counts of earlier launches are taken off.
  MYCEL_DEVICE uint64_t FinishedOf(int32_t instruction) const {
    // acquire: pairs with the release in Finish; what the instruction wrote is visible after this.
    return D::LoadAcquireLane(launch_.finished[instruction]) -
           runs_ * static_cast<uint64_t>(launch_.instructions[instruction].slicing.slices);
  }
  MYCEL_DEVICE void Finish(int32_t instruction) {
    if (launch_.finished == nullptr || D::Thread() != 0) return;
    uint64_t& word = launch_.finished[instruction];  // writer: the block of the instruction's lane
    // release: publishes what the block has written; pairs with the acquire in FinishedOf.
    D::StoreReleaseLane(word, word + 1);
  }
  /// Writes the report unless there is one. One thread of a block calls it.
  MYCEL_DEVICE void Report(DeviceFault code, int32_t lane, int32_t channel, uint32_t of_message, bool receives) const {
    if (!D::Claim(*launch_.claimed)) return;
    DeviceReport& report = *launch_.report;
    report.lane = lane;
    report.channel = channel;
    report.peer = channel < 0 ? -1 : ChannelOf(channel).peer;
    report.step = channel < 0 ? 0 : ChannelOf(channel).step;
    report.signature = of_message;
    report.receives = receives ? 1 : 0;
    // release: publishes the fields above; pairs with the host's acquire.
    D::StoreFlagRelease(report.code, static_cast<uint32_t>(code));
  }

 private:
  const DeviceLaunch& launch_;
  const uint64_t runs_;
  int32_t lane_ = -1;
};

}  // namespace mycel::step
