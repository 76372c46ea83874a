// The kernels of kernels/cuda and kernels/hip on a CPU: the very same source, each block emulated by the calling
// thread. What a GPU would run can so be tested without one.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/plan/type_codes.h"
#include "core/spi/device_launch.h"

namespace mycel {

/// What block `block` of `blocks` does in kernel DeviceEntryName(launch.type, launch.combines). Returns when the block
/// ends: its lanes are done, or a fault is reported. The blocks wait for each other and for other ranks, giving their
/// core away meanwhile: each needs a thread of its own.
void RunDeviceBlockOnHost(const DeviceLaunch& launch, int32_t block, int32_t blocks);

/// What all of kernel "mycel_scale" does.
void RunDeviceScaleOnHost(const DeviceScale& scale);

/// The block loops alone, as a block of `threads` threads goes through them, one after the other: outputs[j][e] =
/// inputs[0][e] (+) inputs[1][e] (+) ..., as kernels/host/apply.h says; `op` is not kUser. For tests.
void ApplyAsBlock(DataType type, ReduceOp op, bool finish, int32_t rank_count, const void* const* inputs,
                  int input_count, void* const* outputs, int output_count, size_t count, int threads);
void CopyAsBlock(const void* input, void* const* outputs, int output_count, size_t bytes, int threads);

}  // namespace mycel
