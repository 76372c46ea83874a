/* The host half of NCCL 2.28's API for kernels that communicate (nccl_device.h), as far as its library exports it.
 * Mycel offers no such kernels; what needs them is refused. The types behind the pointers stay NCCL's. C99. */
#ifndef MYCEL_BINDINGS_NCCL_DEVICE_API_H_
#define MYCEL_BINDINGS_NCCL_DEVICE_API_H_

#include "bindings/nccl/nccl.h"

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif

/* Some of a communicator's ranks, `stride` apart; `rank` is the caller's number among them. */
typedef struct ncclTeam {
  int nRanks, rank, stride;
} ncclTeam_t;

/* InvalidUsage, always. */
MYCEL_NCCL_FUNCTION(ncclResult_t, DevCommCreate, (ncclComm_t comm, const void* requirements, void* devComm));
MYCEL_NCCL_FUNCTION(ncclResult_t, DevCommDestroy, (ncclComm_t comm, const void* devComm));
MYCEL_NCCL_FUNCTION(ncclResult_t, LsaBarrierCreateRequirement,
                    (ncclTeam_t team, int nBarriers, void* handle, void* requirement));
MYCEL_NCCL_FUNCTION(ncclResult_t, GinBarrierCreateRequirement,
                    (ncclComm_t comm, ncclTeam_t team, int nBarriers, void* handle, void* requirement));
MYCEL_NCCL_FUNCTION(ncclResult_t, LLA2ACreateRequirement, (int nBlocks, int nSlots, void* handle, void* requirement));
/* 0, always: there are no slots. */
MYCEL_NCCL_FUNCTION(int, LLA2ACalcSlots, (int maxElts, int maxEltSize));

/* All ranks; those whose memory a kernel of this rank could load from and store to, which is this rank alone; and one
 * of each of those, which is all again. A communicator that is none: no ranks. */
MYCEL_NCCL_FUNCTION(ncclTeam_t, TeamWorld, (ncclComm_t comm));
MYCEL_NCCL_FUNCTION(ncclTeam_t, TeamLsa, (ncclComm_t comm));
MYCEL_NCCL_FUNCTION(ncclTeam_t, TeamRail, (ncclComm_t comm));
/* What rank `rank` of `team` is in all, or in the second of these teams. */
MYCEL_NCCL_FUNCTION(int, TeamRankToWorld, (ncclComm_t comm, ncclTeam_t team, int rank));
MYCEL_NCCL_FUNCTION(int, TeamRankToLsa, (ncclComm_t comm, ncclTeam_t team, int rank));

/* What the name without Internal does. */
void ncclResetDebugInitInternal(void);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif

#ifdef __cplusplus
}
#endif

#endif /* MYCEL_BINDINGS_NCCL_DEVICE_API_H_ */
