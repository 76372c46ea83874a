#include "bindings/c/argument_checks.h"

#include <string>

#include "bindings/c/handle.h"
#include "core/plan/types.h"

namespace mycel {

Status CheckType(mycelDataType_t type, const char* function) {
  const auto value = static_cast<int64_t>(type);
  if ((value >= 0 && value <= static_cast<int64_t>(DataType::kFloat8e5m2)) || IsDataType(value)) [[likely]]
    return OkStatus();
  return InvalidArgument(std::string(function) + ": datatype " + std::to_string(value) +
                         " is not one of mycelInt8 (0) ... mycelFloat8e5m2 (11), mycelInt16 (32), mycelUint16 (33)");
}

Status CheckPeer(int peer, const mycelComm& comm, const char* name, const char* function) {
  if (peer >= 0 && peer < comm.rank_count) return OkStatus();
  return InvalidArgument(std::string(function) + ": " + name + " " + std::to_string(peer) + " is not a rank of 0.." +
                         std::to_string(comm.rank_count - 1));
}

Status CheckCount(uint64_t count, mycelDataType_t type, const char* function) {
  if (count <= (uint64_t{1} << 62) / SizeOf(static_cast<DataType>(type))) return OkStatus();
  return InvalidArgument(std::string(function) + ": count " + std::to_string(count) +
                         " times the type's size is beyond 2^62 bytes");
}

}  // namespace mycel
