#include "kernels/host/apply.h"

#include <algorithm>
#include <cstring>

#include "core/base/check.h"
#include "kernels/host/apply_tables.h"

namespace mycel {

ApplyFunction ApplyFor(DataType type, ReduceOp op) {
  if (op == ReduceOp::kUser) return ApplyUser;
  if (op == ReduceOp::kPreMulSum) op = ReduceOp::kSum;  // of products that were made before
  MYCEL_CHECK(Allows(op, type));
  switch (type) {
    case DataType::kFloat32:
    case DataType::kFloat64:
      return ApplyForFloating(type, op);
    case DataType::kFloat16:
    case DataType::kBfloat16:
      return ApplyForShortFloat(type, op);
    case DataType::kFloat8e4m3:
    case DataType::kFloat8e5m2:
      return ApplyForByteFloat(type, op);
    default:
      return ApplyForInteger(type, op);
  }
}

void ScaleElements(DataType type, const void* factor, const void* input, void* output, size_t count) {
  // A product of two inputs, the second of which says one element again and again.
  constexpr size_t kPieceBytes = 2048;
  const size_t element_bytes = SizeOf(type);
  const size_t piece = std::min(count, kPieceBytes / element_bytes);
  alignas(64) std::byte factors[kPieceBytes];
  for (size_t e = 0; e < piece; ++e) std::memcpy(factors + e * element_bytes, factor, element_bytes);
  const ApplyFunction multiply = ApplyFor(type, ReduceOp::kProd);
  for (size_t done = 0; done < count; done += piece) {
    const size_t elements = std::min(piece, count - done);
    const void* inputs[] = {static_cast<const std::byte*>(input) + done * element_bytes, factors};
    void* to = static_cast<std::byte*>(output) + done * element_bytes;
    multiply(inputs, 2, &to, 1, elements, {});
  }
}

}  // namespace mycel
