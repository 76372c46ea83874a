// The transport of ucx.h, where UCX is there to build with.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/spi/transport.h"
#include "transport/ucx/engine.h"
#include "transport/ucx/ucx.h"

namespace mycel {

class UcxTransport final : public Transport {
 public:
  explicit UcxTransport(UcxOptions options) : ucx_options_(std::move(options)) {}

  std::string_view name() const override { return "ucx"; }
  StatusOr<std::string> Prepare(const TransportOptions& options) override;
  /// An empty address: a rank that another transport reaches.
  Status Connect(const std::vector<std::string>& addresses, Deadline deadline) override;
  bool Reaches(Rank peer) const override;
  StatusOr<ChannelEnd> OpenSend(Rank target, int32_t index) override;
  StatusOr<ChannelEnd> OpenRecv(Rank source, int32_t index) override;
  RankBoard* BoardOf(Rank rank) override;
  Status CheckAlive(Rank peer) override;
  bool NeedsProgress() const override { return engine_ != nullptr; }
  bool Progress() override { return engine_ != nullptr && engine_->Progress(); }
  size_t MemoryBytes() const override;

 private:
  Status CheckChannel(Rank source, Rank target, Rank peer, int32_t index) const;

  const UcxOptions ucx_options_;
  TransportOptions options_;
  std::unique_ptr<RankBoard> own_board_;
  std::unique_ptr<Engine> engine_;  // null with one rank
};

}  // namespace mycel
