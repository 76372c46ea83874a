// What a bound program is made of: lanes, instructions, operands, waits. Plain data, the same bytes for the host's loop
// (launch.h) and for a kernel (device_launch.h).
#pragma once

#include <cstdint>
#include <type_traits>

#include "core/plan/protocol.h"
#include "core/plan/slicing.h"

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

}  // namespace mycel
