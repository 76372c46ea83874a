// Launch: a program bound to buffers, a count and channels: what hop 7 runs. Plain data, so that a GPU kernel, the host
// loop and the simulator take the same struct.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "core/plan/plan.h"
#include "core/spi/channel.h"
#include "core/spi/step_trace.h"
#include "core/spi/user_reduction.h"

namespace mycel {

/// Where an operand's first byte is found.
enum class OperandBase : uint8_t { kSend, kRecv, kScratch, kAbsolute, kChannel };
inline constexpr int kMemoryBases = 4;

struct BoundOperand {
  OperandBase base;
  uint8_t pad;
  Rails rails;      // output kChannel
  int32_t channel;  // kChannel: index into Launch::channels
  int64_t offset;   // bytes from the base (kAbsolute: the address)
};
static_assert(sizeof(BoundOperand) == 16 && std::is_trivially_copyable_v<BoundOperand>);

struct BoundInstruction {
  int64_t elements;
  ChunkSlicing slicing;
  int32_t skew;
  int32_t operands;  // first in `operands`; inputs then outputs
  int32_t waits;
  int16_t inputs;
  int16_t outputs;
  int16_t wait_count;
  int16_t finish;
  uint32_t salt;  // added to Launch::signature: tells the messages of one launch apart (sends of different types)
};
static_assert(sizeof(BoundInstruction) == 56 && std::is_trivially_copyable_v<BoundInstruction>);

struct BoundLane {
  int32_t first;  // in `instructions`
  int32_t count;
  int32_t after;  // lane that must be done before this one starts (sends in order), or -1
  int32_t pad;
  int64_t iterations;  // slices + largest skew
};

struct BoundWait {
  int32_t lane;
  int32_t instruction;  // absolute index
};

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
};

/// Progress of one lane. Lives in memory that only the lane's executor writes.
struct LaneState {
  int64_t iteration = 0;
  int32_t pc = 0;  // next instruction of the body
  bool done = false;
};

enum class StepEvent : uint8_t {
  kIdle,      // nothing was ready
  kProgress,  // something ran, more is to come
  kDone,      // all lanes done
  kMismatch,  // a message carries another operation's signature; see Launch::fault_*
  kFailed,    // a direct read failed; see Launch::fault_*
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
