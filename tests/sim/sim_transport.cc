#include "tests/sim/sim_transport.h"

#include <string>
#include <utility>

#include "core/base/check.h"
#include "transport/loopback/loopback_transport.h"

namespace mycel::sim {

SimNetwork::SimNetwork(int32_t ranks, uint64_t seed, bool drop_messages) {
  std::vector<std::string> addresses;
  for (Rank rank : Ids<Rank>(ranks)) {
    ChaosOptions chaos;
    chaos.seed = seed * 64 + static_cast<uint64_t>(rank.value());
    chaos.now_ns = [this] { return now_ns_; };
    chaos.stall_ns = 200'000;
    chaos.drop_probability = drop_messages ? 0.02 : 0;
    auto transport = std::make_unique<ChaosTransport>(std::make_unique<LoopbackTransport>(), chaos);
    TransportOptions options;
    options.rank = rank;
    options.rank_count = ranks;
    options.payload_bytes = static_cast<size_t>(kSimPayloadBytes);
    options.communicator = 0x51a0;  // one world at a time
    StatusOr<std::string> address = transport->Prepare(options);
    MYCEL_CHECK(address.ok());
    addresses.push_back(*address);
    transports_.push_back(std::move(transport));
  }
  for (const auto& transport : transports_) MYCEL_CHECK(transport->Connect(addresses, SteadyTime::max()).ok());
}

std::unique_ptr<Transport> SimNetwork::TakeTransport(Rank rank) { return std::move(transports_[rank.index()]); }

}  // namespace mycel::sim
