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
 *  - The first communicator of a process takes SIGUSR2 to print what every rank does and waits for, if the program has
 *    not given the signal a meaning (MYCEL_SIGNAL=off: never); `mycel status` shows the same from outside.
 *  - `stream` is NULL (run now, in the calling thread: the buffers are free again on return) or a host stream
 *    (mycelStreamCreate): the call returns at once and the operation runs in stream order; the buffers are free after
 *    mycelStreamSynchronize. Operations of one communicator run in the order of their calls, whatever their streams; a
 *    call with NULL waits for the communicator's queued operations first.
 *  - In place is recognised by NCCL's pointer rules: allreduce, reduce, broadcast: send == recv. allgather:
 *    send == recv + rank * count. reduce_scatter: recv == send + rank * count. gather: at the root, send == recv +
 *    root * count. scatter: at the root, recv == send + root * count. alltoall: send == recv. Any other overlap of a
 *    collective's two buffers is mycelInvalidArgument (alltoallv and messages are not checked for overlap).
 *  - Any element alignment is fine. Count 0 with NULL buffers is fine.
 *  - Arithmetic: integers wrap; float16 and bfloat16 accumulate in float32 within an instruction and round once;
 *    avg divides the sum by the number of ranks (integers truncate toward zero); min and max propagate NaN and order
 *    -0.0 before +0.0; all ranks get identical bits.
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
  mycelAborted = 9             /* mycelCommAbort was called */
} mycelResult_t;

/* Values are NCCL's. */
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
  mycelBfloat16 = 9
} mycelDataType_t;

typedef enum { mycelSum = 0, mycelProd = 1, mycelMax = 2, mycelMin = 3, mycelAvg = 4 } mycelRedOp_t;

/* ---- Library ---------------------------------------------------------------------------------------------------- */

/* MYCEL_VERSION_CODE of the library in use. Any thread. InvalidArgument: version is NULL. */
MYCEL_API mycelResult_t mycelGetVersion(int* version);
/* A short constant text for a result. Any thread; never NULL. */
MYCEL_API const char* mycelGetErrorString(mycelResult_t result);
/* The last error of `comm`, or of this thread when comm is NULL: a sentence with the facts and the cure; "" if none.
 * Any thread; the text lives until this thread's next Mycel call. */
MYCEL_API const char* mycelGetLastError(mycelComm_t comm);

/* ---- Communicators ---------------------------------------------------------------------------------------------- */

/* Makes the token that a communicator's ranks meet by, and starts listening for them in this process (it must live
 * until all ranks have joined). Any thread. InvalidArgument, SystemError. */
MYCEL_API mycelResult_t mycelGetUniqueId(mycelUniqueId* id);
/* Collective: creates this rank's communicator. Returns when all `nranks` ranks have joined, or an error within
 * MYCEL_TIMEOUT that names the missing ones. Inside a group, the work is done at mycelGroupEnd, so that one thread can
 * create several ranks. InvalidArgument, InvalidUsage (rank taken twice, nranks differ), SystemError, Timeout. */
MYCEL_API mycelResult_t mycelCommInitRank(mycelComm_t* comm, int nranks, mycelUniqueId id, int rank);
/* Creates all `ndev` ranks of a communicator in this process; comms[i] is rank i. `devlist` is accepted for NCCL
 * compatibility and may be NULL (host ranks have no device). Each rank is then used by its own thread, or all by one
 * thread inside groups. InvalidArgument, SystemError. */
MYCEL_API mycelResult_t mycelCommInitAll(mycelComm_t* comms, int ndev, const int* devlist);
/* Waits until queued operations are done. InvalidArgument, the communicator's error. */
MYCEL_API mycelResult_t mycelCommFinalize(mycelComm_t comm);
/* Frees the communicator, after finishing queued operations; NULL is fine. Not collective. */
MYCEL_API mycelResult_t mycelCommDestroy(mycelComm_t comm);
/* Stops running and queued operations (they return mycelAborted here; peers get mycelRemoteError) and frees the
 * communicator once no call is inside. Any thread, local, returns in well under a second. */
MYCEL_API mycelResult_t mycelCommAbort(mycelComm_t comm);
MYCEL_API mycelResult_t mycelCommCount(mycelComm_t comm, int* count);
MYCEL_API mycelResult_t mycelCommUserRank(mycelComm_t comm, int* rank);
/* The sticky error of queued operations, mycelInProgress while some run, or mycelSuccess. Any thread. */
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
 *
 * With MYCEL_PLANNER=fast, with a topology (MYCEL_TOPO) of several servers, or with a plan file for alltoallv, it is
 * planned for the whole matrix: the ranks first compare their counts (24 bytes to each other rank), and a matrix that
 * is not among the last 64 is gathered and planned. Counts that disagree are then mycelInvalidUsage on every rank,
 * naming the pair and both numbers; counts beyond 2^50 bytes a pair or 2^62 bytes in all are mycelInvalidArgument on
 * every rank; nothing has moved in either case. Where the planner is left to the chooser and it finds that relays do
 * not pay, or nobody serves the topology, the legs then travel as messages. Otherwise they are messages without
 * comparing, and two counts that disagree are found by the receiver. */
MYCEL_API mycelResult_t mycelAllToAllv(const void* sendbuff, const size_t* sendcounts, const size_t* sdispls,
                                       void* recvbuff, const size_t* recvcounts, const size_t* rdispls,
                                       mycelDataType_t datatype, mycelComm_t comm, mycelStream_t stream);

/* ---- Planned exchanges: dispatch and combine -------------------------------------------------------------------- */

/* A plan for one matrix of counts, and for the same traffic sent back. */
typedef struct mycelAllToAllvPlan* mycelAllToAllvPlan_t;
typedef enum {
  mycelDispatch = 0, /* sendcounts[j] elements go from here to rank j */
  mycelCombine = 1   /* recvcounts[j] elements go from here to rank j: what dispatch brought, sent back */
} mycelDirection_t;

/* Collective: plans an alltoallv of these counts (arrays of nranks entries, in elements, read before return) in both
 * directions. Waits for the other ranks; moves no data. Inside a group, *plan may be used after mycelGroupEnd; if that
 * fails, *plan can only be destroyed. The plan belongs to `comm`. The combine plan is made from the transposed counts.
 * InvalidArgument (also on every rank: counts beyond 2^50 bytes a pair or 2^62 in all), InvalidUsage (counts disagree:
 * names the pair and both numbers, on every rank; or the planner does not serve alltoallv), RemoteError, Timeout,
 * Aborted. */
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

/* ---- Host streams ----------------------------------------------------------------------------------------------- */

/* A queue with a worker thread: operations run in the order they were enqueued. */
MYCEL_API mycelResult_t mycelStreamCreate(mycelStream_t* stream);
/* Waits until everything enqueued so far is done; returns the first error since the last synchronise. Any thread. */
MYCEL_API mycelResult_t mycelStreamSynchronize(mycelStream_t stream);
/* Finishes what is queued and frees the stream; NULL is fine. */
MYCEL_API mycelResult_t mycelStreamDestroy(mycelStream_t stream);

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
} mycelCommStats;
MYCEL_API mycelResult_t mycelCommGetStats(mycelComm_t comm, mycelCommStats* stats);
/* How a collective of `count` elements would run: one line, "planner direct/two-shot, protocol slot, 3 slices, ...".
 * alltoallv depends on its counts: the line then tells how the last one ran. Writes at most `capacity` bytes with a
 * final zero. */
MYCEL_API mycelResult_t mycelCommExplain(mycelComm_t comm, const char* collective, size_t count,
                                         mycelDataType_t datatype, char* text, size_t capacity);

#ifdef __cplusplus
}
#endif

#endif /* MYCEL_H_ */
