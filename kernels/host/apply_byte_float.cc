// f8e4m3 and f8e5m2, accumulated in float32, for each instruction set.
#include "kernels/host/highway_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/host/apply_byte_float.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/host/apply-inl.h"
#include "kernels/host/apply_tables.h"
#include "kernels/host/byte_float_rules-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mycel {
namespace HWY_NAMESPACE {
namespace {

template <typename T>
ApplyFunction Choose(ReduceOp op) {
  switch (op) {
    case ReduceOp::kSum:
      return Reduce<T, ReduceOp::kSum>;
    case ReduceOp::kProd:
      return Reduce<T, ReduceOp::kProd>;
    case ReduceOp::kMax:
      return Reduce<T, ReduceOp::kMax>;
    case ReduceOp::kMin:
      return Reduce<T, ReduceOp::kMin>;
    case ReduceOp::kAvg:
      return Average<T, T>;
    default:
      return nullptr;  // for integers, or apply.cc's
  }
}

}  // namespace

ApplyFunction ChooseByteFloat(DataType type, ReduceOp op) {
  return type == DataType::kFloat8e4m3 ? Choose<E4m3>(op) : Choose<E5m2>(op);
}

}  // namespace HWY_NAMESPACE
}  // namespace mycel
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mycel {
HWY_EXPORT(ChooseByteFloat);
ApplyFunction ApplyForByteFloat(DataType type, ReduceOp op) { return HWY_DYNAMIC_DISPATCH(ChooseByteFloat)(type, op); }
}  // namespace mycel
#endif
