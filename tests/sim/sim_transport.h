// The simulated network: chaos over loopback for every rank, on one virtual clock.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/base/ids.h"
#include "core/spi/transport.h"
#include "transport/chaos/chaos_transport.h"

namespace mycel::sim {

/// Payload of each simulated channel: small, so that rings wrap.
inline constexpr int64_t kSimPayloadBytes = 64 * 1024;

class SimNetwork {
 public:
  SimNetwork(int32_t ranks, uint64_t seed, bool drop_messages);

  /// Rank's transport, connected; it stays part of the network. Once per rank.
  std::unique_ptr<Transport> TakeTransport(Rank rank);
  /// Time passes; messages move when ranks that wait ask for them.
  void Tick() { now_ns_ += kTickNs; }

 private:
  static constexpr uint64_t kTickNs = 500;

  uint64_t now_ns_ = 0;
  std::vector<std::unique_ptr<ChaosTransport>> transports_;
};

}  // namespace mycel::sim
