/* MPI_COMM_WORLD behind plain C types. */
#include "bindings/mpi/world.h"

#include <limits.h>
#include <mpi.h>
#include <stdio.h>

/* Set when this file initialised MPI, and so must finalise it. Touched by the one thread that calls MPI. */
static int we_initialized = 0;

int mycelMpiWorldInit(int* rank, int* size) {
  int initialized = 0;
  int provided = 0;
  int code = MPI_Initialized(&initialized);
  if (code == MPI_SUCCESS && !initialized) {
    code = MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided);
    if (code == MPI_SUCCESS) we_initialized = 1;
  }
  if (code == MPI_SUCCESS) code = MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  if (code == MPI_SUCCESS) code = MPI_Comm_rank(MPI_COMM_WORLD, rank);
  if (code == MPI_SUCCESS) code = MPI_Comm_size(MPI_COMM_WORLD, size);
  return code;
}

int mycelMpiWorldAllGather(const void* mine, size_t bytes, void* everyone) {
  if (bytes > INT_MAX) return MPI_ERR_COUNT;
  return MPI_Allgather(mine, (int)bytes, MPI_BYTE, everyone, (int)bytes, MPI_BYTE, MPI_COMM_WORLD);
}

int mycelMpiWorldFinalize(void) {
  if (!we_initialized) return MPI_SUCCESS;
  we_initialized = 0;
  return MPI_Finalize();
}

void mycelMpiWorldAbort(int exit_code) { MPI_Abort(MPI_COMM_WORLD, exit_code); }

void mycelMpiWorldErrorText(int code, char* text, size_t capacity) {
  char words[MPI_MAX_ERROR_STRING];
  int length = 0;
  if (capacity == 0) return;
  if (MPI_Error_string(code, words, &length) != MPI_SUCCESS)
    length = snprintf(words, sizeof(words), "MPI error %d", code);
  snprintf(text, capacity, "%.*s", length, words);
}
