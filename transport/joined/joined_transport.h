// Joined: two connected transports as one. Each pair of ranks uses the near one where that reaches (it has mapped the
// peer's memory, which is proof enough), else the far one.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/spi/transport.h"

namespace mycel {

class JoinedTransport final : public Transport {
 public:
  /// Both after Connect. `far` may watch the board that `near` holds for this rank.
  JoinedTransport(std::unique_ptr<Transport> near, std::unique_ptr<Transport> far);

  /// "shm+ucx"
  std::string_view name() const override { return name_; }
  /// InvalidUsage: its parts are connected already.
  StatusOr<std::string> Prepare(const TransportOptions& options) override;
  Status Connect(const std::vector<std::string>& addresses, Deadline deadline) override;
  bool Reaches(Rank peer) const override { return near_->Reaches(peer) || far_->Reaches(peer); }
  StatusOr<ChannelEnd> OpenSend(Rank target, int32_t index) override { return PartFor(target).OpenSend(target, index); }
  StatusOr<ChannelEnd> OpenRecv(Rank source, int32_t index) override { return PartFor(source).OpenRecv(source, index); }
  RankBoard* BoardOf(Rank rank) override { return PartFor(rank).BoardOf(rank); }
  Status CheckAlive(Rank peer) override { return PartFor(peer).CheckAlive(peer); }
  std::string ConditionOf(Rank peer) override { return PartFor(peer).ConditionOf(peer); }
  bool NeedsProgress() const override { return near_->NeedsProgress() || far_->NeedsProgress(); }
  bool Progress() override;
  bool AllReadDirectly() const override { return false; }
  std::string WhyNotDirectly() const override { return "some ranks are on other servers"; }
  int32_t MapWindow(uint64_t window, const std::vector<WindowPart>& parts) override {
    return near_->MapWindow(window, parts);
  }
  void UnmapWindow(uint64_t window) override { near_->UnmapWindow(window); }
  uint64_t WindowReads() const override { return near_->WindowReads(); }
  Status DirectRead(Rank peer, uint64_t address, void* target, size_t bytes) override {
    return PartFor(peer).DirectRead(peer, address, target, bytes);
  }
  size_t MemoryBytes() const override { return near_->MemoryBytes() + far_->MemoryBytes(); }

 private:
  Transport& PartFor(Rank peer) { return near_->Reaches(peer) ? *near_ : *far_; }

  const std::unique_ptr<Transport> near_;
  const std::unique_ptr<Transport> far_;  // ends first: it watches a board of near_
  const std::string name_;
};

}  // namespace mycel
