#include "bindings/nccl/device_api.h"

#include "bindings/nccl/border.h"

using mycel::nccl::CommOf;
using mycel::nccl::NotSupported;
using mycel::nccl::Served;

namespace {

constexpr char kCure[] = "it prepares kernels that communicate by themselves; call the collectives instead";

}  // namespace

extern "C" {

ncclResult_t ncclDevCommCreate(ncclComm_t, const void*, void*) { return NotSupported("ncclDevCommCreate", kCure); }

ncclResult_t ncclDevCommDestroy(ncclComm_t, const void*) { return NotSupported("ncclDevCommDestroy", kCure); }

ncclResult_t ncclLsaBarrierCreateRequirement(ncclTeam_t, int, void*, void*) {
  return NotSupported("ncclLsaBarrierCreateRequirement", kCure);
}

ncclResult_t ncclGinBarrierCreateRequirement(ncclComm_t, ncclTeam_t, int, void*, void*) {
  return NotSupported("ncclGinBarrierCreateRequirement", kCure);
}

ncclResult_t ncclLLA2ACreateRequirement(int, int, void*, void*) {
  return NotSupported("ncclLLA2ACreateRequirement", kCure);
}

int ncclLLA2ACalcSlots(int, int) {
  (void)NotSupported("ncclLLA2ACalcSlots", kCure);
  return 0;
}

ncclTeam_t ncclTeamWorld(ncclComm_t comm) {
  ncclTeam_t team = {0, 0, 1};
  if (Served(mycelCommCount(CommOf(comm), &team.nRanks)) != ncclSuccess) return {0, 0, 1};
  if (Served(mycelCommUserRank(CommOf(comm), &team.rank)) != ncclSuccess) return {0, 0, 1};
  return team;
}

ncclTeam_t ncclTeamLsa(ncclComm_t comm) {
  const ncclTeam_t world = ncclTeamWorld(comm);
  return {world.nRanks == 0 ? 0 : 1, 0, 1};
}

ncclTeam_t ncclTeamRail(ncclComm_t comm) { return ncclTeamWorld(comm); }

int ncclTeamRankToWorld(ncclComm_t comm, ncclTeam_t team, int rank) {
  return ncclTeamWorld(comm).rank + (rank - team.rank) * team.stride;
}

int ncclTeamRankToLsa(ncclComm_t comm, ncclTeam_t team, int rank) {
  return ncclTeamLsa(comm).rank + (rank - team.rank) * team.stride;
}

}  // extern "C"

#define MYCEL_NCCL_DEVICE_API(name) MYCEL_NCCL_TWIN(name)
#include "bindings/nccl/symbols.def"
