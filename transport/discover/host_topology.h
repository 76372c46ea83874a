// The topology of ranks that live in the memory of CPUs: servers joined by their network devices.
#pragma once

#include <string>
#include <vector>

#include "core/topo/topology.h"
#include "transport/discover/describe.h"

namespace mycel {

/// A network device that a rank uses between servers.
struct NetworkRail {
  std::string device;
  int64_t mbps = 0;  // in each direction, > 0
  SpeedSource source = SpeedSource::kTold;
  std::string network = {};  // NetworkOf the device
};
using RankRails = std::vector<NetworkRail>;

/// By rank, from 0: its server (numbered from 0, none left out) and its rails. Ranks of a server meet at a switch,
/// their memory; with several servers a switch for each network joins them through the ranks' rails; one for all, where
/// the networks alone leave ranks apart (there is a router, then). A device that several ranks share, or that is not
/// its rank's only one, is a switch of its own. InvalidArgument where the two lists are of unlike length or a speed is
/// not positive; with one server rails may be missing.
StatusOr<Topology> HostTopology(const std::string& name, const std::string& note, const std::vector<int32_t>& server_of,
                                const std::vector<RankRails>& rails_of);

}  // namespace mycel
