// Meeting places: where the ranks of a communicator to be find each other. Ranks of one process meet in memory, all
// others at the listener behind a unique id; both are named by the same 128 bytes.
#pragma once

#include <memory>

#include "core/base/clock.h"
#include "core/spi/bootstrap.h"
#include "transport/bootstrap/in_process.h"
#include "transport/bootstrap/unique_id.h"

namespace mycel {

/// A new id, as mycelGetUniqueId gives it. MYCEL_COMM_ID names the meeting place instead, as NCCL_COMM_ID does: every
/// process may then make the same id.
StatusOr<UniqueId> NewUniqueId();

/// A place for `rank_count` ranks, offered by one of them.
struct HostedPlace {
  UniqueId id;
  std::shared_ptr<Meeting> meeting;  // of one process: kept until all have joined
};
StatusOr<HostedPlace> HostPlace(bool one_process, int32_t rank_count);
/// Blocks until all ranks have joined. Statuses of JoinTcp.
StatusOr<std::unique_ptr<Bootstrap>> JoinPlace(const UniqueId& id, bool one_process, Rank rank, int32_t rank_count,
                                               Deadline deadline);

}  // namespace mycel
