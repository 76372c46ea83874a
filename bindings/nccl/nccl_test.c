/* A program that knows NCCL and host memory only: everything gives the exact answer, with four ranks as processes and
 * as the communicators of one thread, and wrong use is named. The same source is compiled with our nccl.h, with NCCL's
 * where the machine has it, and for librccl.so.1. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <nccl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bindings/c/mycel.h"
#ifdef MYCEL_NCCL_TEST_RCCL
#include "bindings/nccl/rccl.h"
#endif

/* What programs compiled with NCCL's header have built in. */
_Static_assert(sizeof(ncclUniqueId) == 128, "ncclUniqueId");
_Static_assert(sizeof(ncclResult_t) == 4 && sizeof(ncclDataType_t) == 4 && sizeof(ncclRedOp_t) == 4, "enums");
_Static_assert(ncclInvalidArgument == 4 && ncclRemoteError == 6 && ncclInProgress == 7, "ncclResult_t");
_Static_assert(ncclInt8 == 0 && ncclUint64 == 5 && ncclFloat16 == 6 && ncclFloat64 == 8 && ncclBfloat16 == 9 &&
                   ncclFloat8e4m3 == 10 && ncclFloat8e5m2 == 11 && ncclNumTypes == 12,
               "ncclDataType_t");
_Static_assert(ncclSum == 0 && ncclProd == 1 && ncclMax == 2 && ncclMin == 3 && ncclAvg == 4 && ncclNumOps == 5 &&
                   ncclMaxRedOp == 0x7fffffff,
               "ncclRedOp_t");
_Static_assert(ncclScalarDevice == 0 && ncclScalarHostImmediate == 1, "ncclScalarResidence_t");
_Static_assert(NCCL_VERSION(2, 28, 9) == 22809 && NCCL_VERSION(2, 8, 4) == 2804, "NCCL_VERSION");
#define AT(field, offset) _Static_assert(offsetof(ncclConfig_t, field) == (offset), #field)
AT(size, 0);
AT(magic, 8);
AT(version, 12);
AT(blocking, 16);
AT(cgaClusterSize, 20);
AT(minCTAs, 24);
AT(maxCTAs, 28);
AT(netName, 32);
AT(splitShare, 40);
AT(trafficClass, 44);
AT(commName, 48);
AT(collnetEnable, 56);
AT(CTAPolicy, 60);
AT(shrinkShare, 64);
AT(nvlsCTAs, 68);
AT(nChannelsPerNetPeer, 72);
AT(nvlinkCentricSched, 76);
#if NCCL_VERSION_CODE < NCCL_VERSION(2, 29, 0) /* later ones are longer */
_Static_assert(sizeof(ncclConfig_t) == 80 && ncclNumResults == 8, "ends");
#endif
#if defined(MYCEL_NCCL_TEST_HEADER) && NCCL_VERSION_CODE != MYCEL_NCCL_TEST_HEADER
#error "this is not the nccl.h that the test is for"
#endif
_Static_assert(sizeof(ncclSimInfo_t) == 24 && offsetof(ncclSimInfo_t, estimatedTime) == 16, "ncclSimInfo_t");

enum { kRanks = 4, kCount = 1000, kAll = kRanks * kCount };

static int failures = 0;

static void Expect(int condition, int line, const char* what, ncclComm_t comm) {
  if (condition) return;
  ++failures;
  fprintf(stderr, "nccl_test.c:%d: failed: %s (%s)\n", line, what, ncclGetLastError(comm));
}
#define EXPECT(condition) Expect(condition, __LINE__, #condition, NULL)
#define OK(call) Expect((call) == ncclSuccess, __LINE__, #call, NULL)
#define TEXT_HAS(comm, part) Expect(strstr(ncclGetLastError(comm), part) != NULL, __LINE__, part, comm)

/* Element `i` of what rank `rank` brings; small, so that float32 sums are exact. */
static float Value(int rank, int i) { return (float)((rank + 1) * 10 + i % 7); }
static void Fill(float* data, int rank, int count) {
  for (int i = 0; i < count; ++i) data[i] = Value(rank, i);
}
static float Sum(int i) { return 10.0f * kRanks * (kRanks + 1) / 2 + (float)(kRanks * (i % 7)); }
/* How many elements of got[0, count) are not Value(rank, from + i). */
static int Wrong(const float* got, int rank, int from, int count) {
  int wrong = 0;
  for (int i = 0; i < count; ++i) wrong += got[i] != Value(rank, from + i);
  return wrong;
}
static int WrongSums(const float* got, int from, int count, float factor) {
  int wrong = 0;
  for (int i = 0; i < count; ++i) wrong += got[i] != factor * Sum(from + i);
  return wrong;
}

/* ---- Ranks as processes ------------------------------------------------------------------------------------------ */

static void AwaitComm(ncclComm_t comm) {
  const time_t end = time(NULL) + 30;
  ncclResult_t state = ncclInProgress;
  while (state == ncclInProgress && time(NULL) < end) OK(ncclCommGetAsyncError(comm, &state));
  EXPECT(state == ncclSuccess);
}

static void CheckExchange(ncclComm_t comm, int rank) {
  static float send[kAll], recv[kAll];
  Fill(send, rank, kAll);
  OK(ncclAllReduce(send, recv, kAll, ncclFloat, ncclSum, comm, NULL));
  EXPECT(WrongSums(recv, 0, kAll, 1) == 0);
  OK(pncclAlltoAll(send, recv, kCount, ncclFloat, comm, NULL));
  for (int from = 0; from < kRanks; ++from) {
    EXPECT(Wrong(recv + from * kCount, from, rank * kCount, kCount) == 0);
  }
  /* To the next rank, from the one before, and to oneself. */
  const int next = (rank + 1) % kRanks;
  const int last = (rank + kRanks - 1) % kRanks;
  OK(ncclGroupStart());
  OK(ncclSend(send, kCount, ncclFloat, next, comm, NULL));
  OK(ncclRecv(recv, kCount, ncclFloat, last, comm, NULL));
  OK(ncclSend(send, kCount, ncclFloat, rank, comm, NULL));
  OK(ncclRecv(recv + kCount, kCount, ncclFloat, rank, comm, NULL));
  OK(ncclGroupEnd());
  EXPECT(Wrong(recv, last, 0, kCount) == 0 && Wrong(recv + kCount, rank, 0, kCount) == 0);
}

static void CheckSplitAndStream(ncclComm_t comm, int rank) {
  ncclComm_t part = NULL;
  int size = 0, place = -1, sum = 0, device = 7;
  mycelStream_t stream = NULL;
  OK(ncclCommSplit(comm, rank % 2, -rank, &part, NULL));
  OK(ncclCommCount(part, &size));
  OK(ncclCommUserRank(part, &place));
  EXPECT(size == 2 && place == (rank < 2 ? 1 : 0));
  OK(ncclCommCuDevice(part, &device));
  EXPECT(device == -1);
  /* libmycel is in this process once: its streams serve NCCL's calls. */
  EXPECT(mycelStreamCreate(&stream) == mycelSuccess);
  OK(ncclAllReduce(&rank, &sum, 1, ncclInt, ncclSum, part, (cudaStream_t)stream));
  EXPECT(mycelStreamSynchronize(stream) == mycelSuccess);
  EXPECT(sum == 2 * (rank % 2) + 2);
  EXPECT(mycelStreamDestroy(stream) == mycelSuccess);
  OK(ncclCommFinalize(part));
  OK(ncclCommDestroy(part));
  OK(ncclCommSplit(comm, rank == 0 ? NCCL_SPLIT_NOCOLOR : 0, 0, &part, NULL));
  EXPECT((part == NULL) == (rank == 0));
  if (part != NULL) OK(ncclCommDestroy(part));
}

static void CheckShrink(ncclComm_t comm, int rank) {
  ncclComm_t rest = NULL;
  int out[] = {2};
  int sum = 0;
  OK(ncclCommRevoke(comm, NCCL_REVOKE_DEFAULT));
  EXPECT(ncclAllReduce(&rank, &sum, 1, ncclInt, ncclSum, comm, NULL) == ncclInvalidUsage);
  if (rank != 2) {
    OK(ncclCommShrink(comm, out, 1, &rest, NULL, NCCL_SHRINK_ABORT));
    OK(ncclAllReduce(&rank, &sum, 1, ncclInt, ncclSum, rest, NULL));
    EXPECT(sum == 0 + 1 + 3);
    OK(ncclCommDestroy(rest));
  }
  OK(ncclCommAbort(comm));
}

static void RunRank(int rank, ncclUniqueId* ids) {
  ncclComm_t comm = NULL;
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  config.maxCTAs = 8;
  config.commName = "a name that is longer than the sixty-three bytes which Mycel shows of it";
  EXPECT(ncclCommInitRankConfig(&comm, kRanks, ids[0], rank, &config) == ncclInProgress);
  AwaitComm(comm);
  int sum = 0;
  const ncclResult_t queued = ncclAllReduce(&rank, &sum, 1, ncclInt, ncclSum, comm, NULL);
  EXPECT(queued == ncclSuccess || queued == ncclInProgress);
  AwaitComm(comm);
  EXPECT(sum == 6);
  OK(ncclCommDestroy(comm));

  config.blocking = 1;
  OK(ncclCommInitRankScalable(&comm, kRanks, rank, 2, ids + 1, &config));
  CheckExchange(comm, rank);
  CheckSplitAndStream(comm, rank);
  CheckShrink(comm, rank);
}

static void CheckProcesses(void) {
  ncclUniqueId ids[3];
  int pipes[kRanks][2];
  pid_t children[kRanks];
  for (int rank = 1; rank < kRanks; ++rank) {
    EXPECT(pipe(pipes[rank]) == 0);
    children[rank] = fork();
    if (children[rank] != 0) continue;
    if (read(pipes[rank][0], ids, sizeof(ids)) != (ssize_t)sizeof(ids)) _exit(2);
    RunRank(rank, ids);
    exit(failures == 0 ? 0 : 1);
  }
  for (int i = 0; i < 3; ++i) OK(ncclGetUniqueId(&ids[i]));
  for (int rank = 1; rank < kRanks; ++rank) EXPECT(write(pipes[rank][1], ids, sizeof(ids)) == (ssize_t)sizeof(ids));
  RunRank(0, ids);
  for (int rank = 1; rank < kRanks; ++rank) {
    int status = -1;
    EXPECT(waitpid(children[rank], &status, 0) == children[rank] && WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
}

/* ---- Ranks as communicators of one thread ------------------------------------------------------------------------ */

static float sends[kRanks][kAll], recvs[kRanks][kAll];

static void Prepare(void) {
  for (int r = 0; r < kRanks; ++r) Fill(sends[r], r, kAll);
  memset(recvs, 0, sizeof(recvs));
}
/* Calls `call` for each rank `r` in one group. */
#define GROUP(call)                            \
  do {                                         \
    Prepare();                                 \
    OK(ncclGroupStart());                      \
    for (int r = 0; r < kRanks; ++r) OK(call); \
    OK(ncclGroupEnd());                        \
  } while (0)
#define EACH(condition) \
  for (int r = 0; r < kRanks; ++r) EXPECT(condition)

static void CheckCollectives(ncclComm_t* comms) {
  const int root = 2;
  GROUP(ncclAllReduce(sends[r], sends[r], kAll, ncclFloat, ncclSum, comms[r], NULL));
  EACH(WrongSums(sends[r], 0, kAll, 1) == 0);
  GROUP(ncclAllReduce(sends[r], recvs[r], kAll, ncclFloat, ncclMax, comms[r], NULL));
  EACH(Wrong(recvs[r], kRanks - 1, 0, kAll) == 0);
  GROUP(ncclAllReduce(sends[r], recvs[r], kAll, ncclFloat, ncclAvg, comms[r], NULL));
  EACH(WrongSums(recvs[r], 0, kAll, 1.0f / kRanks) == 0);
  GROUP(ncclReduce(sends[r], recvs[r], kAll, ncclFloat, ncclSum, root, comms[r], NULL));
  EXPECT(WrongSums(recvs[root], 0, kAll, 1) == 0);
  GROUP(ncclBroadcast(sends[r], recvs[r], kAll, ncclFloat, root, comms[r], NULL));
  EACH(Wrong(recvs[r], root, 0, kAll) == 0);
  GROUP(ncclBcast(sends[r], kAll, ncclFloat, root, comms[r], NULL));
  EACH(Wrong(sends[r], root, 0, kAll) == 0);
  GROUP(ncclReduceScatter(sends[r], recvs[r], kCount, ncclFloat, ncclSum, comms[r], NULL));
  EACH(WrongSums(recvs[r], r * kCount, kCount, 1) == 0);
  GROUP(ncclAllGather(sends[r], recvs[r], kCount, ncclFloat, comms[r], NULL));
  EACH(Wrong(recvs[r], 0, 0, kCount) + Wrong(recvs[r] + 3 * kCount, 3, 0, kCount) == 0);
  GROUP(ncclGather(sends[r], recvs[r], kCount, ncclFloat, root, comms[r], NULL));
  EACH(Wrong(recvs[root] + r * kCount, r, 0, kCount) == 0);
  GROUP(ncclScatter(sends[r], recvs[r], kCount, ncclFloat, root, comms[r], NULL));
  EACH(Wrong(recvs[r], root, r * kCount, kCount) == 0);
  /* 1.0 four times in OCP E4M3 is 4.0. */
  unsigned char eighths[kRanks] = {0x38, 0x38, 0x38, 0x38};
  GROUP(ncclAllReduce(&eighths[r], &eighths[r], 1, ncclFloat8e4m3, ncclSum, comms[r], NULL));
  EACH(eighths[r] == 0x48);
#ifdef MYCEL_NCCL_TEST_RCCL
  /* Each rank sends `kCount` elements to rank 1 and nothing else. */
  const size_t to_one[kRanks] = {0, kCount, 0, 0}, none[kRanks] = {0, 0, 0, 0};
  const size_t from_all[kRanks] = {kCount, kCount, kCount, kCount}, at[kRanks] = {0, kCount, 2 * kCount, 3 * kCount};
  GROUP(ncclAlltoAllv(sends[r], to_one, none, recvs[r], r == 1 ? from_all : none, at, ncclFloat, comms[r], NULL));
  EACH(Wrong(recvs[1] + r * kCount, r, 0, kCount) == 0);
  GROUP(pncclAllToAllv(sends[r], to_one, none, recvs[r], r == 1 ? from_all : none, at, ncclFloat, comms[r], NULL));
  EACH(Wrong(recvs[1] + r * kCount, r, 0, kCount) == 0);
  EXPECT(ncclAllReduceWithBias(sends[0], recvs[0], 1, ncclFloat, ncclSum, comms[0], NULL, NULL) == ncclInvalidUsage);
  TEXT_HAS(comms[0], "not supported by Mycel: ncclAllReduceWithBias");
#endif
}

static void CheckOwnOperations(ncclComm_t* comms) {
  ncclRedOp_t ops[kRanks];
  float half = 0.5f;
  for (int r = 0; r < kRanks; ++r) {
    OK(ncclRedOpCreatePreMulSum(&ops[r], &half, ncclFloat, ncclScalarHostImmediate, comms[r]));
  }
  GROUP(ncclAllReduce(sends[r], recvs[r], kAll, ncclFloat, ops[r], comms[r], NULL));
  EACH(WrongSums(recvs[r], 0, kAll, half) == 0);
  for (int r = 0; r < kRanks; ++r) OK(ncclRedOpDestroy(ops[r], comms[r]));
  EXPECT(ncclRedOpDestroy(ops[0], comms[0]) == ncclInvalidArgument);
}

static void CheckMemory(ncclComm_t* comms) {
  void* memory[kRanks] = {NULL};
  void* handle = NULL;
  ncclWindow_t windows[kRanks] = {NULL};
  for (int r = 0; r < kRanks; ++r) OK(ncclMemAlloc(&memory[r], 4096));
  GROUP(ncclCommWindowRegister(comms[r], memory[r], 4096, &windows[r], NCCL_WIN_COLL_SYMMETRIC));
  OK(ncclCommRegister(comms[0], memory[0], 4096, &handle));
  OK(ncclCommDeregister(comms[0], handle));
  for (int r = 0; r < kRanks; ++r) OK(ncclCommWindowDeregister(comms[r], windows[r]));
  for (int r = 0; r < kRanks; ++r) OK(ncclMemFree(memory[r]));
}

static float Simulate(ncclComm_t* comms, size_t count) {
  ncclSimInfo_t info = NCCL_SIM_INFO_INITIALIZER;
  OK(ncclGroupStart());
  for (int r = 0; r < kRanks; ++r) {
    OK(ncclAllReduce(sends[r], recvs[r], count, ncclFloat, ncclSum, comms[r], NULL));
  }
  OK(ncclGroupSimulateEnd(&info));
  return info.estimatedTime;
}

static void CheckSimulation(ncclComm_t* comms) {
  Prepare();
  const float small = Simulate(comms, 1);
  EXPECT(small > 0 && Simulate(comms, kAll) > small);
  EACH(recvs[r][0] == 0); /* nothing ran */
  ncclSimInfo_t info = NCCL_SIM_INFO_INITIALIZER;
  info.magic = 1;
  OK(ncclGroupStart());
  EXPECT(ncclGroupSimulateEnd(&info) == ncclInvalidArgument);
  TEXT_HAS(NULL, "NCCL_SIM_INFO_INITIALIZER");
  EXPECT(ncclGroupSimulateEnd(NULL) == ncclInvalidUsage);
  TEXT_HAS(NULL, "no group is open");
  ncclUniqueId id;
  ncclComm_t comm = NULL;
  OK(ncclGetUniqueId(&id));
  OK(ncclGroupStart());
  OK(ncclCommInitRank(&comm, 1, id, 0));
  EXPECT(ncclGroupSimulateEnd(NULL) == ncclInvalidUsage);
  TEXT_HAS(NULL, "creates communicators");
}

/* ---- Wrong use --------------------------------------------------------------------------------------------------- */

static void CheckConfigs(void) {
  ncclUniqueId id;
  ncclComm_t comm = NULL;
  memset(&id, 0, sizeof(id));
  ncclConfig_t config = {0};
  EXPECT(ncclCommInitRankConfig(&comm, 1, id, 0, &config) == ncclInvalidArgument);
  TEXT_HAS(NULL, "NCCL_CONFIG_INITIALIZER");
  config = (ncclConfig_t)NCCL_CONFIG_INITIALIZER;
  config.cgaClusterSize = 9;
  EXPECT(ncclCommInitRankConfig(&comm, 1, id, 0, &config) == ncclInvalidArgument);
  TEXT_HAS(NULL, "cgaClusterSize is 9; it must be in 0..8");
  config.cgaClusterSize = 0;
  config.minCTAs = 4;
  config.maxCTAs = 2;
  EXPECT(ncclCommInitRankConfig(&comm, 1, id, 0, &config) == ncclInvalidArgument);
  TEXT_HAS(NULL, "minCTAs is 4");
  EXPECT(ncclCommInitRankScalable(&comm, 1, 0, 0, &id, NULL) == ncclInvalidArgument);
  TEXT_HAS(NULL, "nId is 0");

  /* In a group the refusal waits for no other rank: the group's end tells it, and runs nothing. */
  ncclComm_t pair[2] = {NULL, NULL};
  OK(ncclGetUniqueId(&id));
  OK(ncclGroupStart());
  OK(ncclCommInitRank(&pair[0], 2, id, 0));
  EXPECT(ncclCommInitRankConfig(&pair[1], 2, id, 1, &config) == ncclInvalidArgument);
  EXPECT(ncclGroupEnd() == ncclInvalidArgument);
  TEXT_HAS(NULL, "minCTAs is 4");

  /* NCCL 2.14's config ended with `blocking`; what follows it is padding. */
  config = (ncclConfig_t)NCCL_CONFIG_INITIALIZER;
  config.size = 24;
  config.version = NCCL_VERSION(2, 14, 3);
  config.cgaClusterSize = 12345;
  config.minCTAs = 0;
  OK(ncclGetUniqueId(&id));
  OK(ncclCommInitRankConfig(&comm, 1, id, 0, &config));
  OK(ncclCommDestroy(comm));
}

static void CheckWrongUse(ncclComm_t* comms) {
  int version = 0;
  float one = 1;
  OK(ncclGetVersion(&version));
#ifdef MYCEL_NCCL_TEST_RCCL
  EXPECT(version == NCCL_VERSION(2, 28, 3));
#else
  EXPECT(version == NCCL_VERSION(2, 28, 9));
#endif
  EXPECT(ncclGetVersion(NULL) == ncclInvalidArgument);
  EXPECT(strstr(ncclGetErrorString(ncclRemoteError), "remote") != NULL);
  EXPECT(strcmp(ncclGetErrorString((ncclResult_t)8), "unknown result") == 0);
  EXPECT(ncclAllReduce(&one, &one, 1, ncclFloat, ncclSum, NULL, NULL) == ncclInvalidArgument);
  EXPECT(ncclGetLastError(NULL)[0] != '\0');
  EXPECT(ncclAllReduce(&one, &one, 1, (ncclDataType_t)ncclNumTypes, ncclSum, comms[0], NULL) == ncclInvalidArgument);
  EXPECT(ncclAllReduce(NULL, &one, 1, ncclFloat, ncclSum, comms[0], NULL) == ncclInvalidArgument);
  EXPECT(ncclAllReduce(&one, &one, 1, ncclFloat, ncclSum, comms[0], (cudaStream_t)&one) == ncclInvalidArgument);
  TEXT_HAS(comms[0], "stream");
  EXPECT(ncclSend(&one, 1, ncclFloat, kRanks, comms[0], NULL) == ncclInvalidArgument);
  EXPECT(ncclGroupEnd() == ncclInvalidUsage);
  EXPECT(ncclCommGetAsyncError(comms[0], NULL) == ncclInvalidArgument);
  /* Mycel's timeout, which NCCL 2.28 has no number for. */
  ncclUniqueId id;
  ncclComm_t alone = NULL;
  OK(ncclGetUniqueId(&id));
  setenv("MYCEL_TIMEOUT", "0.2", 1);
  EXPECT(ncclCommInitRank(&alone, 2, id, 0) == ncclRemoteError);
  TEXT_HAS(NULL, "rank 1");
  unsetenv("MYCEL_TIMEOUT");
  OK(ncclCommFinalize(NULL));
  OK(ncclCommAbort(NULL));
  OK(ncclCommDestroy(NULL));
  /* Not in nccl.h: for kernels. */
  typedef ncclResult_t (*DevCommCreate)(ncclComm_t, const void*, void*);
  DevCommCreate create = NULL;
  *(void**)&create = dlsym(RTLD_DEFAULT, "ncclDevCommCreate");
  EXPECT(create != NULL && create(comms[0], NULL, NULL) == ncclInvalidUsage);
  TEXT_HAS(comms[0], "not supported by Mycel: ncclDevCommCreate");
}

int main(void) {
  ncclComm_t comms[kRanks];
  CheckProcesses();
  OK(ncclCommInitAll(comms, kRanks, NULL));
  CheckCollectives(comms);
  CheckOwnOperations(comms);
  CheckMemory(comms);
  CheckSimulation(comms);
  CheckConfigs();
  CheckWrongUse(comms);
  CheckCollectives(comms); /* none of this has hurt them */
  for (int r = 0; r < kRanks; ++r) OK(ncclCommDestroy(comms[r]));
  if (failures != 0) fprintf(stderr, "%d failures\n", failures);
  return failures == 0 ? 0 : 1;
}
