/* mycelCommInitMPI: MPI carries the unique id, Mycel does the rest. */
#include "bindings/mpi/mycel_mpi.h"

/* What rank 0 tells the others: the id, or why there is none. */
typedef struct {
  mycelUniqueId id;
  int result;
} IdMessage;

mycelResult_t mycelCommInitMPI(mycelComm_t* comm, MPI_Comm mpi_comm) {
  int initialized = 0;
  int rank = 0;
  int size = 0;
  IdMessage message = {{{0}}, mycelSuccess};

  if (comm == NULL) return mycelInvalidArgument;
  if (MPI_Initialized(&initialized) != MPI_SUCCESS || !initialized) return mycelInvalidUsage;
  if (mpi_comm == MPI_COMM_NULL) return mycelInvalidArgument;
  if (MPI_Comm_rank(mpi_comm, &rank) != MPI_SUCCESS || MPI_Comm_size(mpi_comm, &size) != MPI_SUCCESS) {
    return mycelSystemError;
  }

  if (rank == 0) message.result = mycelGetUniqueId(&message.id);
  if (MPI_Bcast(&message, (int)sizeof(message), MPI_BYTE, 0, mpi_comm) != MPI_SUCCESS) return mycelSystemError;
  if (message.result != mycelSuccess) return (mycelResult_t)message.result;
  return mycelCommInitRank(comm, size, message.id, rank);
}
