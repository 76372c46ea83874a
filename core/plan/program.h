// Program: one rank's slice of a plan as POD instructions, ready for the step loop of any device. Encoded once per plan
// (encode.h); binding it to buffers and a count (core/runtime/bind.h) touches no heap in steady state.
#pragma once

#include <cstdint>
#include <type_traits>
#include <vector>

#include "core/plan/plan.h"

namespace mycel {

enum class OperandKind : uint8_t { kSend, kRecv, kScratch, kChannel };

/// 16 bytes. Memory: the chunk starts `place` blocks into the buffer (regular) plus the op's unit offset.
struct InstructionOperand {
  OperandKind kind;
  uint8_t pad;
  Rails rails;    // output kChannel
  int32_t index;  // kSend/kRecv: place of the block in the buffer; kScratch: cell; kChannel: local channel number
  int64_t base;   // kScratch: first unit of the cell (the chunk lies begin - base units into it); else 0
};
static_assert(sizeof(InstructionOperand) == 16 && std::is_trivially_copyable_v<InstructionOperand>);

struct Instruction {
  int32_t block;  // logical block (for v-collectives' unit counts)
  int32_t skew;
  int64_t begin;  // units
  int64_t end;
  int32_t operands;  // first in Program::operands; inputs then outputs
  int16_t inputs;
  int16_t outputs;
  int32_t waits;
  int16_t wait_count;
  int16_t finish;
};
static_assert(sizeof(Instruction) == 40 && std::is_trivially_copyable_v<Instruction>);

struct ProgramLane {
  int32_t instructions;  // first in Program::instructions
  int32_t instruction_count;
  int32_t skew_max;
  int32_t pad;
  int64_t units_max;  // largest chunk of this lane number over ALL ranks, in units
};

struct ProgramWait {
  int32_t lane;
  int32_t instruction;  // index within that lane
};

/// A channel this rank writes (source side) or reads (target side).
struct ProgramChannel {
  int32_t peer;
  int32_t index;
  bool sends;  // true: this rank is the source
};

struct Program {
  Collective collective = Collective::kAllReduce;
  int32_t rank = 0;
  int32_t rank_count = 0;
  int32_t root = -1;
  int64_t units_per_block = 1;
  std::vector<int64_t> block_units;  // v-collectives
  Protocol protocol = Protocol::kSlot;
  int64_t slice_bytes = 0;
  int32_t slot_count = 0;
  uint64_t plan_hash = 0;
  std::vector<ProgramLane> lanes;
  std::vector<Instruction> instructions;
  std::vector<InstructionOperand> operands;
  std::vector<ProgramWait> waits;
  std::vector<ProgramChannel> channels;
  std::vector<ScratchCell> scratch;
};

std::string ToText(const Program& program);

}  // namespace mycel
