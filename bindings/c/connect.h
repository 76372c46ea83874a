// How a communicator's ranks get their transport: shared memory where it maps, UCX between servers.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bindings/c/device_choice.h"
#include "core/base/status.h"
#include "core/spi/bootstrap.h"
#include "core/spi/transport.h"
#include "transport/discover/host_topology.h"

namespace mycel {

/// What the environment says about transports; MYCEL_TRANSPORT is equal on all ranks.
struct TransportSettings {
  std::string transport = "auto";   // MYCEL_TRANSPORT
  std::string direct = "auto";      // MYCEL_DIRECT
  std::string huge_pages = "auto";  // MYCEL_HUGE_PAGES
  std::string nics;                 // MYCEL_NICS
};

StatusOr<TransportSettings> ReadTransportSettings();

/// Connected transport, and which ranks share this rank's server.
struct Connection {
  std::unique_ptr<Transport> transport;
  Transport* host = nullptr;  // on a GPU: the part that the ranks' hosts talk through
  /// By rank: its server, numbered in the order of the servers' lowest ranks.
  std::vector<int32_t> server_of;
  /// By rank; empty where no rank needs a network.
  std::vector<RankRails> rails_of;
};

struct ConnectOptions {
  bool one_process = false;  // all ranks are threads of this process
  /// For tests: put around the transport that reaches the ranks of this server. May be empty.
  std::function<std::unique_ptr<Transport>(std::unique_ptr<Transport>)> wrap;
  DeviceChoice device;
};

/// Collective. RemoteError when another rank could not connect; every failure is on every rank.
StatusOr<Connection> ConnectRanks(Bootstrap& bootstrap, const TransportSettings& settings,
                                  const ConnectOptions& options, const TransportOptions& wanted, Deadline deadline);

}  // namespace mycel
