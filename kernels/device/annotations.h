// Where a function runs and where a variable lives, for sources that g++, nvcc and hipcc compile alike.
#pragma once

#if defined(__CUDACC__)
#define MYCEL_DEVICE __device__
#define MYCEL_BLOCK_SHARED __shared__
#elif defined(__HIP__)
#define MYCEL_DEVICE __attribute__((device))
#define MYCEL_BLOCK_SHARED __attribute__((shared))
#else
/// The function runs on the device that the source is compiled for.
#define MYCEL_DEVICE
/// One variable for all threads of a block; on the host, whose blocks are one thread, a variable like any other.
#define MYCEL_BLOCK_SHARED
#endif

/// Before a loop of few, known rounds over registers.
#if defined(__CUDACC__) || defined(__HIP__)
#define MYCEL_UNROLL _Pragma("unroll")
#else
#define MYCEL_UNROLL
#endif

/// Before a loop over operands or memory, whose rounds a GPU compiler would copy for nothing: it only costs code.
#if defined(__CUDACC__) || defined(__HIP__)
#define MYCEL_ROLLED _Pragma("unroll 1")
#else
#define MYCEL_ROLLED
#endif
