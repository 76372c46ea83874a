// The parts of ApplyFor, one per source file so that they compile side by side.
#pragma once

#include "kernels/host/apply.h"

namespace mycel {

ApplyFunction ApplyForFloating(DataType type, ReduceOp op);    // float32, float64
ApplyFunction ApplyForShortFloat(DataType type, ReduceOp op);  // float16, bfloat16
ApplyFunction ApplyForByteFloat(DataType type, ReduceOp op);   // f8e4m3, f8e5m2
ApplyFunction ApplyForInteger(DataType type, ReduceOp op);
/// An ApplyFunction: options.user of any type.
void ApplyUser(const void* const* inputs, int input_count, void* const* outputs, int output_count, size_t count,
               const ApplyOptions& options);

}  // namespace mycel
