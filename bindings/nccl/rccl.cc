#include "bindings/nccl/rccl.h"

#include "bindings/nccl/border.h"

using mycel::nccl::CommOf;
using mycel::nccl::NotSupported;
using mycel::nccl::Served;
using mycel::nccl::TypeOf;

extern "C" {

ncclResult_t ncclAllToAll(const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype, ncclComm_t comm,
                          cudaStream_t stream) {
  return Served(mycelAllToAll(sendbuff, recvbuff, count, TypeOf(datatype), CommOf(comm), stream));
}

ncclResult_t ncclAllToAllv(const void* sendbuff, const size_t* sendcounts, const size_t* sdispls, void* recvbuff,
                           const size_t* recvcounts, const size_t* rdispls, ncclDataType_t datatype, ncclComm_t comm,
                           cudaStream_t stream) {
  return Served(mycelAllToAllv(sendbuff, sendcounts, sdispls, recvbuff, recvcounts, rdispls, TypeOf(datatype),
                               CommOf(comm), stream));
}

ncclResult_t ncclAlltoAllv(const void* sendbuff, const size_t* sendcounts, const size_t* sdispls, void* recvbuff,
                           const size_t* recvcounts, const size_t* rdispls, ncclDataType_t datatype, ncclComm_t comm,
                           cudaStream_t stream) {
  return Served(mycelAllToAllv(sendbuff, sendcounts, sdispls, recvbuff, recvcounts, rdispls, TypeOf(datatype),
                               CommOf(comm), stream));
}

ncclResult_t ncclAllReduceWithBias(const void*, void*, size_t, ncclDataType_t, ncclRedOp_t, ncclComm_t, cudaStream_t,
                                   const void*) {
  return NotSupported("ncclAllReduceWithBias", "call ncclAllReduce and add the bias to its result");
}

}  // extern "C"

#define MYCEL_NCCL_RCCL(name) MYCEL_NCCL_TWIN(name)
#include "bindings/nccl/symbols.def"
