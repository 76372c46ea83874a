// Seams that fail when told to: the n-th call of one function of a transport, bootstrap or device returns an error.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/spi/bootstrap.h"
#include "core/spi/device.h"
#include "core/spi/transport.h"

namespace mycel::reports {

/// Which call fails: "Transport::OpenSend", the `nth`, from 1. Counts the calls of one rank, in one thread at a time.
class Fault {
 public:
  Fault(std::string call, int nth) : call_(std::move(call)), nth_(nth) {}
  /// Whether this is the call that fails.
  bool Strikes(const char* call) {
    if (call_ != call || ++seen_ != nth_) return false;
    struck_ = true;
    return true;
  }
  bool struck() const { return struck_; }
  Status Error() const { return SystemError("injected: " + call_ + " fails"); }

 private:
  const std::string call_;
  const int nth_;
  int seen_ = 0;
  bool struck_ = false;
};

class FaultyBootstrap final : public Bootstrap {
 public:
  FaultyBootstrap(Bootstrap* wrapped, Fault* fault) : wrapped_(*wrapped), fault_(*fault) {}
  Rank rank() const override { return wrapped_.rank(); }
  int32_t rank_count() const override { return wrapped_.rank_count(); }
  StatusOr<std::vector<std::string>> AllGather(const std::string& mine, Deadline deadline) override {
    if (fault_.Strikes("Bootstrap::AllGather")) return fault_.Error();
    return wrapped_.AllGather(mine, deadline);
  }

 private:
  Bootstrap& wrapped_;
  Fault& fault_;
};

class FaultyTransport : public Transport {
 public:
  FaultyTransport(std::unique_ptr<Transport> wrapped, Fault* fault) : wrapped_(std::move(wrapped)), fault_(*fault) {}

  std::string_view name() const override { return wrapped_->name(); }
  StatusOr<std::string> Prepare(const TransportOptions& options) override {
    if (fault_.Strikes("Transport::Prepare")) return fault_.Error();
    return wrapped_->Prepare(options);
  }
  Status Connect(const std::vector<std::string>& addresses, Deadline deadline) override {
    // After the work, when the peers have what they need from it: nobody but the caller knows.
    const Status connected = wrapped_->Connect(addresses, deadline);
    return fault_.Strikes("Transport::Connect") ? fault_.Error() : connected;
  }
  bool Reaches(Rank peer) const override { return wrapped_->Reaches(peer); }
  StatusOr<ChannelEnd> OpenSend(Rank target, int32_t index) override {
    if (fault_.Strikes("Transport::OpenSend")) return fault_.Error();
    return wrapped_->OpenSend(target, index);
  }
  StatusOr<ChannelEnd> OpenRecv(Rank source, int32_t index) override {
    if (fault_.Strikes("Transport::OpenRecv")) return fault_.Error();
    return wrapped_->OpenRecv(source, index);
  }
  RankBoard* BoardOf(Rank rank) override { return wrapped_->BoardOf(rank); }
  Status CheckAlive(Rank peer) override {
    if (fault_.Strikes("Transport::CheckAlive")) return fault_.Error();
    return wrapped_->CheckAlive(peer);
  }
  bool NeedsProgress() const override { return wrapped_->NeedsProgress(); }
  bool Progress() override { return wrapped_->Progress(); }
  bool AllReadDirectly() const override { return wrapped_->AllReadDirectly(); }
  Status DirectRead(Rank peer, uint64_t address, void* target, size_t bytes) override {
    if (fault_.Strikes("Transport::DirectRead")) return fault_.Error();
    return wrapped_->DirectRead(peer, address, target, bytes);
  }
  size_t MemoryBytes() const override { return wrapped_->MemoryBytes(); }

 private:
  const std::unique_ptr<Transport> wrapped_;
  Fault& fault_;
};

class FaultyDevice final : public Device {
 public:
  FaultyDevice(const Device* wrapped, Fault* fault) : wrapped_(*wrapped), fault_(*fault) {}
  std::string_view name() const override { return wrapped_.name(); }
  const void* KernelFor(DataType type, ReduceOp op) const override { return wrapped_.KernelFor(type, op); }
  StepEvent Step(Launch& launch, int polls) const noexcept override {
    // A fault has a channel.
    if (!launch.program->channels.empty() && fault_.Strikes("Device::Step mismatch")) {
      launch.fault_channel = 0;
      return StepEvent::kMismatch;
    }
    if (!launch.program->channels.empty() && fault_.Strikes("Device::Step failure")) {
      launch.fault_channel = 0;
      launch.direct_failed = true;
      return StepEvent::kFailed;
    }
    return wrapped_.Step(launch, polls);
  }
  void Scale(DataType type, const void* factor, const void* input, void* output, size_t count) const noexcept override {
    wrapped_.Scale(type, factor, input, output, count);
  }
  bool RunsUserFunctions() const override { return wrapped_.RunsUserFunctions(); }
  int32_t BlockedOn(const Launch& launch, bool* receives) const override {
    return wrapped_.BlockedOn(launch, receives);
  }

 private:
  const Device& wrapped_;
  Fault& fault_;
};

}  // namespace mycel::reports
