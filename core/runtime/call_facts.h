// CallFacts: what served a call, for people and for tests.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "core/spi/launch.h"

namespace mycel {

struct CallFacts {
  uint64_t operation = 0;  // number of the last collective
  std::string call;        // "allreduce(count 1000, float, sum)"
  std::string planner;     // "none" for messages, which need no plan
  std::string transport;   // "none" for one rank
  Protocol protocol = Protocol::kSlot;
  int32_t lanes = 0;   // of this rank
  int64_t slices = 0;  // of the longest instruction
  int64_t slice_bytes = 0;
  int32_t slot_count = 0;
  uint64_t plan_hash = 0;  // equal on all ranks; 0 without a plan

  void SetProgram(const BoundProgram& program) {
    protocol = program.protocol;
    lanes = static_cast<int32_t>(program.lanes.size());
    slices = 1;
    for (const BoundInstruction& instruction : program.instructions) {
      slices = std::max(slices, instruction.slicing.slices);
    }
    slice_bytes = program.slice_bytes;
    slot_count = program.slot_count;
  }
};

}  // namespace mycel
