/* mycelCommInitMPI as an MPI program uses it: over the world, over a part of it with other ranks, and wrongly. */
#include <stdio.h>

#include "bindings/mpi/mycel_mpi.h"

static int failures = 0;

static void Expect(int condition, const char* what) {
  if (condition) return;
  ++failures;
  fprintf(stderr, "failed: %s\n", what);
}

/* Rank and size must be those of `mpi_comm`, and a sum over them must be right. */
static void CheckCommunicator(MPI_Comm mpi_comm) {
  mycelComm_t comm = NULL;
  int mpi_rank = -1;
  int mpi_size = -1;
  int rank = -1;
  int size = -1;
  int sum = 0;
  MPI_Comm_rank(mpi_comm, &mpi_rank);
  MPI_Comm_size(mpi_comm, &mpi_size);
  Expect(mycelCommInitMPI(&comm, mpi_comm) == mycelSuccess, "mycelCommInitMPI");
  if (comm == NULL) {
    fprintf(stderr, "%s\n", mycelGetLastError(NULL));
    return;
  }
  Expect(mycelCommUserRank(comm, &rank) == mycelSuccess && rank == mpi_rank, "rank is that of the MPI communicator");
  Expect(mycelCommCount(comm, &size) == mycelSuccess && size == mpi_size, "size is that of the MPI communicator");
  rank = mpi_rank + 1;
  Expect(mycelAllReduce(&rank, &sum, 1, mycelInt32, mycelSum, comm, NULL) == mycelSuccess, "mycelAllReduce");
  Expect(sum == mpi_size * (mpi_size + 1) / 2, "sum over the ranks");
  Expect(mycelCommDestroy(comm) == mycelSuccess, "mycelCommDestroy");
}

int main(int argc, char** argv) {
  mycelComm_t comm = NULL;
  MPI_Comm backwards;
  int rank = 0;
  int all_failures = 0;

  Expect(mycelCommInitMPI(&comm, (MPI_Comm)0) == mycelInvalidUsage, "before MPI_Init: InvalidUsage");
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  Expect(mycelCommInitMPI(NULL, MPI_COMM_WORLD) == mycelInvalidArgument, "no place for the result: InvalidArgument");
  Expect(mycelCommInitMPI(&comm, MPI_COMM_NULL) == mycelInvalidArgument, "MPI_COMM_NULL: InvalidArgument");

  CheckCommunicator(MPI_COMM_WORLD);
  /* Even and odd ranks apart, each in reverse order. */
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &backwards);
  CheckCommunicator(backwards);
  MPI_Comm_free(&backwards);

  MPI_Allreduce(&failures, &all_failures, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  return all_failures == 0 ? 0 : 1;
}
