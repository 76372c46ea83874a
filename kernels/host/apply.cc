#include "kernels/host/apply.h"

#include "kernels/host/apply_tables.h"

namespace mycel {

ApplyFunction ApplyFor(DataType type, ReduceOp op) {
  switch (type) {
    case DataType::kFloat32:
    case DataType::kFloat64:
      return ApplyForFloating(type, op);
    case DataType::kFloat16:
    case DataType::kBfloat16:
      return ApplyForShortFloat(type, op);
    default:
      return ApplyForInteger(type, op);
  }
}

}  // namespace mycel
