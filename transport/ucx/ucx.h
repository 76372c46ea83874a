// UCX: ranks of other servers, over whatever network UCX finds: RDMA or TCP. The channels are rings in each rank's own
// memory that an engine keeps alike (engine.h).
//
// Which devices a rank uses (its rails): those that the user names, else the server's network devices; the ranks of a
// server share them out, one each where there are enough ranks, several each where there are fewer ranks than devices.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/spi/transport.h"

namespace mycel {

struct UcxOptions {
  std::vector<std::string> devices;  // of this server, as UCX names them; empty: what NetworkDevices finds
  int32_t local_rank = 0;            // among the ranks of this server
  int32_t local_ranks = 1;
  RankBoard* board = nullptr;  // this rank's, where another transport has it; null: one of our own
};

/// Whether this build has it.
bool UcxIsBuilt();
/// SystemError where it has not. Connect then takes an empty address for a rank that another transport reaches.
StatusOr<std::unique_ptr<Transport>> MakeUcxTransport(const UcxOptions& options);

}  // namespace mycel
