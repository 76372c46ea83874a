// TCP bootstrap: ranks anywhere meet through a unique id (unique_id.h), served by the process that made it
// (rendezvous.h).
//
//   one process   UniqueId id = MakeUniqueId("").value();          (carried to the others by any means)
//   every rank    auto bootstrap = JoinTcp(id, rank, rank_count, deadline);
//
// The maker must live until all ranks have what they need; it may be a rank or not.
#pragma once

#include <memory>
#include <string>

#include "core/spi/bootstrap.h"
#include "transport/bootstrap/rendezvous.h"
#include "transport/bootstrap/unique_id.h"

namespace mycel {

/// A new meeting place in this process, offered at the addresses of `interfaces` (see LocalAddresses). Any thread.
inline StatusOr<UniqueId> MakeUniqueId(const std::string& interfaces) {
  return RendezvousHost::OfProcess().MakeUniqueId(interfaces);
}

/// Blocks until all ranks have joined. Tries all addresses of the id at once. Any thread.
///   InvalidArgument  the id is damaged, or there is no such rank
///   InvalidUsage     two ranks claim one number (both get it), ranks disagree about their count, the id was used
///   before TimeoutError     lists the ranks that did not come, or the addresses that did not answer RemoteError nobody
///   listens there any more, or a rank left (it is named)
StatusOr<std::unique_ptr<Bootstrap>> JoinTcp(const UniqueId& id, Rank rank, int32_t rank_count, Deadline deadline,
                                             RendezvousHost& host = RendezvousHost::OfProcess());

}  // namespace mycel
