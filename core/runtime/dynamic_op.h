// DynamicOp: what a call has beside the kind of an operation that the program made at run time.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/plan/types.h"
#include "core/spi/user_reduction.h"

namespace mycel {

/// Lives until the call has ended.
struct DynamicOp {
  ReduceOp kind = ReduceOp::kPreMulSum;
  // kPreMulSum: this rank's factor, one element of `type`. `factor_at`: read when the operation begins; else `factor`.
  DataType type = DataType::kFloat32;
  alignas(8) std::byte factor[8] = {};
  const void* factor_at = nullptr;
  // kUser
  UserReduction user;  // without element_bytes, which the call's type says
  bool commutes = true;
};

}  // namespace mycel
