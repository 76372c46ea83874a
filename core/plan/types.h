// Element types and reduction operations, generated from types.def.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"
#include "core/plan/type_codes.h"

namespace mycel {

enum class TypeKind : uint8_t { kSigned, kUnsigned, kFloating };

TypeKind KindOf(DataType type);
/// nccl-tests' names: "float", "half", "int8", ...
std::string_view NameOf(DataType type);
std::string_view NameOf(ReduceOp op);
/// InvalidArgument naming the accepted names; also takes "float32", "float16", "float64".
StatusOr<DataType> ParseDataType(std::string_view name);
StatusOr<ReduceOp> ParseReduceOp(std::string_view name);
const std::vector<DataType>& AllDataTypes();
/// Without the kinds that a program makes at run time.
const std::vector<ReduceOp>& AllReduceOps();
/// Whether `value` is a DataType's; whether it is one of AllReduceOps().
bool IsDataType(int64_t value);
bool IsReduceOp(int64_t value);

/// Whether `op` has a meaning for `type`: bitwise operations are for integers.
bool Allows(ReduceOp op, DataType type);
/// AllDataTypes() that `op` allows, "int8 uint8 ...": for error texts.
std::string NamesOfTypesFor(ReduceOp op);
/// AllReduceOps() that `type` allows.
std::vector<ReduceOp> ReduceOpsFor(DataType type);

}  // namespace mycel
