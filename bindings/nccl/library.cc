// Version, error texts, memory and groups.
#include <cstddef>

#include "bindings/nccl/border.h"
#include "bindings/nccl/device_api.h"

using mycel::nccl::CommOf;
using mycel::nccl::EnterGroup;
using mycel::nccl::LeaveGroup;
using mycel::nccl::RefusalText;
using mycel::nccl::Refuse;
using mycel::nccl::Served;

namespace {

constexpr unsigned kSimInfoMagic = 0x74685283U;
constexpr size_t kSimInfoSizeLeast = offsetof(ncclSimInfo_t, estimatedTime) + sizeof(float);

}  // namespace

extern "C" {

ncclResult_t ncclGetVersion(int* version) {
  if (version == nullptr) return Refuse(ncclInvalidArgument, "ncclGetVersion: version is NULL");
  *version = MYCEL_NCCL_VERSION;
  return Served(mycelSuccess);
}

const char* ncclGetErrorString(ncclResult_t result) {
  const int value = static_cast<int>(result);
  return value >= 0 && value < ncclNumResults ? mycelGetErrorString(static_cast<mycelResult_t>(value))
                                              : "unknown result";
}

const char* ncclGetLastError(ncclComm_t comm) {
  if (const char* refusal = RefusalText(); refusal != nullptr) return refusal;
  const char* of_comm = comm == nullptr ? "" : mycelGetLastError(CommOf(comm));
  return of_comm[0] != '\0' ? of_comm : mycelGetLastError(nullptr);
}

void ncclResetDebugInit(void) {}

void ncclResetDebugInitInternal(void) {}

ncclResult_t ncclMemAlloc(void** ptr, size_t size) { return Served(mycelMemAlloc(ptr, size)); }

ncclResult_t ncclMemFree(void* ptr) { return Served(mycelMemFree(ptr)); }

ncclResult_t ncclGroupStart(void) {
  const ncclResult_t result = Served(mycelGroupStart());
  if (result == ncclSuccess) EnterGroup();
  return result;
}

ncclResult_t ncclGroupEnd(void) {
  if (const ncclResult_t refused = LeaveGroup(); refused != ncclSuccess) {
    (void)mycelGroupSimulateEnd(nullptr);  // forgets the rest
    return refused;
  }
  return Served(mycelGroupEnd());
}

ncclResult_t ncclGroupSimulateEnd(ncclSimInfo_t* simInfo) {
  double microseconds = 0;
  const ncclResult_t refused = LeaveGroup();
  const mycelResult_t ended = mycelGroupSimulateEnd(&microseconds);
  if (refused != ncclSuccess) return refused;
  if (ended != mycelSuccess || simInfo == nullptr) return Served(ended);
  if (simInfo->magic != kSimInfoMagic || simInfo->size < kSimInfoSizeLeast) {
    return Refuse(ncclInvalidArgument,
                  "ncclGroupSimulateEnd: simInfo is no ncclSimInfo_t (size %zu, magic 0x%x); begin with "
                  "NCCL_SIM_INFO_INITIALIZER",
                  simInfo->size, simInfo->magic);
  }
  simInfo->estimatedTime = static_cast<float>(microseconds);
  return Served(ended);
}

}  // extern "C"

#define MYCEL_NCCL_LIBRARY(name) MYCEL_NCCL_TWIN(name)
#include "bindings/nccl/symbols.def"
