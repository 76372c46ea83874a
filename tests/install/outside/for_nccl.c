/* A stranger's program for NCCL, linked with the libnccl.so.2 that Mycel installs. */
#include <nccl.h>
#include <stdio.h>

int main(void) {
  ncclComm_t comms[2];
  int numbers[2] = {1, 2};
  int version = 0;
  int rank;
  if (ncclGetVersion(&version) != ncclSuccess || version != NCCL_VERSION_CODE) return 1;
  if (ncclCommInitAll(comms, 2, NULL) != ncclSuccess) return 1;
  ncclGroupStart();
  for (rank = 0; rank < 2; ++rank) {
    ncclAllReduce(&numbers[rank], &numbers[rank], 1, ncclInt, ncclSum, comms[rank], NULL);
  }
  if (ncclGroupEnd() != ncclSuccess) return 1;
  for (rank = 0; rank < 2; ++rank) ncclCommDestroy(comms[rank]);
  if (numbers[0] == 3 && numbers[1] == 3) puts("2 ranks agree");
  return 0;
}
