#include "core/plan/types.h"

#include <algorithm>
#include <string>

namespace mycel {

namespace {

/// The types that an operation is for, as types.def names them.
enum class TypeSet : uint8_t { kEvery, kIntegers };

TypeSet TypeSetOf(ReduceOp op) {
  switch (op) {
#define MYCEL_REDUCE_OP(e, value, name, types) \
  case ReduceOp::e:                            \
    return TypeSet::types;
#define MYCEL_DYNAMIC_OP(e, value, name) \
  case ReduceOp::e:                      \
    return TypeSet::kEvery;
#include "core/plan/types.def"
  }
  return TypeSet::kEvery;
}

}  // namespace

TypeKind KindOf(DataType type) {
  switch (type) {
#define MYCEL_TYPE(e, value, name, bytes, storage, kind) \
  case DataType::e:                                      \
    return TypeKind::kind;
#include "core/plan/types.def"
  }
  return TypeKind::kSigned;
}

std::string_view NameOf(DataType type) {
  switch (type) {
#define MYCEL_TYPE(e, value, name, bytes, storage, kind) \
  case DataType::e:                                      \
    return name;
#include "core/plan/types.def"
  }
  return "?";
}

std::string_view NameOf(ReduceOp op) {
  switch (op) {
#define MYCEL_REDUCE_OP(e, value, name, types) \
  case ReduceOp::e:                            \
    return name;
#define MYCEL_DYNAMIC_OP(e, value, name) \
  case ReduceOp::e:                      \
    return name;
#include "core/plan/types.def"
  }
  return "?";
}

StatusOr<DataType> ParseDataType(std::string_view name) {
  if (name == "float32") return DataType::kFloat32;
  if (name == "float16") return DataType::kFloat16;
  if (name == "float64") return DataType::kFloat64;
  std::string known;
  for (DataType type : AllDataTypes()) {
    if (NameOf(type) == name) return type;
    known += (known.empty() ? "" : " ") + std::string(NameOf(type));
  }
  return InvalidArgument("unknown data type '" + std::string(name) + "'; use one of: " + known);
}

StatusOr<ReduceOp> ParseReduceOp(std::string_view name) {
  std::string known;
  for (ReduceOp op : AllReduceOps()) {
    if (NameOf(op) == name) return op;
    known += (known.empty() ? "" : " ") + std::string(NameOf(op));
  }
  return InvalidArgument("unknown reduction '" + std::string(name) + "'; use one of: " + known);
}

const std::vector<DataType>& AllDataTypes() {
  static const std::vector<DataType> types = {
#define MYCEL_TYPE(e, value, name, bytes, storage, kind) DataType::e,
#include "core/plan/types.def"
  };
  return types;
}

const std::vector<ReduceOp>& AllReduceOps() {
  static const std::vector<ReduceOp> ops = {
#define MYCEL_REDUCE_OP(e, value, name, types) ReduceOp::e,
#include "core/plan/types.def"
  };
  return ops;
}

bool IsDataType(int64_t value) {
  const std::vector<DataType>& types = AllDataTypes();
  return std::any_of(types.begin(), types.end(),
                     [value](DataType type) { return static_cast<int64_t>(type) == value; });
}

bool IsReduceOp(int64_t value) {
  const std::vector<ReduceOp>& ops = AllReduceOps();
  return std::any_of(ops.begin(), ops.end(), [value](ReduceOp op) { return static_cast<int64_t>(op) == value; });
}

bool Allows(ReduceOp op, DataType type) {
  return TypeSetOf(op) == TypeSet::kEvery || KindOf(type) != TypeKind::kFloating;
}

std::string NamesOfTypesFor(ReduceOp op) {
  std::string names;
  for (const DataType type : AllDataTypes()) {
    if (Allows(op, type)) names += (names.empty() ? "" : " ") + std::string(NameOf(type));
  }
  return names;
}

std::vector<ReduceOp> ReduceOpsFor(DataType type) {
  std::vector<ReduceOp> ops;
  for (const ReduceOp op : AllReduceOps()) {
    if (Allows(op, type)) ops.push_back(op);
  }
  return ops;
}

}  // namespace mycel
