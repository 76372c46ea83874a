// Loopback: ranks are threads of one process; channels lie in its heap. The smallest transport: copy it to start a new
// one (README.md says what to change).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/spi/transport.h"

namespace mycel {

class LoopbackSpace;

class LoopbackTransport final : public Transport {
 public:
  LoopbackTransport();
  ~LoopbackTransport() override;
  LoopbackTransport(const LoopbackTransport&) = delete;
  LoopbackTransport& operator=(const LoopbackTransport&) = delete;

  std::string_view name() const override { return "loopback"; }
  StatusOr<std::string> Prepare(const TransportOptions& options) override;
  Status Connect(const std::vector<std::string>& addresses, Deadline deadline) override;
  bool Reaches(Rank peer) const override;
  StatusOr<ChannelEnd> OpenSend(Rank target, int32_t index) override;
  StatusOr<ChannelEnd> OpenRecv(Rank source, int32_t index) override;
  RankBoard* BoardOf(Rank rank) override;
  Status CheckAlive(Rank peer) override;
  bool AllReadDirectly() const override { return true; }
  Status DirectRead(Rank peer, uint64_t address, void* target, size_t bytes) override;
  size_t MemoryBytes() const override;

 private:
  StatusOr<ChannelEnd> Open(Rank source, Rank target, Rank peer, int32_t index);

  TransportOptions options_;
  std::shared_ptr<LoopbackSpace> space_;  // set by Prepare
  std::vector<bool> reaches_;             // per rank; set by Connect
};

}  // namespace mycel
