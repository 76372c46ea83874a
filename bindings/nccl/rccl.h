/* What librccl.so.1 has beside NCCL's functions. RCCL's types have NCCL's values and layouts, and a hipStream_t is a
 * pointer too. C99. */
#ifndef MYCEL_BINDINGS_NCCL_RCCL_H_
#define MYCEL_BINDINGS_NCCL_RCCL_H_

#include "bindings/nccl/nccl.h"

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif

/* RCCL's older spelling of ncclAlltoAll. */
MYCEL_NCCL_FUNCTION(ncclResult_t, AllToAll,
                    (const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype, ncclComm_t comm,
                     cudaStream_t stream));
/* mycelAllToAllv, in both spellings. */
MYCEL_NCCL_FUNCTION(ncclResult_t, AllToAllv,
                    (const void* sendbuff, const size_t* sendcounts, const size_t* sdispls, void* recvbuff,
                     const size_t* recvcounts, const size_t* rdispls, ncclDataType_t datatype, ncclComm_t comm,
                     cudaStream_t stream));
MYCEL_NCCL_FUNCTION(ncclResult_t, AlltoAllv,
                    (const void* sendbuff, const size_t* sendcounts, const size_t* sdispls, void* recvbuff,
                     const size_t* recvcounts, const size_t* rdispls, ncclDataType_t datatype, ncclComm_t comm,
                     cudaStream_t stream));
/* InvalidUsage, always. */
MYCEL_NCCL_FUNCTION(ncclResult_t, AllReduceWithBias,
                    (const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype, ncclRedOp_t op,
                     ncclComm_t comm, cudaStream_t stream, const void* acc));

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif

#ifdef __cplusplus
}
#endif

#endif /* MYCEL_BINDINGS_NCCL_RCCL_H_ */
