#include "core/plan/types.h"

#include <string>

namespace mycel {

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
#define MYCEL_REDUCE_OP(e, value, name) \
  case ReduceOp::e:                     \
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
#define MYCEL_REDUCE_OP(e, value, name) ReduceOp::e,
#include "core/plan/types.def"
  };
  return ops;
}

}  // namespace mycel
