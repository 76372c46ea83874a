// Memory of GPUs as channels between the ranks of one server, whichever process and device they are on. A channel lies
// in the memory of its target's device; its source writes there, over NVLink, xGMI or PCIe, or within the device where
// ranks share one. What each rank's Connect does, in order:
//
//   1 host     connects the transport that ranks' hosts talk through (shared memory, or loopback between threads)
//   2 map      every peer's region: its own pointer in this process, an IPC handle in another
//   3 probe    reads the peer's token and writes a word of its own, both through the mapping
//   4 agree    pair by pair: who read, wrote and was read. A pair where anything failed uses pinned slots: shared
//   memory
//              of the host, registered with both devices
//
// Boards and liveness are the host transport's.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/spi/gpu_driver.h"
#include "core/spi/transport.h"
#include "transport/ipc/device_region.h"
#include "transport/ipc/talk.h"

namespace mycel {

struct IpcOptions {
  GpuDriver* driver = nullptr;  // outlives the transport
  int32_t device = 0;
  /// Makes what the ranks' hosts talk through; all ranks alike.
  std::function<std::unique_ptr<Transport>()> host;
  bool maps_peers = true;  // false: this rank's pairs use pinned slots
};

class IpcTransport final : public Transport {
 public:
  explicit IpcTransport(IpcOptions ipc_options);
  ~IpcTransport() override;
  IpcTransport(const IpcTransport&) = delete;
  IpcTransport& operator=(const IpcTransport&) = delete;

  std::string_view name() const override { return "ipc"; }
  StatusOr<std::string> Prepare(const TransportOptions& options) override;
  Status Connect(const std::vector<std::string>& addresses, Deadline deadline) override;
  bool Reaches(Rank peer) const override { return host_->Reaches(peer); }
  /// Pointers of the device, which no host code may follow.
  StatusOr<ChannelEnd> OpenSend(Rank target, int32_t index) override { return Open(options_.rank, target, index); }
  StatusOr<ChannelEnd> OpenRecv(Rank source, int32_t index) override { return Open(source, options_.rank, index); }
  RankBoard* BoardOf(Rank rank) override { return host_->BoardOf(rank); }
  Status CheckAlive(Rank peer) override { return host_->CheckAlive(peer); }
  std::string ConditionOf(Rank peer) override { return host_->ConditionOf(peer); }
  std::string WhyNotDirectly() const override { return "GPUs write into each other's channels instead"; }
  size_t MemoryBytes() const override;

  /// Channels for what the ranks' hosts say to each other: index 0 of each pair.
  static constexpr int32_t kHostChannels = 1;
  Transport& host() { return *host_; }
  /// How this rank's device reaches a peer's: "same device", "NVLink", "xGMI", "PCIe", "pinned memory of the host";
  /// empty for a rank that it does not reach. After Connect.
  std::string LinkTo(Rank peer) const;

 private:
  struct Peer {
    Rank rank;
    int32_t device = -1;
    std::string bus_id;
    std::string host_address;
    uint64_t process = 0;
    RegionToken token;
    GpuMemoryHandle handle;
    bool exported = false;
    PeerRegion region;  // empty: pinned slots
    uint64_t word = 0;  // written into its region
    std::string why;    // why pinned slots
  };

  Status Parse(const std::vector<std::string>& addresses);
  Status MapAndProbe(Peer* peer, GpuStream stream);
  Status MapPeer(Peer* peer);
  Status Agree(Talk* talk, GpuStream stream, Deadline deadline);
  Status ConnectPinned(Talk* talk, Deadline deadline);
  const Peer* PeerOf(Rank rank) const;
  StatusOr<ChannelEnd> Open(Rank source, Rank target, int32_t index);
  StatusOr<ChannelEnd> OpenPinned(Rank source, Rank target, int32_t index);
  void TellLinks();

  const IpcOptions ipc_options_;
  GpuDriver& driver_;
  TransportOptions options_;
  RegionLayout layout_;
  std::unique_ptr<Transport> host_;
  std::unique_ptr<Transport> pinned_;  // null where no pair needs it
  std::shared_ptr<DeviceRegion> region_;
  std::string address_;
  std::string bus_id_;
  std::vector<Peer> peers_;  // reached ones
  std::map<int32_t, std::string> links_;
  std::map<void*, ChannelEnd> registered_;  // pinned channels, by the host's address; as the device has them
  bool connected_ = false;
};

}  // namespace mycel
