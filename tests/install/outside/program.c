/* A stranger's program: two ranks in one process add their numbers. C99, and clean as C++. */
#include <mycel/mycel.h>
#include <stdio.h>

#define RANKS 2
#define COUNT 1000

static int Fail(const char* what, mycelResult_t result, mycelComm_t comm) {
  fprintf(stderr, "%s: %s: %s\n", what, mycelGetErrorString(result), mycelGetLastError(comm));
  return 1;
}

int main(void) {
  mycelComm_t comms[RANKS];
  static float send[RANKS][COUNT];
  static float recv[RANKS][COUNT];
  mycelResult_t result;
  int version = 0;
  int rank;
  int i;

  result = mycelGetVersion(&version);
  if (result != mycelSuccess || version != MYCEL_VERSION_CODE) return Fail("mycelGetVersion", result, NULL);
  result = mycelCommInitAll(comms, RANKS, NULL);
  if (result != mycelSuccess) return Fail("mycelCommInitAll", result, NULL);

  for (rank = 0; rank < RANKS; ++rank) {
    for (i = 0; i < COUNT; ++i) send[rank][i] = (float)(rank + i);
  }
  result = mycelGroupStart();
  for (rank = 0; rank < RANKS && result == mycelSuccess; ++rank) {
    result = mycelAllReduce(send[rank], recv[rank], COUNT, mycelFloat32, mycelSum, comms[rank], NULL);
  }
  if (result != mycelSuccess) return Fail("mycelAllReduce", result, NULL);
  result = mycelGroupEnd();
  if (result != mycelSuccess) return Fail("mycelGroupEnd", result, comms[0]);

  for (rank = 0; rank < RANKS; ++rank) {
    for (i = 0; i < COUNT; ++i) {
      if (recv[rank][i] != (float)(2 * i + 1)) {
        fprintf(stderr, "rank %d element %d is %g\n", rank, i, (double)recv[rank][i]);
        return 1;
      }
    }
    result = mycelCommDestroy(comms[rank]);
    if (result != mycelSuccess) return Fail("mycelCommDestroy", result, NULL);
  }
  printf("mycel %d: %d ranks agree\n", version, RANKS);
  return 0;
}
