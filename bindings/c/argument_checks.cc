#include "bindings/c/argument_checks.h"

#include <string>

#include "core/plan/types.h"

namespace mycel {

Status CheckType(mycelDataType_t type, const char* function) {
  if (static_cast<int>(type) >= 0 && static_cast<size_t>(type) < AllDataTypes().size()) return OkStatus();
  return InvalidArgument(std::string(function) + ": datatype " + std::to_string(static_cast<int>(type)) +
                         " is not one of mycelInt8 (0) ... mycelBfloat16 (9)");
}

Status CheckCount(uint64_t count, mycelDataType_t type, const char* function) {
  if (count <= (uint64_t{1} << 62) / SizeOf(static_cast<DataType>(type))) return OkStatus();
  return InvalidArgument(std::string(function) + ": count " + std::to_string(count) +
                         " times the type's size is beyond 2^62 bytes");
}

}  // namespace mycel
