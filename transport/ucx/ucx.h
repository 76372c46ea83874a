// UCX: ranks of other servers, over whatever network UCX finds: RDMA or TCP. The channels are rings in each rank's own
// memory that an engine keeps alike (engine.h).
//
// A rank's rails are the network devices that it uses; channel `index` of a pair goes over rail `index` modulo their
// number, at the source's end.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/spi/transport.h"

namespace mycel {

struct UcxOptions {
  std::vector<std::string> devices;  // this rank's rails, as UCX names them; empty: the first of NetworkDevices
  RankBoard* board = nullptr;        // this rank's, where another transport has it; null: one of our own
};

/// Whether this build has it.
bool UcxIsBuilt();
/// SystemError where it has not. Connect then takes an empty address for a rank that another transport reaches.
StatusOr<std::unique_ptr<Transport>> MakeUcxTransport(const UcxOptions& options);

}  // namespace mycel
