// Element types and reduction operations as numbers, generated from types.def: plain enough for device code. Their
// names and what is allowed with what: types.h.
#pragma once

#include <cstddef>
#include <cstdint>

namespace mycel {

enum class DataType : uint8_t {
#define MYCEL_TYPE(e, value, name, bytes, storage, kind) e = value,
#include "core/plan/types.def"
};

enum class ReduceOp : uint8_t {
#define MYCEL_REDUCE_OP(e, value, name, types) e = value,
#define MYCEL_DYNAMIC_OP(e, value, name) e = value,
#include "core/plan/types.def"
};

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

}  // namespace mycel
