// Launch: a program bound to buffers, a count and channels: what hop 7 runs. Plain data, so that a GPU kernel, the host
// loop and the simulator take the same struct.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/plan/plan.h"
#include "core/spi/bound.h"
#include "core/spi/channel.h"
#include "core/spi/step_trace.h"
#include "core/spi/user_reduction.h"

namespace mycel {

/// v-collectives: a memory operand lies `within` bytes into the block at `place` of its buffer, and each call says anew
/// where its blocks begin (PlaceBlocks in core/runtime/bind.h).
struct BoundPlace {
  int32_t operand;  // index into BoundProgram::operands
  int32_t place;
  int64_t within;
};

/// Made once per (program, count, type); the arrays never change while a launch uses them.
struct BoundProgram {
  std::vector<BoundLane> lanes;
  std::vector<BoundInstruction> instructions;
  std::vector<BoundOperand> operands;
  std::vector<BoundWait> waits;
  std::vector<ChannelEnd*> channels;   // by local channel number
  std::vector<int32_t> send_channels;  // those this rank writes
  std::vector<BoundPlace> places;      // v-collectives only
  Protocol protocol = Protocol::kSlot;
  int64_t slice_bytes = 0;
  int32_t slot_count = 0;
  size_t scratch_bytes = 0;
  mutable std::shared_ptr<void> on_device;  // a StreamDevice's copy of the arrays, made at the first launch
};

struct Launch {
  const BoundProgram* program = nullptr;
  std::byte* bases[kMemoryBases] = {};  // by OperandBase
  const void* kernel = nullptr;         // Device::KernelFor(type, op)
  const UserReduction* user = nullptr;  // the arithmetic where op is kUser
  size_t element_bytes = 0;
  int32_t rank_count = 1;
  uint32_t signature = 0;
  bool stream_outputs = false;   // user buffers larger than the cache: non-temporal stores
  LaneState* lanes = nullptr;    // one per BoundLane
  uint64_t* finished = nullptr;  // slices done, per instruction; only used where the program has waits
  /// kDirect across address spaces: copies from the peer; returns false on failure.
  bool (*direct_read)(void* context, int32_t peer, uint64_t address, void* target, size_t bytes) = nullptr;
  void* direct_context = nullptr;
  std::byte* bounce = nullptr;  // kDirect: slice_bytes per input of the widest instruction
  StepTrace* trace = nullptr;   // notes every step, if given

  // Written by the step loop.
  int32_t fault_channel = -1;
  uint32_t fault_signature = 0;  // of the message that does not belong to this operation
  bool direct_failed = false;

  // What the step loop asks of a launch, whichever device's: kernels/step/device_view.h has the same members.
  static constexpr bool kCombines = true;  // has arithmetic
  static constexpr bool kFetches = true;   // kDirect: has direct_read
  static constexpr int kSpins = 0;         // polls of one operand before the rest of the loop hears of it
  const BoundLane& Lane(int32_t index) const { return program->lanes[static_cast<size_t>(index)]; }
  const BoundInstruction& InstructionAt(int32_t index) const {
    return program->instructions[static_cast<size_t>(index)];
  }
  const BoundOperand* OperandsOf(const BoundInstruction& in) const { return program->operands.data() + in.operands; }
  const BoundWait& WaitAt(int32_t index) const { return program->waits[static_cast<size_t>(index)]; }
  ChannelEnd& ChannelOf(int32_t channel) const { return *program->channels[static_cast<size_t>(channel)]; }
  Protocol protocol() const { return program->protocol; }
  int64_t slice_bytes() const { return program->slice_bytes; }
  int32_t slot_count() const { return program->slot_count; }
  /// The runtime claims rings beforehand (ClaimRings in core/runtime/bind.h).
  void ClaimRing(ChannelEnd& /*end*/) const {}
  /// kDirect: where `bytes` at the peer's `address` can be read; null: they have to be fetched.
  const void* PeerMemory(int32_t /*channel*/, const ChannelEnd& end, uint64_t address, int64_t /*bytes*/) const {
    return end.same_address_space ? reinterpret_cast<const void*>(static_cast<uintptr_t>(address)) : nullptr;
  }
  void NoteMismatch(int32_t channel, uint32_t of_message) {
    fault_channel = channel;
    fault_signature = of_message;
  }
  void NoteUnreadable(int32_t channel) {
    fault_channel = channel;
    direct_failed = true;
  }
  bool IsLaneDone(int32_t lane) const { return lanes[lane].done; }
  /// Slices of an instruction that are done, of this launch.
  uint64_t FinishedOf(int32_t instruction) const { return finished[instruction]; }
  void Finish(int32_t instruction) {
    if (finished != nullptr) ++finished[instruction];
  }
};

}  // namespace mycel
