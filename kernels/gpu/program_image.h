// A bound program as flat arrays in one piece of memory, for DeviceLaunch.
#pragma once

#include <cstddef>
#include <vector>

#include "core/spi/device_launch.h"
#include "core/spi/launch.h"

namespace mycel {

/// Where each array begins in the piece.
struct ImageLayout {
  size_t lanes = 0;
  size_t instructions = 0;
  size_t operands = 0;
  size_t waits = 0;
  size_t channels = 0;
  size_t lane_states = 0;
  size_t finished = 0;
  size_t bytes = 0;
};
ImageLayout LayoutOf(const BoundProgram& program);

/// Writes the arrays to `target`, as a device will find them that sees the piece at `base`; progress is zero.
/// `ends[c]`: where the device has the end of the program's channel c.
void WriteImage(const BoundProgram& program, const ImageLayout& layout, const std::vector<ChannelEnd*>& ends,
                std::byte* target);

/// What follows from the program alone.
struct ImageFacts {
  bool combines = false;     // an instruction has several inputs, or finishes
  int64_t elements_max = 0;  // of one instruction
  int32_t lanes = 0;
};
ImageFacts FactsOf(const BoundProgram& program);

/// The launch's pointers into the piece at `base`; what else it has is left alone. Operands may lie elsewhere.
void PointInto(std::byte* base, const ImageLayout& layout, const BoundProgram& program, DeviceLaunch* launch);

}  // namespace mycel
