// Element types and reduction operations, generated from types.def.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/base/status.h"

namespace mycel {

enum class DataType : uint8_t {
#define MYCEL_TYPE(e, value, name, bytes, storage, kind) e = value,
#include "core/plan/types.def"
};

enum class ReduceOp : uint8_t {
#define MYCEL_REDUCE_OP(e, value, name) e = value,
#include "core/plan/types.def"
};

enum class TypeKind : uint8_t { kSigned, kUnsigned, kFloating };

/// Bytes of one element.
constexpr size_t SizeOf(DataType type) {
  switch (type) {
#define MYCEL_TYPE(e, value, name, bytes, storage, kind) \
  case DataType::e:                                      \
    return bytes;
#include "core/plan/types.def"
  }
  return 0;
}

TypeKind KindOf(DataType type);
/// nccl-tests' names: "float", "half", "int8", ...
std::string_view NameOf(DataType type);
std::string_view NameOf(ReduceOp op);
/// InvalidArgument naming the accepted names; also takes "float32", "float16", "float64".
StatusOr<DataType> ParseDataType(std::string_view name);
StatusOr<ReduceOp> ParseReduceOp(std::string_view name);
const std::vector<DataType>& AllDataTypes();
const std::vector<ReduceOp>& AllReduceOps();

}  // namespace mycel
