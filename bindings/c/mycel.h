/* Mycel: collectives whose schedule is computed. C99.
 *
 * Conventions
 *  - Names, argument order and meanings are NCCL's with `mycel` for `nccl`. Counts are 64-bit and count elements.
 *  - Every function returns mycelResult_t; outputs are set only on success. mycelGetLastError(comm) tells which rank,
 *    which operation and what to do. A communicator's first error is sticky: later calls return it. A refused argument
 *    (mycelInvalidArgument) is not: the communicator stays usable.
 *  - A communicator runs one operation at a time; a second thread waits for its turn (and ranks must still agree on the
 *    order). Different communicators may be used by different threads at once. mycelCommAbort and mycelCommDestroy may
 *    be called from any thread, also while others are inside calls or begin them: those end with mycelAborted or
 *    mycelInvalidArgument (the handle has ended).
 *  - Every rank of a communicator calls the same collectives in the same order. A mismatch in operation, count, type,
 *    op or root is mycelInvalidUsage, not a hang: in that call on every rank that waits for another, in the next one on
 *    a rank that only sent. Every wait has a deadline (MYCEL_TIMEOUT, in seconds, default 300).
 *  - A call that some rank cannot plan (its planner refuses it, its system refuses memory for the plan) is refused on
 *    every rank that makes it, with that rank and its reason, before anything moves; the communicator stays usable. So
 *    the first call of a kind and size class waits for all ranks, whatever the collective.
 *  - The first communicator of a process takes SIGUSR2 to print what every rank does and waits for, if the program has
 *    not given the signal a meaning (MYCEL_SIGNAL=off: never); `mycel status` shows the same from outside.
 *  - `stream` is NULL (run now, in the calling thread: the buffers are free again on return) or a host stream
 *    (mycelStreamCreate): the call returns at once and the operation runs in stream order; the buffers are free after
 *    mycelStreamSynchronize. Operations of one communicator run in the order of their calls, whatever their streams; a
 *    call with NULL waits for the communicator's queued operations first.
 *  - A communicator is on the host or on a GPU (config.device, MYCEL_DEVICE, else the GPU that is current in the thread
 *    that creates it). On a GPU, buffers are memory of that device, or pinned or managed memory; `stream` is a CUDA or
 *    HIP stream of it, NULL the default stream; calls return when the work is in the stream, and failures come from
 *    the next call or mycelCommGetAsyncError. The first call of a kind waits for the other ranks' hosts, and so does
 *    alltoallv by plan without a kept plan; the others may be captured into graphs, a communicator's calls on one
 *    stream of a graph. A deadline counts from when the stream comes to the operation.
 *  - In place is recognised by NCCL's pointer rules: allreduce, reduce, broadcast: send == recv. allgather:
 *    send == recv + rank * count. reduce_scatter: recv == send + rank * count. gather: at the root, send == recv +
 *    root * count. scatter: at the root, recv == send + root * count. alltoall: send == recv. Any other overlap of a
 *    collective's two buffers is mycelInvalidArgument (messages, and the two buffers of alltoallv, are not checked for
 *    overlap). The v-collectives say theirs.
 *  - Any element alignment is fine. Count 0 with NULL buffers is fine.
 *
 * Arithmetic, for every plan and device
 *  - sum, prod. Integers wrap (modulo 2^bits, two's complement). float32 and float64 add and multiply in their own
 *    precision. float16, bfloat16 and the 8-bit types are combined in float32 and rounded once, to nearest even, by
 *    each rank that combines what it has received; a chain of ranks rounds once a hop (in reproducible mode once in
 *    all). What is too large becomes infinity; float8e4m3 has none and takes its largest number, 448 or -448.
 *  - avg divides the sum by the number of ranks. Floating: in the accumulator, before that rounding; a sum that is
 *    infinite there (float32's range is bfloat16's) stays so. Integers: the exact sum of all ranks, which never
 *    wraps, truncated toward zero; planned like a reproducible reduction.
 *  - max, min. A NaN on any rank makes the result NaN, on every rank; -0.0 is below +0.0.
 *  - band, bor, bxor: integers only.
 *  - NaN results have one bit pattern, quiet and without sign, but on a communicator of one rank, which copies.
 *  - All ranks get identical bits, always.
 *  - Reproducible mode (MYCEL_REPRODUCIBLE=on): every element is ((x0 op x1) op x2) ... in rank order, rounded
 *    once. Its bits depend on the ranks' values and their number only: not on size, position, alignment, slices,
 *    planner, in or out of place, or what ran before. A named planner or plan file that cannot do this is passed
 *    over; where the topology does not let every rank reach every other without relays, it is an error. Without it,
 *    order and grouping follow the plan, which follows from the size, the root, the topology and the settings.
 */
#ifndef MYCEL_H_
#define MYCEL_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define MYCEL_API __attribute__((visibility("default")))
#else
#define MYCEL_API
#endif

#define MYCEL_MAJOR 0
#define MYCEL_MINOR 1
#define MYCEL_PATCH 0
#define MYCEL_VERSION_CODE (MYCEL_MAJOR * 10000 + MYCEL_MINOR * 100 + MYCEL_PATCH)

typedef struct mycelComm* mycelComm_t;
typedef void* mycelStream_t;

#define MYCEL_UNIQUE_ID_BYTES 128
/* Names a communicator to be: made by one rank, carried to the others by any means (file, MPI, environment). */
typedef struct {
  char internal[MYCEL_UNIQUE_ID_BYTES];
} mycelUniqueId;

typedef enum {
  mycelSuccess = 0,
  mycelUnhandledCudaError = 1, /* the GPU runtime failed */
  mycelSystemError = 2,        /* the operating system refused something */
  mycelInternalError = 3,      /* a defect of Mycel */
  mycelInvalidArgument = 4,    /* an argument is wrong */
  mycelInvalidUsage = 5,       /* right arguments, wrong time; or ranks disagree about the operation */
  mycelRemoteError = 6,        /* another rank died, left or failed */
  mycelInProgress = 7,         /* not finished yet */
  mycelTimeout = 8,            /* a deadline passed */
  mycelAborted = 9             /* mycelCommAbort or mycelCommRevoke was called */
} mycelResult_t;

/* Values below 32 are NCCL's. */
typedef enum {
  mycelInt8 = 0,
  mycelChar = 0,
  mycelUint8 = 1,
  mycelInt32 = 2,
  mycelInt = 2,
  mycelUint32 = 3,
  mycelInt64 = 4,
  mycelUint64 = 5,
  mycelFloat16 = 6,
  mycelHalf = 6,
  mycelFloat32 = 7,
  mycelFloat = 7,
  mycelFloat64 = 8,
  mycelDouble = 8,
  mycelBfloat16 = 9,
  mycelFloat8e4m3 = 10, /* OCP 8-bit E4M3: no infinities, NaN is 0x7f and 0xff, the largest number 448 */
  mycelFloat8e5m2 = 11, /* OCP 8-bit E5M2: infinities and NaNs as IEEE has them, the largest number 57344 */
  mycelInt16 = 32,
  mycelUint16 = 33
} mycelDataType_t;

/* Values below 32 are NCCL's. Also holds the operations that a program makes, which have numbers from 4096. */
typedef enum {
  mycelSum = 0,
  mycelProd = 1,
  mycelMax = 2,
  mycelMin = 3,
  mycelAvg = 4,
  mycelBand = 32, /* bitwise and, or, exclusive or: integers only, else mycelInvalidArgument */
  mycelBor = 33,
  mycelBxor = 34,
  mycelMaxRedOp = 0x7fffffff
} mycelRedOp_t;

/* ---- Library ---------------------------------------------------------------------------------------------------- */

/* MYCEL_VERSION_CODE of the library in use. Any thread. InvalidArgument: version is NULL. */
MYCEL_API mycelResult_t mycelGetVersion(int* version);
/* A short constant text for a result. Any thread; never NULL. */
MYCEL_API const char* mycelGetErrorString(mycelResult_t result);
/* The last error of `comm`, or of this thread when comm is NULL: a sentence with the facts and the cure; "" if none.
 * Any thread; the text lives until this thread's next Mycel call. */
MYCEL_API const char* mycelGetLastError(mycelComm_t comm);

/* ---- Communicators ---------------------------------------------------------------------------------------------- */

/* How a rank waits for others. */
typedef enum { mycelWaitAuto = 0, mycelWaitSpin = 1, mycelWaitYield = 2, mycelWaitSleep = 3 } mycelWait_t;

/* What a communicator should be like. Begin with MYCEL_CONFIG_INITIALIZER and set what you care about; the rest comes
 * from the parent communicator (split, duplicate, shrink), else from the environment, else from the default. What is
 * set here wins over the environment. Fields marked (*) must be equal on all ranks: InvalidUsage names rank and field.
 * A wrong size, magic or version, or a value out of range, is InvalidArgument naming the field. Later versions append.
 */
typedef struct {
  size_t size;          /* sizeof(mycelConfig_t) */
  unsigned int magic;   /* MYCEL_CONFIG_MAGIC */
  unsigned int version; /* MYCEL_VERSION_CODE */
  int blocking;         /* 1 (default): calls return when done. 0: see mycelCommGetAsyncError */
  int minLanes;         /* (*) lanes a plan should use, 1..32: powers of two between the two are compared; default 1 */
  int maxLanes; /* (*) and at most this many; each costs a ring of memory between every two ranks; default 1, between
                   servers 4 */
  int reproducible;     /* (*) 1: bits depend on rank count and values only; default MYCEL_REPRODUCIBLE */
  const char* commName; /* for error texts and `mycel status`; at most 63 bytes; read before return */
  const char* planner;  /* (*) as MYCEL_PLANNER; read before return */
  const char* topology; /* (*) as MYCEL_TOPO; read before return */
  double timeout;       /* seconds, as MYCEL_TIMEOUT */
  int wait;             /* mycelWait_t, as MYCEL_WAIT */
  const char* device;   /* as MYCEL_DEVICE: "auto", "host", "cuda", "hip", "cuda:1"; read before return */
} mycelConfig_t;

#define MYCEL_CONFIG_MAGIC 0x6d79636cU
#define MYCEL_CONFIG_UNDEF_INT (-2147483647 - 1)
#define MYCEL_CONFIG_UNDEF_REAL (-1.0)
#define MYCEL_CONFIG_UNDEF_PTR NULL
#define MYCEL_CONFIG_INITIALIZER                                                                                   \
  {                                                                                                                \
    sizeof(mycelConfig_t), MYCEL_CONFIG_MAGIC, MYCEL_VERSION_CODE, MYCEL_CONFIG_UNDEF_INT, MYCEL_CONFIG_UNDEF_INT, \
        MYCEL_CONFIG_UNDEF_INT, MYCEL_CONFIG_UNDEF_INT, MYCEL_CONFIG_UNDEF_PTR, MYCEL_CONFIG_UNDEF_PTR,            \
        MYCEL_CONFIG_UNDEF_PTR, MYCEL_CONFIG_UNDEF_REAL, MYCEL_CONFIG_UNDEF_INT, MYCEL_CONFIG_UNDEF_PTR            \
  }

/* Makes the token that a communicator's ranks meet by, and starts listening for them in this process (it must live
 * until all ranks have joined). Any thread. InvalidArgument, SystemError. */
MYCEL_API mycelResult_t mycelGetUniqueId(mycelUniqueId* id);
/* Collective: creates this rank's communicator. Returns when all `nranks` ranks have joined, or an error within
 * MYCEL_TIMEOUT that names the missing ones. Inside a group, the work is done at mycelGroupEnd, so that one thread can
 * create several ranks. InvalidArgument, InvalidUsage (rank taken twice, nranks differ), SystemError, Timeout. */
MYCEL_API mycelResult_t mycelCommInitRank(mycelComm_t* comm, int nranks, mycelUniqueId id, int rank);
/* The same with a config (NULL: nothing set). With config->blocking 0 it returns mycelInProgress at once, also inside a
 * group, and *comm is set: poll mycelCommGetAsyncError(*comm) until it tells mycelSuccess or an error; until then only
 * that, mycelGetLastError, mycelCommAbort and mycelCommDestroy may be called with it (the last two give the creation
 * up). The id is read before return. */
MYCEL_API mycelResult_t mycelCommInitRankConfig(mycelComm_t* comm, int nranks, mycelUniqueId id, int rank,
                                                const mycelConfig_t* config);
/* Creates all `ndev` ranks of a communicator in this process; comms[i] is rank i. `devlist` is accepted for NCCL
 * compatibility and may be NULL (host ranks have no device). Each rank is then used by its own thread, or all by one
 * thread inside groups. InvalidArgument, SystemError. */
MYCEL_API mycelResult_t mycelCommInitAll(mycelComm_t* comms, int ndev, const int* devlist);
/* The same with a config, which counts for all ranks. With config->blocking 0 the creation itself still blocks; later
 * calls do not. */
MYCEL_API mycelResult_t mycelCommInitAllConfig(mycelComm_t* comms, int ndev, const int* devlist,
                                               const mycelConfig_t* config);

#define MYCEL_SPLIT_NOCOLOR (-1)
/* Collective over `comm`: ranks of one color (0 or more) form a new communicator, in the order of their keys, equal
 * keys in the order of their ranks. MYCEL_SPLIT_NOCOLOR takes part and gets *newcomm = NULL. The new communicator owes
 * nothing to `comm`, which may be used and destroyed independently. Unset fields of `config` (NULL: all) come from
 * `comm`, but for its name; where `comm` has a topology, the new one has the part of it that its ranks are left with. A
 * plan file serves it only if the rank count is the file's. Inside a group the work is done at mycelGroupEnd. With
 * blocking 0 (of `config` or `comm`) as mycelCommInitRankConfig; `comm` too is mycelInProgress until it is done.
 * InvalidArgument (color below -1), InvalidUsage, RemoteError, Timeout, Aborted, SystemError. */
MYCEL_API mycelResult_t mycelCommSplit(mycelComm_t comm, int color, int key, mycelComm_t* newcomm,
                                       const mycelConfig_t* config);
/* Collective: a second communicator of the same ranks, whose operations are independent of the first one's. As
 * mycelCommSplit with one color and the ranks as keys. */
MYCEL_API mycelResult_t mycelCommDup(mycelComm_t comm, mycelComm_t* newcomm, const mycelConfig_t* config);
#define MYCEL_SHRINK_DEFAULT 0x00 /* `comm` is well and stays as it is */
#define MYCEL_SHRINK_ABORT 0x01   /* first stop what runs on `comm`, as mycelCommRevoke does; `comm` may have failed */
/* Collective over the ranks that remain: makes a communicator of the ranks of `comm` that are not among the
 * `excludeRanksCount` entries of `excludeRanksList`, in their order. Excluded ranks, dead ones say, take no part. After
 * an error pass MYCEL_SHRINK_ABORT, on every rank that remains; `comm` is then good for mycelCommShrink,
 * mycelCommDestroy and mycelCommAbort only. Needs none of `comm`'s channels, so it works whatever state they are in.
 * Unset fields of `config` come from `comm`. With blocking 0 as mycelCommInitRankConfig.
 * InvalidArgument (an entry is no rank, is there twice, or is the caller; unknown flags), InvalidUsage (another rank
 * excludes other ranks; `comm` has failed and the flag is not MYCEL_SHRINK_ABORT), RemoteError (a rank that should
 * remain is dead or has left: named), Timeout (a rank did not call: named), SystemError. */
MYCEL_API mycelResult_t mycelCommShrink(mycelComm_t comm, const int* excludeRanksList, int excludeRanksCount,
                                        mycelComm_t* newcomm, const mycelConfig_t* config, int shrinkFlags);

/* Finishes queued operations; afterwards only questions, mycelCommDestroy and mycelCommAbort are left. With blocking 0
 * it returns mycelInProgress while some are queued. InvalidArgument, the communicator's error. */
MYCEL_API mycelResult_t mycelCommFinalize(mycelComm_t comm);
/* Frees the communicator, after finishing queued operations (also with blocking 0); NULL is fine. Not collective. */
MYCEL_API mycelResult_t mycelCommDestroy(mycelComm_t comm);
/* Stops running and queued operations (they return mycelAborted here; peers get mycelRemoteError) and frees the
 * communicator. Any thread, also during creation (blocking 0) and destruction; local, returns within a second. An
 * operation in something that cannot be stopped (making a plan) is left to end by itself, and frees the communicator
 * then. */
MYCEL_API mycelResult_t mycelCommAbort(mycelComm_t comm);
#define MYCEL_REVOKE_DEFAULT 0x00
/* Stops running and queued operations here, and, as soon as they notice, on the peers (they get mycelRemoteError). The
 * communicator stays: mycelCommShrink with MYCEL_SHRINK_ABORT, mycelCommDestroy and mycelCommAbort may follow; anything
 * else returns mycelAborted. Any thread, local, returns within a second; again is harmless. InvalidArgument (flags). */
MYCEL_API mycelResult_t mycelCommRevoke(mycelComm_t comm, int revokeFlags);
MYCEL_API mycelResult_t mycelCommCount(mycelComm_t comm, int* count);
MYCEL_API mycelResult_t mycelCommUserRank(mycelComm_t comm, int* rank);
/* The sticky error of the communicator or of its creation, mycelInProgress while it is being created or operations are
 * queued, or mycelSuccess. Any thread.
 *
 * A communicator with blocking 0: creation, split, shrink and finalize return mycelInProgress. Operations with a NULL
 * stream (and groups of them) are queued, on a stream of the communicator's own, and return mycelInProgress; their
 * buffers are free when this function tells mycelSuccess. An error that leaves the communicator usable is told once. */
MYCEL_API mycelResult_t mycelCommGetAsyncError(mycelComm_t comm, mycelResult_t* result);

/* ---- Collectives ------------------------------------------------------------------------------------------------
 * Each: what must be true: every rank calls it with the same count, type, op and root; buffers hold what is said and do
 * not overlap except in place. Thread: any, one operation of a communicator at a time. Buffers are free on return (NULL
 * stream) or when the stream is synchronised. Statuses: InvalidArgument, InvalidUsage (mismatch), RemoteError, Timeout,
 * Aborted. */

/* recv[count] = op over ranks of send[count], on all ranks. */
MYCEL_API mycelResult_t mycelAllReduce(const void* sendbuff, void* recvbuff, size_t count, mycelDataType_t datatype,
                                       mycelRedOp_t op, mycelComm_t comm, mycelStream_t stream);
/* recv[nranks * sendcount] = the ranks' send[sendcount] in rank order, on all ranks. */
MYCEL_API mycelResult_t mycelAllGather(const void* sendbuff, void* recvbuff, size_t sendcount, mycelDataType_t datatype,
                                       mycelComm_t comm, mycelStream_t stream);
/* recv[recvcount] = op over ranks of block `rank` of send[nranks * recvcount]. */
MYCEL_API mycelResult_t mycelReduceScatter(const void* sendbuff, void* recvbuff, size_t recvcount,
                                           mycelDataType_t datatype, mycelRedOp_t op, mycelComm_t comm,
                                           mycelStream_t stream);
/* recv[count] = the root's send[count], on all ranks; sendbuff is read at the root only. */
MYCEL_API mycelResult_t mycelBroadcast(const void* sendbuff, void* recvbuff, size_t count, mycelDataType_t datatype,
                                       int root, mycelComm_t comm, mycelStream_t stream);
/* Broadcast in place. */
MYCEL_API mycelResult_t mycelBcast(void* buff, size_t count, mycelDataType_t datatype, int root, mycelComm_t comm,
                                   mycelStream_t stream);
/* recv[count] at the root = op over ranks of send[count]; recvbuff is written at the root only. */
MYCEL_API mycelResult_t mycelReduce(const void* sendbuff, void* recvbuff, size_t count, mycelDataType_t datatype,
                                    mycelRedOp_t op, int root, mycelComm_t comm, mycelStream_t stream);
/* Block j of send[nranks * count] goes to block `rank` of rank j's recv[nranks * count]. */
MYCEL_API mycelResult_t mycelAllToAll(const void* sendbuff, void* recvbuff, size_t count, mycelDataType_t datatype,
                                      mycelComm_t comm, mycelStream_t stream);
/* recv[nranks * count] at the root = the ranks' send[count] in rank order. */
MYCEL_API mycelResult_t mycelGather(const void* sendbuff, void* recvbuff, size_t count, mycelDataType_t datatype,
                                    int root, mycelComm_t comm, mycelStream_t stream);
/* recv[count] = block `rank` of the root's send[nranks * count]. */
MYCEL_API mycelResult_t mycelScatter(const void* sendbuff, void* recvbuff, size_t count, mycelDataType_t datatype,
                                     int root, mycelComm_t comm, mycelStream_t stream);
/* sendcounts[j] elements from send + sdispls[j] go to rank j, which receives them at recv + rdispls[me]. Counts and
 * displacements in elements, arrays of nranks entries, read before return. sendcounts[j] here and recvcounts[me] at j
 * must be equal. Not in place. Displacements may have any order and leave gaps; those of empty legs are not read.
 * Blocks may overlap in sendbuff and must not in recvbuff (mycelInvalidArgument).
 *
 * With MYCEL_PLANNER=fast or flow, with a topology (MYCEL_TOPO) of several servers, or with a plan file for alltoallv,
 * it is planned for the whole matrix: the ranks first compare their counts (24 bytes to each other rank), and a matrix
 * that is not among the last 64 is gathered and planned. Counts that disagree are then mycelInvalidUsage on every rank,
 * naming the pair and both numbers; counts beyond 2^50 bytes a pair or 2^62 bytes in all are mycelInvalidArgument on
 * every rank; nothing has moved in either case. Where the planner is left to the chooser and it finds that relays do
 * not pay, or nobody serves the topology, the legs then travel as messages. Otherwise they are messages without
 * comparing, and two counts that disagree are found by the receiver. */
MYCEL_API mycelResult_t mycelAllToAllv(const void* sendbuff, const size_t* sendcounts, const size_t* sdispls,
                                       void* recvbuff, const size_t* recvcounts, const size_t* rdispls,
                                       mycelDataType_t datatype, mycelComm_t comm, mycelStream_t stream);

/* ---- Collectives with a count for each rank ---------------------------------------------------------------------
 * Counts and displacements in elements, arrays of nranks entries, read before return; an empty block's displacement is
 * not read and may be anything. Blocks may have any order and leave gaps; they must not overlap. Every count may be 0,
 * and takes part all the same. In place as each says; any other overlap of the two buffers is mycelInvalidArgument. */

/* recv + rdispls[i] gets the recvcounts[i] elements of rank i, on all ranks. recvcounts must be equal on all ranks,
 * else mycelInvalidUsage on every rank, and sendcount must be recvcounts[rank]; rdispls may differ. In place: send ==
 * recv + rdispls[rank]. */
MYCEL_API mycelResult_t mycelAllGatherv(const void* sendbuff, size_t sendcount, void* recvbuff,
                                        const size_t* recvcounts, const size_t* rdispls, mycelDataType_t datatype,
                                        mycelComm_t comm, mycelStream_t stream);
/* recv[recvcounts[rank]] = op over ranks of this rank's block of send, where blocks of recvcounts[0], recvcounts[1],
 * ... elements follow each other. recvcounts must be equal on all ranks, else mycelInvalidUsage on every rank. In
 * place: recv is this rank's block of send (the rest of send stays as it was). */
MYCEL_API mycelResult_t mycelReduceScatterv(const void* sendbuff, void* recvbuff, const size_t* recvcounts,
                                            mycelDataType_t datatype, mycelRedOp_t op, mycelComm_t comm,
                                            mycelStream_t stream);
/* At the root recv + rdispls[i] gets the sendcount elements of rank i, which must be the root's recvcounts[i] (else
 * mycelInvalidUsage at the root, and in the next call at rank i). recvbuff, recvcounts and rdispls are used at the root
 * only. In place at the root: send == recv + rdispls[root]. */
MYCEL_API mycelResult_t mycelGatherv(const void* sendbuff, size_t sendcount, void* recvbuff, const size_t* recvcounts,
                                     const size_t* rdispls, mycelDataType_t datatype, int root, mycelComm_t comm,
                                     mycelStream_t stream);
/* recv[recvcount] gets sendcounts[rank] elements from the root's send + sdispls[rank]; the two counts must be equal
 * (else mycelInvalidUsage at that rank, and in the next call at the root). sendbuff, sendcounts and sdispls are used at
 * the root only. In place at the root: recv == send + sdispls[root]. */
MYCEL_API mycelResult_t mycelScatterv(const void* sendbuff, const size_t* sendcounts, const size_t* sdispls,
                                      void* recvbuff, size_t recvcount, mycelDataType_t datatype, int root,
                                      mycelComm_t comm, mycelStream_t stream);

/* ---- Operations of the program's own --------------------------------------------------------------------------------
 * An operation belongs to the communicator it was made for and ends with it; in calls of another, or once destroyed, it
 * is mycelInvalidArgument. Making one talks to nobody. Ranks must use operations of the same kind in a call: a user's
 * function against a sum is a mismatch, but the library cannot see whether two functions are the same. */

typedef enum {
  mycelScalarDevice = 0,       /* read when an operation begins: memory of the communicator's device, here the host */
  mycelScalarHostImmediate = 1 /* read now */
} mycelScalarResidence_t;

/* The sum of each rank's data times that rank's *scalar, one element of `datatype`; calls must be of that type. The
 * product is rounded to the type (integers wrap), then summed as mycelSum is. Takes memory of the send buffer's size,
 * which the communicator keeps. Any thread. InvalidArgument. */
MYCEL_API mycelResult_t mycelRedOpCreatePreMulSum(mycelRedOp_t* op, void* scalar, mycelDataType_t datatype,
                                                  mycelScalarResidence_t residence, mycelComm_t comm);

/* inout[e] = in[e] (op) inout[e] for e in [0, count), like MPI_User_function: `in` comes from the lower ranks. Called
 * any number of times for any parts of a vector, with elements aligned as the caller's are or better; in the thread
 * that runs the operation, of which a stream has its own. Must give the same result for the same data on every rank,
 * call no mycel function and throw nothing. */
typedef void (*mycelUserFunction_t)(const void* in, void* inout, size_t count, void* context);

/* The program's own associative operation on any type, for communicators on the host. `commutes` 0: operands are
 * combined in rank order, as in reproducible mode; else in any. `context` is handed to every call and must live until
 * the last operation that uses it has ended. InvalidArgument (also: the device is no host). */
MYCEL_API mycelResult_t mycelRedOpCreateUser(mycelRedOp_t* op, mycelUserFunction_t function, void* context,
                                             int commutes, mycelComm_t comm);

/* Calls made before, queued ones too, are not affected. InvalidArgument. */
MYCEL_API mycelResult_t mycelRedOpDestroy(mycelRedOp_t op, mycelComm_t comm);

/* ---- Planned exchanges: dispatch and combine -------------------------------------------------------------------- */

/* A plan for one matrix of counts, and for the same traffic sent back. */
typedef struct mycelAllToAllvPlan* mycelAllToAllvPlan_t;
typedef enum {
  mycelDispatch = 0, /* sendcounts[j] elements go from here to rank j */
  mycelCombine = 1   /* recvcounts[j] elements go from here to rank j: what dispatch brought, sent back */
} mycelDirection_t;

/* Collective: plans an alltoallv of these counts (arrays of nranks entries, in elements, read before return) in both
 * directions. Waits for the other ranks (with blocking 0, too); moves no data. Inside a group, *plan may be used after
 * mycelGroupEnd; if that fails, *plan can only be destroyed. The plan belongs to `comm`. The combine plan is the
 * dispatch plan walked backwards: one synthesis for both (with a plan file, or over links of one direction, it is
 * planned anew). InvalidArgument (also on every rank: counts beyond 2^50 bytes a pair or 2^62 in all), InvalidUsage
 * (counts disagree: names the pair and both numbers, on every rank; or the planner does not serve alltoallv),
 * RemoteError, Timeout, Aborted. */
MYCEL_API mycelResult_t mycelAllToAllvPlanCreate(mycelAllToAllvPlan_t* plan, const size_t* sendcounts,
                                                 const size_t* recvcounts, mycelDataType_t datatype, mycelComm_t comm);
/* Collective: runs the plan in one direction, like mycelAllToAllv but without comparing counts: every rank runs the
 * same plan in the same direction. Displacements in elements, arrays of nranks entries, read before return; those of
 * empty legs are not read. Statuses of a collective, InvalidArgument (destroyed plan), InvalidUsage (its communicator
 * is gone). */
MYCEL_API mycelResult_t mycelAllToAllvPlanRun(mycelAllToAllvPlan_t plan, mycelDirection_t direction,
                                              const void* sendbuff, const size_t* sdispls, void* recvbuff,
                                              const size_t* rdispls, mycelStream_t stream);
/* Frees the plan, after finishing queued operations of its communicator; NULL is fine. Not collective; before or after
 * the communicator is destroyed. InvalidArgument (destroyed before). */
MYCEL_API mycelResult_t mycelAllToAllvPlanDestroy(mycelAllToAllvPlan_t plan);

/* ---- Barrier ---------------------------------------------------------------------------------------------------- */

/* Returns (NULL stream) or passes (host stream) when all ranks have called it. */
MYCEL_API mycelResult_t mycelBarrier(mycelComm_t comm, mycelStream_t stream);

/* ---- Point to point --------------------------------------------------------------------------------------------- */

/* Sends to / receives from `peer`, matched in order per pair. Outside a group a send returns when its buffer is free,
 * which may need the peer's receive; exchanges belong in a group. A message to oneself needs both halves in one group.
 */
MYCEL_API mycelResult_t mycelSend(const void* sendbuff, size_t count, mycelDataType_t datatype, int peer,
                                  mycelComm_t comm, mycelStream_t stream);
MYCEL_API mycelResult_t mycelRecv(void* recvbuff, size_t count, mycelDataType_t datatype, int peer, mycelComm_t comm,
                                  mycelStream_t stream);

/* ---- Groups ----------------------------------------------------------------------------------------------------- */

/* Calls between Start and End of one thread are queued and progress together at the outermost End: sends and receives
 * of a group match in any order, and one thread may drive several communicators of its process. Groups nest. End
 * returns the first error. */
MYCEL_API mycelResult_t mycelGroupStart(void);
MYCEL_API mycelResult_t mycelGroupEnd(void);
/* Ends the group and runs nothing of it. *microseconds (NULL: not asked for, and nothing is planned) is what its
 * collectives would take one after another as the chooser estimates them for their communicators; messages and
 * collectives with a count for each rank add nothing, and an inner End gives 0. Local: waits for nobody, keeps no plan,
 * takes about as long as planning. InvalidArgument (the first refused call of the group), InvalidUsage (no group; it
 * creates communicators; where asked, a plan file serves a call, and files have no estimate). */
MYCEL_API mycelResult_t mycelGroupSimulateEnd(double* microseconds);

/* ---- Host streams ----------------------------------------------------------------------------------------------- */

/* A queue with a worker thread: operations run in the order they were enqueued. */
MYCEL_API mycelResult_t mycelStreamCreate(mycelStream_t* stream);
/* Waits until everything enqueued so far is done; returns the first error since the last synchronise. Any thread. */
MYCEL_API mycelResult_t mycelStreamSynchronize(mycelStream_t stream);
/* Finishes what is queued and frees the stream; NULL is fine. */
MYCEL_API mycelResult_t mycelStreamDestroy(mycelStream_t stream);

/* ---- Memory: allocation, registration, windows ------------------------------------------------------------------- */

/* Memory that peers can map: zeroed, page-aligned, taken at once (never a SIGBUS later). Nothing appears in /dev/shm.
 * A child of fork shares it with its parent. Any thread. InvalidArgument, SystemError (needed, available, cure). */
MYCEL_API mycelResult_t mycelMemAlloc(void** ptr, size_t size);
/* Frees it; NULL is fine. InvalidArgument (not from mycelMemAlloc, or freed before), InvalidUsage (a window is
 * registered in it). */
MYCEL_API mycelResult_t mycelMemFree(void* ptr);

typedef struct mycelWindow* mycelWindow_t;
#define MYCEL_WIN_DEFAULT 0x00
#define MYCEL_WIN_COLL_SYMMETRIC 0x01 /* accepted for NCCL compatibility: windows need not be symmetric here */
/* Collective: each rank registers a buffer of its own (sizes may differ) that it will use in many operations. Where the
 * buffer lies in memory from mycelMemAlloc and ranks are processes that read each other's memory, peers map it: large
 * messages are then copied by plain loads instead of process_vm_readv. Elsewhere it changes nothing, and
 * mycelWindowGetInfo says why. Operations need no other calls: buffers inside are recognised by their address. Inside a
 * group the work is done at mycelGroupEnd. The memory must live until the window is deregistered. Statuses of a
 * collective, InvalidArgument (NULL or empty buffer, unknown flags). */
MYCEL_API mycelResult_t mycelCommWindowRegister(mycelComm_t comm, void* buff, size_t size, mycelWindow_t* win,
                                                int winFlags);
/* Every rank calls it at the same place of its order of calls; waits for nobody. The end of the communicator does the
 * same. InvalidArgument (deregistered before, another communicator's). */
MYCEL_API mycelResult_t mycelCommWindowDeregister(mycelComm_t comm, mycelWindow_t win);
/* What a window does. `size` must be sizeof(mycelWindowInfo) (so that it can grow). */
typedef struct {
  size_t size;
  size_t bytes;         /* of this rank's buffer */
  int32_t shareable;    /* 1: it lies in memory from mycelMemAlloc */
  int32_t peers_mapped; /* ranks whose buffers this rank reads through a mapping */
  char reason[96];      /* why there are none; "" if there are */
} mycelWindowInfo;
MYCEL_API mycelResult_t mycelWindowGetInfo(mycelWindow_t win, mycelWindowInfo* info);
/* Not collective: tells that a buffer will be used again. Checked and kept, but no transport of this version does
 * better by it (windows do). InvalidArgument. */
MYCEL_API mycelResult_t mycelCommRegister(mycelComm_t comm, void* buff, size_t size, void** handle);
MYCEL_API mycelResult_t mycelCommDeregister(mycelComm_t comm, void* handle);

/* ---- Configs of calls -------------------------------------------------------------------------------------------- */

/* What single calls ask for in place of their communicator's settings. Begin with MYCEL_CALL_CONFIG_INITIALIZER and set
 * what you care about. Fields marked (*) must be equal on all ranks of a call, as its count must: they are compared,
 * and a difference is mycelInvalidUsage with both sides' values. Later versions append. */
typedef struct {
  size_t size;          /* sizeof(mycelCallConfig_t) */
  unsigned int magic;   /* MYCEL_CALL_CONFIG_MAGIC */
  unsigned int version; /* MYCEL_VERSION_CODE */
  int minLanes;         /* (*) as in mycelConfig_t; beyond the communicator's maxLanes all ranks refuse the call */
  int maxLanes;         /* (*) both go before a plan file with fewer or more lanes */
  int reproducible;     /* (*) 1 or 0, for reductions */
  const char* planner;  /* (*) a planner's name or "auto"; goes before a plan file; read before return */
  double timeout;       /* seconds that this rank waits without progress */
} mycelCallConfig_t;

#define MYCEL_CALL_CONFIG_MAGIC 0x6d79636dU
#define MYCEL_CALL_CONFIG_INITIALIZER                                                                   \
  {                                                                                                     \
    sizeof(mycelCallConfig_t), MYCEL_CALL_CONFIG_MAGIC, MYCEL_VERSION_CODE, MYCEL_CONFIG_UNDEF_INT,     \
        MYCEL_CONFIG_UNDEF_INT, MYCEL_CONFIG_UNDEF_INT, MYCEL_CONFIG_UNDEF_PTR, MYCEL_CONFIG_UNDEF_REAL \
  }

/* Operations that this thread calls from here to mycelCallConfigEnd, on whatever communicator, have this config: also
 * those that are queued on a stream, by blocking 0 or until a group's end, whenever they run (it is read at the call).
 * Configs nest: what the inner one leaves unset comes from those around it. A plan for each config is made once and
 * kept, so a repeated call costs nothing more. Planner, lanes and order count for what runs by plan: the collectives,
 * allgatherv, reduce_scatterv; alltoallv, which with a planner or lanes always runs by plan; and
 * mycelAllToAllvPlanCreate, whose runs keep them. The timeout counts for these, messages, gatherv, scatterv and
 * barriers; messages of a group have that of the last one. Creating communicators and windows is not affected. What it
 * came to: mycelCommQueryLast. Local. InvalidArgument names the field; then nothing is begun. */
MYCEL_API mycelResult_t mycelCallConfigStart(const mycelCallConfig_t* config);
/* Ends the innermost config of this thread. InvalidUsage: none is open. */
MYCEL_API mycelResult_t mycelCallConfigEnd(void);

/* ---- Questions -------------------------------------------------------------------------------------------------- */

/* Counters of one communicator since its creation. `size` must be sizeof(mycelCommStats) (so that it can grow). */
typedef struct {
  size_t size;
  uint64_t operations;    /* collectives, and groups of sends and receives */
  uint64_t plans_made;    /* plan cache misses */
  uint64_t payload_bytes; /* memory held for channels */
  uint64_t messages;      /* messages published */
  uint64_t message_bytes; /* bytes of them */
  uint64_t sleeps;        /* times a wait slept in the kernel */
  uint64_t scratch_bytes; /* memory held for staging: the most that an operation needed */
  uint64_t window_reads;  /* reads of peers' memory that went through windows */
} mycelCommStats;
MYCEL_API mycelResult_t mycelCommGetStats(mycelComm_t comm, mycelCommStats* stats);
/* What served a call. `size` must be sizeof(mycelCallInfo) (so that it can grow). Texts are cut where they are too
 * long. */
typedef struct {
  size_t size;
  uint64_t operation;  /* number of the communicator's last collective, from 1 */
  uint64_t plan_hash;  /* equal on all ranks; 0 without a plan */
  int64_t slices;      /* into which the longest piece was cut */
  int64_t slice_bytes; /* at most */
  int32_t slots;       /* of a channel's ring */
  int32_t lanes;
  char call[96];      /* "allreduce(count 1000, float, sum)", "send/recv" */
  char planner[64];   /* "direct/two-shot"; "none" for messages */
  char protocol[16];  /* "inline", "slot", "direct" */
  char transport[16]; /* "shm", "loopback", "none" for one rank */
} mycelCallInfo;
/* What served the last operation of `comm`, after finishing queued ones. InvalidArgument, InvalidUsage (there was
 * none).
 */
MYCEL_API mycelResult_t mycelCommQueryLast(mycelComm_t comm, mycelCallInfo* info);
/* How a collective of `count` elements would run: one line, "planner direct/two-shot, protocol slot, 3 slices, ...".
 * alltoallv depends on its counts: the line then tells how the last one ran. Writes at most `capacity` bytes with a
 * final zero. */
MYCEL_API mycelResult_t mycelCommExplain(mycelComm_t comm, const char* collective, size_t count,
                                         mycelDataType_t datatype, char* text, size_t capacity);

#ifdef __cplusplus
}
#endif

#endif /* MYCEL_H_ */
