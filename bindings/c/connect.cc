#include "bindings/c/connect.h"

#include <algorithm>
#include <sstream>
#include <utility>

#include "core/base/env.h"
#include "core/base/log.h"
#include "transport/discover/network_devices.h"
#include "transport/ipc/ipc_transport.h"
#include "transport/joined/joined_transport.h"
#include "transport/loopback/loopback_transport.h"
#include "transport/shm/shm_transport.h"
#include "transport/ucx/ucx.h"

namespace mycel {
namespace {

std::unique_ptr<Transport> MakeShm(const TransportSettings& settings) {
  ShmOptions shm;
  shm.direct = settings.direct == "on"    ? DirectMode::kOn
               : settings.direct == "off" ? DirectMode::kOff
                                          : DirectMode::kAuto;
  shm.huge_pages = settings.huge_pages == "on"    ? HugePages::kOn
                   : settings.huge_pages == "off" ? HugePages::kOff
                                                  : HugePages::kAuto;
  return std::make_unique<ShmTransport>(shm);
}

/// Every rank gives its status and a word; all return the first failure, or the words.
StatusOr<std::vector<std::string>> Agree(Bootstrap& bootstrap, const Status& mine, const std::string& word,
                                         Deadline deadline, const char* failed = "could not connect") {
  MYCEL_ASSIGN_OR_RETURN(std::vector<std::string> of_ranks,
                         bootstrap.AllGather(mine.ok() ? "+" + word : "-" + StatusMessage(mine), deadline));
  MYCEL_RETURN_IF_ERROR(mine);
  for (size_t rank = 0; rank < of_ranks.size(); ++rank) {
    std::string& said = of_ranks[rank];
    if (said.empty() || said[0] != '+') {
      return RemoteError("rank " + std::to_string(rank) + " " + failed + ": " + (said.empty() ? "" : said.substr(1)));
    }
    said.erase(0, 1);
  }
  return of_ranks;
}

/// Prepare, exchange, Connect, and agree that everybody has. A failure of one is known to all, or the others would wait
/// for it in their first operation. `skips(rank)`: it is not to be connected.
template <typename Skips>
Status Connect(Bootstrap& bootstrap, const TransportOptions& wanted, const Skips& skips, Deadline deadline,
               Transport* transport) {
  const StatusOr<std::string> address = transport->Prepare(wanted);
  MYCEL_ASSIGN_OR_RETURN(std::vector<std::string> addresses,
                         Agree(bootstrap, address.status(), address.ok() ? *address : std::string(), deadline,
                               "could not prepare its transport"));
  for (size_t rank = 0; rank < addresses.size(); ++rank) {
    if (skips(Rank(static_cast<int64_t>(rank)))) addresses[rank].clear();
  }
  return Agree(bootstrap, transport->Connect(addresses, deadline), "", deadline).status();
}

/// The ranks that `transport` reaches share this rank's server; each rank then tells the lowest of them.
StatusOr<std::vector<int32_t>> Servers(Bootstrap& bootstrap, const Transport& transport, Deadline deadline) {
  Rank lowest = bootstrap.rank();
  for (const Rank rank : Ids<Rank>(bootstrap.rank_count())) {
    if (transport.Reaches(rank) && rank.value() < lowest.value()) lowest = rank;
  }
  MYCEL_ASSIGN_OR_RETURN(const std::vector<std::string> lowest_of,
                         Agree(bootstrap, OkStatus(), std::to_string(lowest.value()), deadline));
  std::vector<std::string> seen;
  std::vector<int32_t> server_of;
  for (const std::string& of_rank : lowest_of) {
    auto at = std::find(seen.begin(), seen.end(), of_rank);
    if (at == seen.end()) at = seen.insert(at, of_rank);
    server_of.push_back(static_cast<int32_t>(at - seen.begin()));
  }
  return server_of;
}

/// This rank's share of its server's network devices.
StatusOr<std::vector<std::string>> RailsFor(const TransportSettings& settings, const std::vector<int32_t>& server_of,
                                            Rank rank) {
  std::vector<std::string> devices;
  if (settings.nics.empty()) {
    devices = NetworkDevices();
  } else {
    MYCEL_ASSIGN_OR_RETURN(devices, ParseDevices(settings.nics));
  }
  int32_t before = 0;
  int32_t all = 0;
  for (size_t other = 0; other < server_of.size(); ++other) {
    if (server_of[other] != server_of[rank.index()]) continue;
    if (other < rank.index()) ++before;
    ++all;
  }
  return ShareOfDevices(devices, before, all);
}

/// Connects what `skips` leaves to UCX, and says over which rails.
template <typename Skips>
Status ConnectUcx(Bootstrap& bootstrap, const TransportSettings& settings, const TransportOptions& wanted,
                  const Skips& skips, RankBoard* board, Deadline deadline, Connection* connection,
                  std::unique_ptr<Transport>* transport) {
  StatusOr<std::vector<std::string>> rails = RailsFor(settings, connection->server_of, wanted.rank);
  Status status = rails.status();
  if (status.ok()) {
    UcxOptions options;
    options.devices = *rails;
    options.board = board;
    StatusOr<std::unique_ptr<Transport>> made = MakeUcxTransport(options);
    status = made.status();
    if (made.ok()) *transport = *std::move(made);
  }
  std::string mine;
  if (status.ok()) {
    const FolderFiles files;
    for (const std::string& rail : *rails) {
      const NicSpeed speed = ReadNicSpeed(files, rail);
      const int64_t mbps = speed.source == SpeedSource::kUnknown ? kAssumedMbps : speed.mbps;
      mine += rail + " " + std::to_string(mbps) + " " + std::to_string(static_cast<int>(speed.source)) + " =" +
              NetworkOf(rail) + "\n";
    }
  }
  MYCEL_ASSIGN_OR_RETURN(const std::vector<std::string> rails_of, Agree(bootstrap, status, mine, deadline));
  for (const std::string& of_rank : rails_of) {
    std::istringstream lines(of_rank);
    RankRails parsed;
    int source = 0;
    for (NetworkRail rail; lines >> rail.device >> rail.mbps >> source >> rail.network;) {
      rail.network.erase(0, 1);  // "=", so that there is always a word
      rail.source = static_cast<SpeedSource>(source);
      parsed.push_back(rail);
    }
    connection->rails_of.push_back(std::move(parsed));
  }
  return Connect(bootstrap, wanted, skips, deadline, transport->get());
}

/// GPUs of one server. Those of several would meet through UCX, which does not carry their channels yet.
StatusOr<Connection> ConnectDevices(Bootstrap& bootstrap, const TransportSettings& settings,
                                    const ConnectOptions& options, const TransportOptions& wanted, Deadline deadline) {
  IpcOptions ipc;
  ipc.driver = options.device.driver;
  ipc.device = options.device.device;
  ipc.host = [&settings, one_process = options.one_process]() -> std::unique_ptr<Transport> {
    if (one_process) return std::make_unique<LoopbackTransport>();
    return MakeShm(settings);
  };
  auto made = std::make_unique<IpcTransport>(ipc);
  IpcTransport* transport = made.get();
  Connection connection;
  connection.transport = std::move(made);
  const auto nobody = [](Rank /*rank*/) { return false; };
  MYCEL_RETURN_IF_ERROR(Connect(bootstrap, wanted, nobody, deadline, transport));
  MYCEL_ASSIGN_OR_RETURN(connection.server_of, Servers(bootstrap, *transport, deadline));
  for (size_t rank = 0; rank < connection.server_of.size(); ++rank) {
    if (connection.server_of[rank] == connection.server_of[0]) continue;
    return InvalidUsage("rank " + std::to_string(rank) +
                        " is on another server than rank 0, and GPU communicators reach one server in this version; "
                        "stage through the host: config.device \"host\" and buffers of the host");
  }
  connection.host = &transport->host();
  return connection;
}

}  // namespace

StatusOr<TransportSettings> ReadTransportSettings() {
  TransportSettings settings;
  MYCEL_ASSIGN_OR_RETURN(settings.transport, EnvChoice(Env::kTransport));
  MYCEL_ASSIGN_OR_RETURN(settings.direct, EnvChoice(Env::kDirect));
  MYCEL_ASSIGN_OR_RETURN(settings.huge_pages, EnvChoice(Env::kHugePages));
  MYCEL_ASSIGN_OR_RETURN(settings.nics, EnvText(Env::kNics));
  return settings;
}

StatusOr<Connection> ConnectRanks(Bootstrap& bootstrap, const TransportSettings& settings,
                                  const ConnectOptions& options, const TransportOptions& wanted, Deadline deadline) {
  Connection connection;
  const auto nobody = [](Rank /*rank*/) { return false; };
  if (options.device.driver != nullptr) {
    return ConnectDevices(bootstrap, settings, options, wanted, deadline);
  }
  if (settings.transport == "ucx") {
    connection.server_of.assign(static_cast<size_t>(wanted.rank_count), 0);
    MYCEL_RETURN_IF_ERROR(
        ConnectUcx(bootstrap, settings, wanted, nobody, nullptr, deadline, &connection, &connection.transport));
    return connection;
  }
  std::unique_ptr<Transport> near =
      options.one_process ? std::unique_ptr<Transport>(std::make_unique<LoopbackTransport>()) : MakeShm(settings);
  if (options.wrap) near = options.wrap(std::move(near));
  MYCEL_RETURN_IF_ERROR(Connect(bootstrap, wanted, nobody, deadline, near.get()));
  MYCEL_ASSIGN_OR_RETURN(connection.server_of, Servers(bootstrap, *near, deadline));
  const auto other = std::find_if(connection.server_of.begin(), connection.server_of.end(),
                                  [](int32_t server) { return server != 0; });
  if (other == connection.server_of.end()) {
    connection.transport = std::move(near);
    return connection;
  }
  const auto rank_there = static_cast<size_t>(other - connection.server_of.begin());
  if (settings.transport == "shm") {
    return InvalidUsage("rank " + std::to_string(rank_there) +
                        " is not reachable through shared memory from rank 0, and MYCEL_TRANSPORT=shm allows nothing "
                        "else: unset it, or start all ranks on one server (and in one network namespace)");
  }
  const auto is_near = [&](Rank rank) { return near->Reaches(rank); };
  std::unique_ptr<Transport> far;
  MYCEL_RETURN_IF_ERROR(
      ConnectUcx(bootstrap, settings, wanted, is_near, near->BoardOf(wanted.rank), deadline, &connection, &far));
  MYCEL_LOG(kInfo) << "rank " << wanted.rank.value() << " reaches its server's ranks through " << near->name()
                   << ", the others through " << far->name();
  connection.transport = std::make_unique<JoinedTransport>(std::move(near), std::move(far));
  return connection;
}

}  // namespace mycel
