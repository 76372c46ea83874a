/* remaining RANK RANKS DEATH: one of RANKS ranks that meet by MYCEL_COMM_ID. Rank DEATH dies without a word in the
 * middle of a row of all_reduces; the others get an error that names it, shrink without it, and all_reduce on. Exit 0:
 * right. C11. */
#include <mycel/mycel.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kCount = 100000, kCalls = 1000, kLast = 3 };

/* The sum of rank + 1 over all ranks, if it is exactly that in every element. */
static mycelResult_t AllReduce(mycelComm_t comm, float value, float* sum) {
  static float data[kCount];
  for (int i = 0; i < kCount; ++i) data[i] = value;
  const mycelResult_t result = mycelAllReduce(data, data, kCount, mycelFloat, mycelSum, comm, NULL);
  for (int i = 1; i < kCount; ++i) {
    if (result == mycelSuccess && data[i] != data[0]) return mycelInternalError;
  }
  *sum = data[0];
  return result;
}

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const int rank = atoi(argv[1]);
  const int ranks = atoi(argv[2]);
  const int death = atoi(argv[3]);
  mycelUniqueId id;
  mycelComm_t comm = NULL;
  float sum = 0;
  mycelResult_t result = mycelGetUniqueId(&id);
  if (result == mycelSuccess) result = mycelCommInitRank(&comm, ranks, id, rank);
  for (int call = 0; call < kCalls && result == mycelSuccess; ++call) {
    if (rank == death && call == kLast) raise(SIGKILL);
    result = AllReduce(comm, 1, &sum);
  }
  char name[32];
  snprintf(name, sizeof(name), "rank %d", death);
  const char* said = comm == NULL ? "" : mycelGetLastError(comm);
  const int named = result != mycelSuccess && strstr(said, name) != NULL;
  printf("rank %d: %s\n", rank, said);

  mycelComm_t rest = NULL;
  mycelResult_t shrunk = mycelCommShrink(comm, &death, 1, &rest, NULL, MYCEL_SHRINK_ABORT);
  if (shrunk != mycelSuccess) printf("rank %d does not shrink: %s\n", rank, mycelGetLastError(comm));
  for (int call = 0; call < kLast && shrunk == mycelSuccess; ++call) shrunk = AllReduce(rest, (float)rank + 1, &sum);
  const float wanted = (float)(ranks * (ranks + 1) / 2 - (death + 1));
  if (rest != NULL && shrunk != mycelSuccess) printf("rank %d then: %s\n", rank, mycelGetLastError(rest));
  printf("rank %d: named %d, sum %.0f of %.0f\n", rank, named, sum, wanted);
  mycelCommDestroy(rest);
  mycelCommAbort(comm);
  return named && shrunk == mycelSuccess && sum == wanted ? 0 : 1;
}
