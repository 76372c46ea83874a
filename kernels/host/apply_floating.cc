// float32 and float64, for each instruction set.
#include "kernels/host/highway_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/host/apply_floating.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/host/apply-inl.h"
#include "kernels/host/apply_tables.h"
#include "kernels/host/floating_rules-inl.h"

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

ApplyFunction ChooseFloating(DataType type, ReduceOp op) {
  return type == DataType::kFloat32 ? Choose<float>(op) : Choose<double>(op);
}

}  // namespace HWY_NAMESPACE
}  // namespace mycel
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mycel {
HWY_EXPORT(ChooseFloating);
ApplyFunction ApplyForFloating(DataType type, ReduceOp op) { return HWY_DYNAMIC_DISPATCH(ChooseFloating)(type, op); }
}  // namespace mycel
#endif
