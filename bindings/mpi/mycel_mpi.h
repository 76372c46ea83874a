/* Mycel inside an MPI program: a communicator whose ranks are those of an MPI communicator. C99
 *
 * MPI carries the unique id and nothing else; the collectives run over Mycel's own transports. MPI libraries differ in
 * their binary interface, so this is compiled once per MPI: link libmycel_mpi_openmpi or libmycel_mpi_mpich, whichever
 * your program was built with.
 */
#ifndef MYCEL_MPI_H_
#define MYCEL_MPI_H_

#include <mpi.h>

#include <mycel/mycel.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Collective over `mpi_comm`: rank 0 makes a unique id, MPI_Bcast carries it, every rank calls mycelCommInitRank. Ranks
 * and their order are those of `mpi_comm`. MPI must be initialised; the caller must be a thread that may call MPI (with
 * MPI_THREAD_FUNNELED, the main one). `mpi_comm` may be freed afterwards. If rank 0 cannot make an id, every rank gets
 * its error instead of a hang. InvalidArgument: comm is NULL or mpi_comm is MPI_COMM_NULL. InvalidUsage: MPI is not
 * initialised. SystemError: MPI reported an error. Otherwise as mycelCommInitRank. */
MYCEL_API mycelResult_t mycelCommInitMPI(mycelComm_t* comm, MPI_Comm mpi_comm);

#ifdef __cplusplus
}
#endif

#endif /* MYCEL_MPI_H_ */
