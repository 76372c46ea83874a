// Communicators, and memory that is registered with them.
#include "bindings/nccl/border.h"
#include "bindings/nccl/config.h"

using mycel::nccl::CommOf;
using mycel::nccl::Config;
using mycel::nccl::IdOf;
using mycel::nccl::ReadConfig;
using mycel::nccl::Refuse;
using mycel::nccl::ResultOf;
using mycel::nccl::Served;

namespace {

constexpr int kDeviceOfHost = -1;  // cudaCpuDeviceId

mycelWindow_t WindowOf(ncclWindow_t win) { return reinterpret_cast<mycelWindow_t>(win); }

}  // namespace

extern "C" {

ncclResult_t ncclGetUniqueId(ncclUniqueId* uniqueId) {
  return Served(mycelGetUniqueId(reinterpret_cast<mycelUniqueId*>(uniqueId)));
}

ncclResult_t ncclCommInitRank(ncclComm_t* comm, int nranks, ncclUniqueId commId, int rank) {
  return Served(mycelCommInitRank(CommOf(comm), nranks, IdOf(commId), rank));
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int nranks, ncclUniqueId commId, int rank, ncclConfig_t* config) {
  Config read;
  if (const ncclResult_t result = ReadConfig(config, "ncclCommInitRankConfig", &read)) return result;
  return Served(mycelCommInitRankConfig(CommOf(comm), nranks, IdOf(commId), rank, &read.value));
}

ncclResult_t ncclCommInitRankScalable(ncclComm_t* newcomm, int nranks, int myrank, int nId, ncclUniqueId* commIds,
                                      ncclConfig_t* config) {
  Config read;
  if (const ncclResult_t result = ReadConfig(config, "ncclCommInitRankScalable", &read)) return result;
  if (commIds == nullptr || nId < 1 || nId > nranks) {
    return Refuse(
        ncclInvalidArgument,
        "ncclCommInitRankScalable: nId is %d and commIds %s; give one unique id at least, and at most one for "
        "each of the %d ranks",
        nId, commIds == nullptr ? "NULL" : "set", nranks);
  }
  return Served(mycelCommInitRankConfig(CommOf(newcomm), nranks, IdOf(commIds[0]), myrank, &read.value));
}

ncclResult_t ncclCommInitAll(ncclComm_t* comm, int ndev, const int* devlist) {
  return Served(mycelCommInitAll(CommOf(comm), ndev, devlist));
}

ncclResult_t ncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t* newcomm, ncclConfig_t* config) {
  Config read;
  if (const ncclResult_t result = ReadConfig(config, "ncclCommSplit", &read)) return result;
  return Served(mycelCommSplit(CommOf(comm), color, key, CommOf(newcomm), &read.value));
}

ncclResult_t ncclCommShrink(ncclComm_t comm, int* excludeRanksList, int excludeRanksCount, ncclComm_t* newcomm,
                            ncclConfig_t* config, int shrinkFlags) {
  Config read;
  if (const ncclResult_t result = ReadConfig(config, "ncclCommShrink", &read)) return result;
  return Served(
      mycelCommShrink(CommOf(comm), excludeRanksList, excludeRanksCount, CommOf(newcomm), &read.value, shrinkFlags));
}

// NCCL lets NULL pass in all three, and programs clean up with it.
ncclResult_t ncclCommFinalize(ncclComm_t comm) {
  return Served(comm == nullptr ? mycelSuccess : mycelCommFinalize(CommOf(comm)));
}

ncclResult_t ncclCommDestroy(ncclComm_t comm) { return Served(mycelCommDestroy(CommOf(comm))); }

ncclResult_t ncclCommAbort(ncclComm_t comm) {
  return Served(comm == nullptr ? mycelSuccess : mycelCommAbort(CommOf(comm)));
}

ncclResult_t ncclCommRevoke(ncclComm_t comm, int revokeFlags) {
  return Served(mycelCommRevoke(CommOf(comm), revokeFlags));
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* asyncError) {
  if (asyncError == nullptr) return Refuse(ncclInvalidArgument, "ncclCommGetAsyncError: asyncError is NULL");
  mycelResult_t error = mycelSuccess;
  const ncclResult_t result = Served(mycelCommGetAsyncError(CommOf(comm), &error));
  if (result == ncclSuccess) *asyncError = ResultOf(error);
  return result;
}

ncclResult_t ncclCommCount(const ncclComm_t comm, int* count) { return Served(mycelCommCount(CommOf(comm), count)); }

ncclResult_t ncclCommCuDevice(const ncclComm_t comm, int* device) {
  int rank = 0;
  if (device == nullptr) return Refuse(ncclInvalidArgument, "ncclCommCuDevice: device is NULL");
  const ncclResult_t result = Served(mycelCommUserRank(CommOf(comm), &rank));
  if (result == ncclSuccess) *device = kDeviceOfHost;
  return result;
}

ncclResult_t ncclCommUserRank(const ncclComm_t comm, int* rank) {
  return Served(mycelCommUserRank(CommOf(comm), rank));
}

ncclResult_t ncclCommRegister(const ncclComm_t comm, void* buff, size_t size, void** handle) {
  return Served(mycelCommRegister(CommOf(comm), buff, size, handle));
}

ncclResult_t ncclCommDeregister(const ncclComm_t comm, void* handle) {
  return Served(mycelCommDeregister(CommOf(comm), handle));
}

ncclResult_t ncclCommWindowRegister(ncclComm_t comm, void* buff, size_t size, ncclWindow_t* win, int winFlags) {
  return Served(mycelCommWindowRegister(CommOf(comm), buff, size, reinterpret_cast<mycelWindow_t*>(win), winFlags));
}

ncclResult_t ncclCommWindowDeregister(ncclComm_t comm, ncclWindow_t win) {
  return Served(mycelCommWindowDeregister(CommOf(comm), WindowOf(win)));
}

}  // extern "C"

#define MYCEL_NCCL_COMMUNICATORS(name) MYCEL_NCCL_TWIN(name)
#include "bindings/nccl/symbols.def"
