// The parts of ApplyFor, one per source file so that they compile side by side.
#pragma once

#include "kernels/host/apply.h"

namespace mycel {

ApplyFunction ApplyForFloating(DataType type, ReduceOp op);    // float32, float64
ApplyFunction ApplyForShortFloat(DataType type, ReduceOp op);  // float16, bfloat16
ApplyFunction ApplyForInteger(DataType type, ReduceOp op);

}  // namespace mycel
