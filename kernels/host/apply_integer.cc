// Integers, for each instruction set. Wrapping sums and products do not depend on the sign: the unsigned code serves
// both.
#include "kernels/host/highway_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/host/apply_integer.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <type_traits>

#include "kernels/host/apply-inl.h"
#include "kernels/host/apply_tables.h"
#include "kernels/host/integer_rules-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mycel {
namespace HWY_NAMESPACE {
namespace {

template <typename T>
ApplyFunction Choose(ReduceOp op) {
  using U = std::make_unsigned_t<T>;
  switch (op) {
    case ReduceOp::kSum:
      return Reduce<U, ReduceOp::kSum>;
    case ReduceOp::kProd:
      return Reduce<U, ReduceOp::kProd>;
    case ReduceOp::kMax:
      return Reduce<T, ReduceOp::kMax>;
    case ReduceOp::kMin:
      return Reduce<T, ReduceOp::kMin>;
    case ReduceOp::kAvg:
      return Average<T, U>;
    case ReduceOp::kBand:
      return Reduce<U, ReduceOp::kBand>;
    case ReduceOp::kBor:
      return Reduce<U, ReduceOp::kBor>;
    case ReduceOp::kBxor:
      return Reduce<U, ReduceOp::kBxor>;
    case ReduceOp::kPreMulSum:
    case ReduceOp::kUser:
      break;  // apply.cc
  }
  return nullptr;
}

}  // namespace

ApplyFunction ChooseInteger(DataType type, ReduceOp op) {
  switch (type) {
    case DataType::kInt8:
      return Choose<int8_t>(op);
    case DataType::kUint8:
      return Choose<uint8_t>(op);
    case DataType::kInt16:
      return Choose<int16_t>(op);
    case DataType::kUint16:
      return Choose<uint16_t>(op);
    case DataType::kInt32:
      return Choose<int32_t>(op);
    case DataType::kUint32:
      return Choose<uint32_t>(op);
    case DataType::kInt64:
      return Choose<int64_t>(op);
    default:
      return Choose<uint64_t>(op);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace mycel
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mycel {
HWY_EXPORT(ChooseInteger);
ApplyFunction ApplyForInteger(DataType type, ReduceOp op) { return HWY_DYNAMIC_DISPATCH(ChooseInteger)(type, op); }
}  // namespace mycel
#endif
