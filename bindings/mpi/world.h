/* MPI_COMM_WORLD without MPI's types: what a program needs that finds out at run time which MPI launched it and loads
 * the matching libmycel_mpi_*.so by dlopen. Bench programs use it to meet under any mpirun without being linked to one
 * MPI.
 *
 * One thread per process (the one that called Init) makes all calls. Every function returns 0 on success and otherwise
 * MPI's error code, which mycelMpiWorldErrorText explains.                                                        C99
 */
#ifndef MYCEL_MPI_WORLD_H_
#define MYCEL_MPI_WORLD_H_

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define MYCEL_MPI_API __attribute__((visibility("default")))
#else
#define MYCEL_MPI_API
#endif

/* Initialises MPI (MPI_THREAD_FUNNELED) if nobody did, makes MPI errors return codes; tells rank and size. */
MYCEL_MPI_API int mycelMpiWorldInit(int* rank, int* size);
/* everyone[r * bytes .. ] = rank r's `mine`, on all ranks. At most INT_MAX bytes per rank. */
MYCEL_MPI_API int mycelMpiWorldAllGather(const void* mine, size_t bytes, void* everyone);
/* Collective: finalises MPI if mycelMpiWorldInit initialised it. */
MYCEL_MPI_API int mycelMpiWorldFinalize(void);
/* Ends every process of the job with this exit code, now. */
MYCEL_MPI_API void mycelMpiWorldAbort(int exit_code);
/* MPI's words for an error code; writes at most `capacity` bytes with a final zero. */
MYCEL_MPI_API void mycelMpiWorldErrorText(int code, char* text, size_t capacity);

/* The same as function types, for dlsym. */
typedef int (*mycelMpiWorldInitFunction)(int* rank, int* size);
typedef int (*mycelMpiWorldAllGatherFunction)(const void* mine, size_t bytes, void* everyone);
typedef int (*mycelMpiWorldFinalizeFunction)(void);
typedef void (*mycelMpiWorldAbortFunction)(int exit_code);
typedef void (*mycelMpiWorldErrorTextFunction)(int code, char* text, size_t capacity);

#ifdef __cplusplus
}
#endif

#endif /* MYCEL_MPI_WORLD_H_ */
