// Device: where the step loop runs. The host device runs it in the calling thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/plan/types.h"
#include "core/spi/launch.h"

namespace mycel {

class Device {
 public:
  virtual ~Device() = default;
  virtual std::string_view name() const = 0;
  /// The arithmetic for (type, op), to be put into Launch::kernel.
  virtual const void* KernelFor(DataType type, ReduceOp op) const = 0;
  /// output[e] = input[e] * *factor for elements of `type`, rounded as kProd is. Any alignment of elements; the buffers
  /// may be the same.
  virtual void Scale(DataType type, const void* factor, const void* input, void* output,
                     size_t count) const noexcept = 0;
  /// Whether kUser can run here: the program's functions are code of the host.
  virtual bool RunsUserFunctions() const = 0;
  /// Runs every lane of `launch` as far as it goes without waiting; polls a blocked lane at most `polls` times. Never
  /// blocks. One thread at a time per launch.
  virtual StepEvent Step(Launch& launch, int polls) const noexcept = 0;
  /// The channel (index into BoundProgram::channels) that the first unfinished lane waits for, or -1: for error texts.
  /// `*receives`: it waits for a message; else for room in the ring, or until what it sent has been read.
  virtual int32_t BlockedOn(const Launch& launch, bool* receives) const = 0;
};

}  // namespace mycel
