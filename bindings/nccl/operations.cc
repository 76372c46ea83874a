// Collectives, messages, and operations of the program's own.
#include "bindings/nccl/border.h"

using mycel::nccl::CommOf;
using mycel::nccl::OpOf;
using mycel::nccl::Served;
using mycel::nccl::TypeOf;

extern "C" {

ncclResult_t ncclRedOpCreatePreMulSum(ncclRedOp_t* op, void* scalar, ncclDataType_t datatype,
                                      ncclScalarResidence_t residence, ncclComm_t comm) {
  static_assert(sizeof(ncclRedOp_t) == sizeof(mycelRedOp_t));
  return Served(mycelRedOpCreatePreMulSum(reinterpret_cast<mycelRedOp_t*>(op), scalar, TypeOf(datatype),
                                          static_cast<mycelScalarResidence_t>(residence), CommOf(comm)));
}

ncclResult_t ncclRedOpDestroy(ncclRedOp_t op, ncclComm_t comm) {
  return Served(mycelRedOpDestroy(OpOf(op), CommOf(comm)));
}

ncclResult_t ncclAllReduce(const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype, ncclRedOp_t op,
                           ncclComm_t comm, cudaStream_t stream) {
  return Served(mycelAllReduce(sendbuff, recvbuff, count, TypeOf(datatype), OpOf(op), CommOf(comm), stream));
}

ncclResult_t ncclReduce(const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype, ncclRedOp_t op,
                        int root, ncclComm_t comm, cudaStream_t stream) {
  return Served(mycelReduce(sendbuff, recvbuff, count, TypeOf(datatype), OpOf(op), root, CommOf(comm), stream));
}

ncclResult_t ncclBroadcast(const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype, int root,
                           ncclComm_t comm, cudaStream_t stream) {
  return Served(mycelBroadcast(sendbuff, recvbuff, count, TypeOf(datatype), root, CommOf(comm), stream));
}

ncclResult_t ncclBcast(void* buff, size_t count, ncclDataType_t datatype, int root, ncclComm_t comm,
                       cudaStream_t stream) {
  return Served(mycelBcast(buff, count, TypeOf(datatype), root, CommOf(comm), stream));
}

ncclResult_t ncclReduceScatter(const void* sendbuff, void* recvbuff, size_t recvcount, ncclDataType_t datatype,
                               ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream) {
  return Served(mycelReduceScatter(sendbuff, recvbuff, recvcount, TypeOf(datatype), OpOf(op), CommOf(comm), stream));
}

ncclResult_t ncclAllGather(const void* sendbuff, void* recvbuff, size_t sendcount, ncclDataType_t datatype,
                           ncclComm_t comm, cudaStream_t stream) {
  return Served(mycelAllGather(sendbuff, recvbuff, sendcount, TypeOf(datatype), CommOf(comm), stream));
}

ncclResult_t ncclAlltoAll(const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype, ncclComm_t comm,
                          cudaStream_t stream) {
  return Served(mycelAllToAll(sendbuff, recvbuff, count, TypeOf(datatype), CommOf(comm), stream));
}

ncclResult_t ncclGather(const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype, int root,
                        ncclComm_t comm, cudaStream_t stream) {
  return Served(mycelGather(sendbuff, recvbuff, count, TypeOf(datatype), root, CommOf(comm), stream));
}

ncclResult_t ncclScatter(const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype, int root,
                         ncclComm_t comm, cudaStream_t stream) {
  return Served(mycelScatter(sendbuff, recvbuff, count, TypeOf(datatype), root, CommOf(comm), stream));
}

ncclResult_t ncclSend(const void* sendbuff, size_t count, ncclDataType_t datatype, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  return Served(mycelSend(sendbuff, count, TypeOf(datatype), peer, CommOf(comm), stream));
}

ncclResult_t ncclRecv(void* recvbuff, size_t count, ncclDataType_t datatype, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  return Served(mycelRecv(recvbuff, count, TypeOf(datatype), peer, CommOf(comm), stream));
}

}  // extern "C"

#define MYCEL_NCCL_OPERATIONS(name) MYCEL_NCCL_TWIN(name)
#include "bindings/nccl/symbols.def"
