/* The binary interface of NCCL 2.28, as libnccl.so.2 and librccl.so.1 of Mycel offer it. C99.
 *
 * Names, argument orders, values and layouts are NCCL's, so that a program compiled with NCCL's header runs with these
 * libraries and the other way round; nccl_test.c holds that. This file is for programs on a machine without CUDA: a
 * stream is an opaque pointer, and no header of CUDA is needed. What every function does is said in mycel.h, at the
 * function of the same name with `mycel` for `nccl`; README.md says what differs.
 *
 * Every function has a twin that begins with `pnccl`, for tools that put themselves before the first and call the
 * second.
 */
#ifndef NCCL_H_
#define NCCL_H_

#include <limits.h>
#include <stddef.h>

#define NCCL_MAJOR 2
#define NCCL_MINOR 28
#define NCCL_PATCH 9
#define NCCL_SUFFIX ""
#define NCCL_VERSION_CODE 22809
/* Up to 2.8 a version had four digits. */
#define NCCL_VERSION(X, Y, Z) (((X) <= 2 && (Y) <= 8) ? (X)*1000 + (Y)*100 + (Z) : (X)*10000 + (Y)*100 + (Z))

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif

/* NULL, or a host stream of mycelStreamCreate. The type is CUDA's, so that cuda_runtime.h may be included too. */
#ifndef __DRIVER_TYPES_H__
typedef struct CUstream_st* cudaStream_t;
#endif

typedef struct ncclComm* ncclComm_t;
typedef struct ncclWindow_vidmem* ncclWindow_t;
#define NCCL_COMM_NULL NULL

#define NCCL_UNIQUE_ID_BYTES 128
typedef struct {
  char internal[NCCL_UNIQUE_ID_BYTES];
} ncclUniqueId;

typedef enum {
  ncclSuccess = 0,
  ncclUnhandledCudaError = 1,
  ncclSystemError = 2,
  ncclInternalError = 3,
  ncclInvalidArgument = 4,
  ncclInvalidUsage = 5,
  ncclRemoteError = 6,
  ncclInProgress = 7,
  ncclNumResults = 8
} ncclResult_t;

typedef enum {
  ncclInt8 = 0,
  ncclChar = 0,
  ncclUint8 = 1,
  ncclInt32 = 2,
  ncclInt = 2,
  ncclUint32 = 3,
  ncclInt64 = 4,
  ncclUint64 = 5,
  ncclFloat16 = 6,
  ncclHalf = 6,
  ncclFloat32 = 7,
  ncclFloat = 7,
  ncclFloat64 = 8,
  ncclDouble = 8,
  ncclBfloat16 = 9,
  ncclFloat8e4m3 = 10,
  ncclFloat8e5m2 = 11,
  ncclNumTypes = 12
} ncclDataType_t;

/* Also holds operations made by ncclRedOpCreatePreMulSum, whose numbers are larger. */
typedef enum {
  ncclSum = 0,
  ncclProd = 1,
  ncclMax = 2,
  ncclMin = 3,
  ncclAvg = 4,
  ncclNumOps = 5,
  ncclMaxRedOp = 0x7fffffff
} ncclRedOp_t;

typedef enum { ncclScalarDevice = 0, ncclScalarHostImmediate = 1 } ncclScalarResidence_t;

#define NCCL_CONFIG_UNDEF_INT INT_MIN
#define NCCL_CONFIG_UNDEF_PTR NULL
#define NCCL_UNDEF_FLOAT (-1.0f)
#define NCCL_SPLIT_NOCOLOR (-1)
#define NCCL_WIN_DEFAULT 0x00
#define NCCL_WIN_COLL_SYMMETRIC 0x01
#define NCCL_WIN_REQUIRED_ALIGNMENT 4096
#define NCCL_CTA_POLICY_DEFAULT 0x00
#define NCCL_CTA_POLICY_EFFICIENCY 0x01
#define NCCL_CTA_POLICY_ZERO 0x02
#define NCCL_SHRINK_DEFAULT 0x00
#define NCCL_SHRINK_ABORT 0x01
#define NCCL_REVOKE_DEFAULT 0x00

/* Grown at its end from version to version: `size` and `version` say what the caller knew. Mycel uses blocking and
 * commName; the others are about GPUs and networks, are checked, and change nothing on host memory. */
typedef struct ncclConfig_v22800 {
  size_t size;
  unsigned int magic; /* 0xcafebeef */
  unsigned int version;
  int blocking;            /* since 2.14 */
  int cgaClusterSize;      /* 2.17 */
  int minCTAs;             /* 2.17 */
  int maxCTAs;             /* 2.17 */
  const char* netName;     /* 2.17 */
  int splitShare;          /* 2.18 */
  int trafficClass;        /* 2.25 */
  const char* commName;    /* 2.27 */
  int collnetEnable;       /* 2.27 */
  int CTAPolicy;           /* 2.27 */
  int shrinkShare;         /* 2.27 */
  int nvlsCTAs;            /* 2.27 */
  int nChannelsPerNetPeer; /* 2.28 */
  int nvlinkCentricSched;  /* 2.28 */
} ncclConfig_t;

#define NCCL_CONFIG_INITIALIZER                                                                         \
  {                                                                                                     \
    sizeof(ncclConfig_t), 0xcafebeefU, NCCL_VERSION_CODE, NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_INT, \
        NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_PTR, NCCL_CONFIG_UNDEF_INT,     \
        NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_PTR, NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_INT,     \
        NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_INT      \
  }

/* For ncclGroupSimulateEnd. */
typedef struct ncclSimInfo_v22200 {
  size_t size;
  unsigned int magic; /* 0x74685283 */
  unsigned int version;
  float estimatedTime; /* microseconds */
} ncclSimInfo_t;

#define NCCL_SIM_INFO_INITIALIZER \
  { sizeof(ncclSimInfo_t), 0x74685283U, NCCL_VERSION_CODE, NCCL_UNDEF_FLOAT }

/* A function and its twin. */
#define MYCEL_NCCL_FUNCTION(result, name, arguments) \
  result nccl##name arguments;                       \
  result pnccl##name arguments

/* ---- Library: library.cc ---------------------------------------------------------------------------------------- */

MYCEL_NCCL_FUNCTION(ncclResult_t, GetVersion, (int* version));
MYCEL_NCCL_FUNCTION(const char*, GetErrorString, (ncclResult_t result));
/* The last error of this thread or of `comm`; what this library itself refused goes first. */
MYCEL_NCCL_FUNCTION(const char*, GetLastError, (ncclComm_t comm));
/* Does nothing: Mycel's log has no state to reset. */
MYCEL_NCCL_FUNCTION(void, ResetDebugInit, (void));
MYCEL_NCCL_FUNCTION(ncclResult_t, MemAlloc, (void** ptr, size_t size));
MYCEL_NCCL_FUNCTION(ncclResult_t, MemFree, (void* ptr));
MYCEL_NCCL_FUNCTION(ncclResult_t, GroupStart, (void));
MYCEL_NCCL_FUNCTION(ncclResult_t, GroupEnd, (void));
MYCEL_NCCL_FUNCTION(ncclResult_t, GroupSimulateEnd, (ncclSimInfo_t * simInfo));

/* ---- Communicators: communicators.cc ---------------------------------------------------------------------------- */

MYCEL_NCCL_FUNCTION(ncclResult_t, GetUniqueId, (ncclUniqueId * uniqueId));
MYCEL_NCCL_FUNCTION(ncclResult_t, CommInitRank, (ncclComm_t * comm, int nranks, ncclUniqueId commId, int rank));
MYCEL_NCCL_FUNCTION(ncclResult_t, CommInitRankConfig,
                    (ncclComm_t * comm, int nranks, ncclUniqueId commId, int rank, ncclConfig_t* config));
/* The ranks meet by the first of the `nId` ids. */
MYCEL_NCCL_FUNCTION(ncclResult_t, CommInitRankScalable,
                    (ncclComm_t * newcomm, int nranks, int myrank, int nId, ncclUniqueId* commIds,
                     ncclConfig_t* config));
MYCEL_NCCL_FUNCTION(ncclResult_t, CommInitAll, (ncclComm_t * comm, int ndev, const int* devlist));
MYCEL_NCCL_FUNCTION(ncclResult_t, CommSplit,
                    (ncclComm_t comm, int color, int key, ncclComm_t* newcomm, ncclConfig_t* config));
MYCEL_NCCL_FUNCTION(ncclResult_t, CommShrink,
                    (ncclComm_t comm, int* excludeRanksList, int excludeRanksCount, ncclComm_t* newcomm,
                     ncclConfig_t* config, int shrinkFlags));
MYCEL_NCCL_FUNCTION(ncclResult_t, CommFinalize, (ncclComm_t comm));
MYCEL_NCCL_FUNCTION(ncclResult_t, CommDestroy, (ncclComm_t comm));
MYCEL_NCCL_FUNCTION(ncclResult_t, CommAbort, (ncclComm_t comm));
MYCEL_NCCL_FUNCTION(ncclResult_t, CommRevoke, (ncclComm_t comm, int revokeFlags));
MYCEL_NCCL_FUNCTION(ncclResult_t, CommGetAsyncError, (ncclComm_t comm, ncclResult_t* asyncError));
MYCEL_NCCL_FUNCTION(ncclResult_t, CommCount, (const ncclComm_t comm, int* count));
/* -1, CUDA's number for the CPU. */
MYCEL_NCCL_FUNCTION(ncclResult_t, CommCuDevice, (const ncclComm_t comm, int* device));
MYCEL_NCCL_FUNCTION(ncclResult_t, CommUserRank, (const ncclComm_t comm, int* rank));
MYCEL_NCCL_FUNCTION(ncclResult_t, CommRegister, (const ncclComm_t comm, void* buff, size_t size, void** handle));
MYCEL_NCCL_FUNCTION(ncclResult_t, CommDeregister, (const ncclComm_t comm, void* handle));
MYCEL_NCCL_FUNCTION(ncclResult_t, CommWindowRegister,
                    (ncclComm_t comm, void* buff, size_t size, ncclWindow_t* win, int winFlags));
MYCEL_NCCL_FUNCTION(ncclResult_t, CommWindowDeregister, (ncclComm_t comm, ncclWindow_t win));

/* ---- Operations: operations.cc ---------------------------------------------------------------------------------- */

MYCEL_NCCL_FUNCTION(ncclResult_t, RedOpCreatePreMulSum,
                    (ncclRedOp_t * op, void* scalar, ncclDataType_t datatype, ncclScalarResidence_t residence,
                     ncclComm_t comm));
MYCEL_NCCL_FUNCTION(ncclResult_t, RedOpDestroy, (ncclRedOp_t op, ncclComm_t comm));
MYCEL_NCCL_FUNCTION(ncclResult_t, AllReduce,
                    (const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype, ncclRedOp_t op,
                     ncclComm_t comm, cudaStream_t stream));
MYCEL_NCCL_FUNCTION(ncclResult_t, Reduce,
                    (const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype, ncclRedOp_t op,
                     int root, ncclComm_t comm, cudaStream_t stream));
MYCEL_NCCL_FUNCTION(ncclResult_t, Broadcast,
                    (const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype, int root,
                     ncclComm_t comm, cudaStream_t stream));
MYCEL_NCCL_FUNCTION(ncclResult_t, Bcast,
                    (void* buff, size_t count, ncclDataType_t datatype, int root, ncclComm_t comm,
                     cudaStream_t stream));
MYCEL_NCCL_FUNCTION(ncclResult_t, ReduceScatter,
                    (const void* sendbuff, void* recvbuff, size_t recvcount, ncclDataType_t datatype, ncclRedOp_t op,
                     ncclComm_t comm, cudaStream_t stream));
MYCEL_NCCL_FUNCTION(ncclResult_t, AllGather,
                    (const void* sendbuff, void* recvbuff, size_t sendcount, ncclDataType_t datatype, ncclComm_t comm,
                     cudaStream_t stream));
MYCEL_NCCL_FUNCTION(ncclResult_t, AlltoAll,
                    (const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype, ncclComm_t comm,
                     cudaStream_t stream));
MYCEL_NCCL_FUNCTION(ncclResult_t, Gather,
                    (const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype, int root,
                     ncclComm_t comm, cudaStream_t stream));
MYCEL_NCCL_FUNCTION(ncclResult_t, Scatter,
                    (const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype, int root,
                     ncclComm_t comm, cudaStream_t stream));
MYCEL_NCCL_FUNCTION(ncclResult_t, Send,
                    (const void* sendbuff, size_t count, ncclDataType_t datatype, int peer, ncclComm_t comm,
                     cudaStream_t stream));
MYCEL_NCCL_FUNCTION(ncclResult_t, Recv,
                    (void* recvbuff, size_t count, ncclDataType_t datatype, int peer, ncclComm_t comm,
                     cudaStream_t stream));

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif

#ifdef __cplusplus
}
#endif

#endif /* NCCL_H_ */
