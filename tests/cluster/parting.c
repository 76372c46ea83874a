/* parting RANK BYTES: one of two ranks that meet by MYCEL_COMM_ID. Rank 0 broadcasts and leaves at once; rank 1 must
 * get every byte however long the network takes. Exit 0: right. C11. */
#include <mycel/mycel.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const int rank = atoi(argv[1]);
  const size_t bytes = strtoul(argv[2], NULL, 10);
  unsigned char* data = malloc(bytes);
  if (data == NULL) return 2;
  memset(data, rank == 0 ? 7 : 0, bytes);
  mycelUniqueId id;
  mycelComm_t comm = NULL;
  mycelResult_t result = mycelGetUniqueId(&id);
  if (result == mycelSuccess) result = mycelCommInitRank(&comm, 2, id, rank);
  if (result == mycelSuccess) result = mycelBroadcast(data, data, bytes, mycelUint8, 0, comm, NULL);
  if (result != mycelSuccess) fprintf(stderr, "rank %d: %s\n", rank, mycelGetLastError(comm));
  if (comm != NULL) mycelCommDestroy(comm);
  size_t wrong = 0;
  for (size_t i = 0; i < bytes; ++i) wrong += data[i] != 7;
  printf("rank %d: %zu wrong\n", rank, wrong);
  free(data);
  return result == mycelSuccess && wrong == 0 ? 0 : 1;
}
