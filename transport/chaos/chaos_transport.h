// Chaos: wraps any transport and delays, reorders (across channels; each channel stays FIFO), stalls and, when asked
// to, loses, repeats and truncates its messages and releases. Everything follows from a seed and the caller's clock;
// there are no threads in here. It is for tests, above all for the simulator that runs many ranks on one thread.
//
// Messages move when a rank calls Progress: its own outgoing channels, and those incoming ones whose source lives in
// the same process. A rank that leaves delivers what it has published.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "core/spi/transport.h"
#include "transport/chaos/chaos_lane.h"

namespace mycel {

class ChaosTransport final : public Transport {
 public:
  ChaosTransport(std::unique_ptr<Transport> wrapped, const ChaosOptions& options);
  ~ChaosTransport() override;
  ChaosTransport(const ChaosTransport&) = delete;
  ChaosTransport& operator=(const ChaosTransport&) = delete;

  std::string_view name() const override { return "chaos"; }
  StatusOr<std::string> Prepare(const TransportOptions& options) override;
  Status Connect(const std::vector<std::string>& addresses, Deadline deadline) override {
    return wrapped_->Connect(addresses, deadline);
  }
  bool Reaches(Rank peer) const override { return wrapped_->Reaches(peer); }
  StatusOr<ChannelEnd> OpenSend(Rank target, int32_t index) override;
  StatusOr<ChannelEnd> OpenRecv(Rank source, int32_t index) override;
  RankBoard* BoardOf(Rank rank) override { return wrapped_->BoardOf(rank); }
  std::string ConditionOf(Rank peer) override { return wrapped_->ConditionOf(peer); }
  Status CheckAlive(Rank peer) override { return wrapped_->CheckAlive(peer); }
  bool NeedsProgress() const override { return true; }
  bool Progress() override;
  Status DirectRead(Rank peer, uint64_t address, void* target, size_t bytes) override {
    return wrapped_->DirectRead(peer, address, target, bytes);
  }
  size_t MemoryBytes() const override { return wrapped_->MemoryBytes() + outgoing_.size() * ChaosLane::MemoryBytes(); }

  /// When the next message or release that this rank knows of is due, kNeverDue when none is: a virtual clock may jump
  /// there when no rank can go on.
  uint64_t NextDueNs();

 private:
  using LaneKey = std::tuple<uint64_t, int32_t, int32_t, int32_t>;  // communicator, source, target, index
  struct Incoming {
    LaneKey key;
    std::shared_ptr<ChaosLane> lane;  // null until its source has opened it
  };
  struct Registry;

  LaneKey KeyOf(Rank source, Rank target, int32_t index) const {
    return {transport_options_.communicator, source.value(), target.value(), index};
  }
  void FindIncoming();

  const std::unique_ptr<Transport> wrapped_;
  const ChaosOptions options_;
  TransportOptions transport_options_;
  std::map<LaneKey, std::shared_ptr<ChaosLane>> outgoing_;
  std::vector<Incoming> incoming_;
};

}  // namespace mycel
