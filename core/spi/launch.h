// Launch: a program bound to buffers, a count and channels: what hop 7 runs. Plain data, so that a GPU kernel, the host
// loop and the simulator take the same struct.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/plan/protocol.h"
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
};

}  // namespace mycel
