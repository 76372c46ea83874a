// Between NCCL's types and Mycel's, which have the same values, and what this library itself refuses.
#pragma once

#include <cstring>

#include "bindings/c/mycel.h"
#include "bindings/nccl/nccl.h"

namespace mycel::nccl {

/// Refuses: the text, which begins with the function, is what ncclGetLastError tells until this thread's next call.
/// printf-like; long texts are cut. Inside a group, the first refusal makes its end refuse too.
[[gnu::format(printf, 2, 3)]] ncclResult_t Refuse(ncclResult_t result, const char* format, ...);
/// ncclInvalidUsage: `function` exists for programs that ask for it, and Mycel has nothing behind it; `cure` ends the
/// text.
ncclResult_t NotSupported(const char* function, const char* cure);
/// The text of this thread's last refusal; null when a later call went through.
const char* RefusalText();
/// This thread has made another call: what was refused before is over.
void ForgetRefusal();

/// This thread's open group, as far as this library refused a part of it.
void EnterGroup();
/// Leaves one level. At the outermost, of a group with a refusal: tells it again and returns its result; else success.
ncclResult_t LeaveGroup();

/// NCCL 2.28 has no value for two of Mycel's results. A deadline that passed is the others' failing; a communicator
/// that was aborted or revoked is used at the wrong time.
constexpr ncclResult_t ResultOf(mycelResult_t result) {
  switch (result) {
    case mycelTimeout:
      return ncclRemoteError;
    case mycelAborted:
      return ncclInvalidUsage;
    default:
      return static_cast<ncclResult_t>(result);
  }
}

/// Ends a function that Mycel has served.
inline ncclResult_t Served(mycelResult_t result) {
  ForgetRefusal();
  return ResultOf(result);
}

inline mycelComm_t CommOf(ncclComm_t comm) { return reinterpret_cast<mycelComm_t>(comm); }
inline mycelComm_t* CommOf(ncclComm_t* comm) { return reinterpret_cast<mycelComm_t*>(comm); }
inline mycelDataType_t TypeOf(ncclDataType_t type) { return static_cast<mycelDataType_t>(type); }
inline mycelRedOp_t OpOf(ncclRedOp_t op) { return static_cast<mycelRedOp_t>(op); }
inline mycelUniqueId IdOf(const ncclUniqueId& id) {
  mycelUniqueId same;
  static_assert(sizeof(same) == sizeof(id));
  std::memcpy(&same, &id, sizeof(same));
  return same;
}

}  // namespace mycel::nccl

/// Defines pncclX as another name of ncclX, which this source has defined.
#define MYCEL_NCCL_TWIN(name) \
  extern "C" __attribute__((alias("nccl" #name), visibility("default"))) decltype(nccl##name) pnccl##name;
