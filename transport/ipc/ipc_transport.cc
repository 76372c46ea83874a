#include "transport/ipc/ipc_transport.h"

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <utility>

#include "core/base/check.h"
#include "core/base/log.h"
#include "transport/ipc/gpu_links.h"
#include "transport/shm/peer_process.h"

namespace mycel {
namespace {

constexpr uint64_t kAddressMagic = 0x6370696c6563796dU;
constexpr int32_t kTalkChannel = IpcTransport::kHostChannels;

/// What a rank tells the others; the host transport's address follows. Only ranks of one server read it.
struct IpcAddress {
  uint64_t magic = kAddressMagic;
  uint64_t process = 0;
  RegionToken token;
  GpuMemoryHandle handle;
  char driver[8] = {};
  char bus_id[24] = {};
  int32_t device = 0;
  int32_t exported = 0;  // 1: `handle` can be opened
};
static_assert(sizeof(IpcAddress) == 136 && std::is_trivially_copyable_v<IpcAddress>);

std::string RankText(Rank rank) { return "rank " + std::to_string(rank.value()); }

}  // namespace

IpcTransport::IpcTransport(IpcOptions ipc_options)
    : ipc_options_(std::move(ipc_options)), driver_(*ipc_options_.driver), host_(ipc_options_.host()) {}

IpcTransport::~IpcTransport() {
  if (registered_.empty()) return;
  const GpuScope scope(&driver_, ipc_options_.device);
  if (!scope.status().ok()) return;
  for (const auto& [memory, end] : registered_) driver_.UnregisterHost(memory);
}

StatusOr<std::string> IpcTransport::Prepare(const TransportOptions& options) {
  MYCEL_CHECK(address_.empty());
  MYCEL_CHECK(options.rank.valid() && options.rank.value() < options.rank_count);
  options_ = options;
  layout_ = {options.rank_count, options.channels_per_pair, options.payload_bytes};
  TransportOptions on_host = options;
  on_host.channels_per_pair = kHostChannels + 1;
  MYCEL_ASSIGN_OR_RETURN(const std::string host_address, host_->Prepare(on_host));
  MYCEL_ASSIGN_OR_RETURN(const GpuFacts facts, driver_.Describe(ipc_options_.device));
  bus_id_ = facts.bus_id;
  IpcAddress address;
  address.process = ProcessIdentity::OfThisProcess().process;
  address.device = ipc_options_.device;
  driver_.name().copy(address.driver, sizeof(address.driver) - 1);
  bus_id_.copy(address.bus_id, sizeof(address.bus_id) - 1);
  if (options.rank_count > 1) {
    const GpuScope scope(&driver_, ipc_options_.device);
    MYCEL_RETURN_IF_ERROR(scope.status());
    MYCEL_ASSIGN_OR_RETURN(region_, DeviceRegion::Make(&driver_, ipc_options_.device, layout_.TotalBytes()));
    address.token = region_->token();
    const StatusOr<GpuMemoryHandle> handle = driver_.Export(region_->base());
    address.exported = handle.ok() ? 1 : 0;
    if (handle.ok()) {
      address.handle = *handle;
    } else {
      MYCEL_LOG(kInfo) << RankText(options.rank)
                       << " cannot share its device's memory with other processes: " << StatusMessage(handle.status());
    }
  }
  address_.assign(reinterpret_cast<const char*>(&address), sizeof(address));
  address_ += host_address;
  return address_;
}

Status IpcTransport::Parse(const std::vector<std::string>& addresses) {
  MYCEL_CHECK_EQ(addresses.size(), static_cast<size_t>(options_.rank_count));
  if (addresses[options_.rank.index()] != address_) {
    return InvalidArgument(RankText(options_.rank) +
                           " was given another address than its own: pass the addresses in rank order");
  }
  for (const Rank rank : Ids<Rank>(options_.rank_count)) {
    const std::string& text = addresses[rank.index()];
    IpcAddress address;
    Peer peer;
    peer.rank = rank;
    if (text.size() > sizeof(address)) {
      std::memcpy(&address, text.data(), sizeof(address));
      if (address.magic != kAddressMagic) {
        return InvalidUsage(RankText(rank) + " has no GPU transport, " + RankText(options_.rank) +
                            " has: give all ranks the same device");
      }
      address.driver[sizeof(address.driver) - 1] = 0;
      if (driver_.name() != address.driver) {
        return InvalidUsage(RankText(rank) + " uses driver " + address.driver + ", " + RankText(options_.rank) + " " +
                            std::string(driver_.name()) + ": give all ranks the same device");
      }
      peer.device = address.device;
      peer.bus_id.assign(address.bus_id, strnlen(address.bus_id, sizeof(address.bus_id)));
      peer.process = address.process;
      peer.token = address.token;
      peer.handle = address.handle;
      peer.exported = address.exported != 0;
      peer.host_address = text.substr(sizeof(address));
    }
    peers_.push_back(std::move(peer));
  }
  return OkStatus();
}

Status IpcTransport::Connect(const std::vector<std::string>& addresses, Deadline deadline) {
  MYCEL_CHECK(!address_.empty() && peers_.empty());
  MYCEL_RETURN_IF_ERROR(Parse(addresses));
  std::vector<std::string> of_hosts;
  for (const Peer& peer : peers_) of_hosts.push_back(peer.host_address);
  MYCEL_RETURN_IF_ERROR(host_->Connect(of_hosts, deadline));
  std::erase_if(peers_, [&](const Peer& peer) { return peer.rank == options_.rank || !host_->Reaches(peer.rank); });
  if (peers_.empty()) {
    connected_ = true;
    return OkStatus();
  }
  std::vector<Rank> ranks;
  for (const Peer& peer : peers_) ranks.push_back(peer.rank);
  MYCEL_ASSIGN_OR_RETURN(Talk talk, Talk::Open(host_.get(), ranks, kTalkChannel));
  const GpuScope scope(&driver_, ipc_options_.device);
  MYCEL_RETURN_IF_ERROR(scope.status());
  MYCEL_ASSIGN_OR_RETURN(const GpuStream stream, driver_.MakeStream());
  Status status = Agree(&talk, stream, deadline);
  driver_.EndStream(stream);
  if (status.ok()) status = ConnectPinned(&talk, deadline);
  MYCEL_RETURN_IF_ERROR(status);
  TellLinks();
  connected_ = true;
  return OkStatus();
}

Status IpcTransport::MapPeer(Peer* peer) {
  if (!ipc_options_.maps_peers) return Impossible("it is switched off");
  if (peer->process == ProcessIdentity::OfThisProcess().process) {
    std::shared_ptr<DeviceRegion> region = DeviceRegion::Find(peer->token);
    if (region == nullptr) return Impossible("its memory is not found in this process");
    if (peer->device != ipc_options_.device) {
      MYCEL_ASSIGN_OR_RETURN(const bool can, driver_.CanReach(ipc_options_.device, peer->device));
      if (!can) return Impossible("the devices do not reach each other's memory");
      MYCEL_RETURN_IF_ERROR(driver_.ReachPeer(peer->device));
    }
    peer->region = PeerRegion(std::move(region));
    return OkStatus();
  }
  if (!peer->exported) return Impossible("it cannot share its memory with other processes");
  MYCEL_ASSIGN_OR_RETURN(void* opened, driver_.Open(peer->handle));
  peer->region = PeerRegion(&driver_, ipc_options_.device, opened);
  return OkStatus();
}

Status IpcTransport::MapAndProbe(Peer* peer, GpuStream stream) {
  MYCEL_RETURN_IF_ERROR(MapPeer(peer));
  RegionToken token;
  MYCEL_RETURN_IF_ERROR(CopyNow(driver_, &token, peer->region.base(), sizeof(token), stream));
  if (token != peer->token) return Impossible("what was mapped is other memory");
  peer->word = RegionToken::Random().words[0] | 1;
  return CopyNow(driver_, peer->region.base() + layout_.ProbeAt(options_.rank), &peer->word, sizeof(peer->word),
                 stream);
}

Status IpcTransport::Agree(Talk* talk, GpuStream stream, Deadline deadline) {
  // What was written into the peer, 0: nothing, with the reason.
  std::vector<std::string> written;
  for (Peer& peer : peers_) {
    const Status mapped = MapAndProbe(&peer, stream);
    if (!mapped.ok()) {
      peer.region = PeerRegion();
      peer.word = 0;
      peer.why = StatusMessage(mapped).substr(0, 512);
    }
    written.push_back(std::to_string(peer.word) + " " + peer.why);
  }
  MYCEL_ASSIGN_OR_RETURN(const std::vector<std::string> theirs, talk->Round(written, deadline));
  // Whether it arrived.
  std::vector<std::string> verdicts;
  for (size_t i = 0; i < peers_.size(); ++i) {
    Peer& peer = peers_[i];
    const uint64_t expected = std::strtoull(theirs[i].c_str(), nullptr, 10);
    uint64_t word = 0;
    MYCEL_RETURN_IF_ERROR(CopyNow(driver_, &word, region_->base() + layout_.ProbeAt(peer.rank), sizeof(word), stream));
    const bool arrived = expected != 0 && word == expected;
    if (!arrived && peer.why.empty()) {
      peer.why = expected == 0 ? theirs[i].substr(std::min(theirs[i].size(), size_t{2}))
                               : "what it wrote through its mapping did not arrive";
    }
    verdicts.push_back(arrived && peer.region.base() != nullptr ? "+" : "-" + peer.why);
  }
  MYCEL_ASSIGN_OR_RETURN(const std::vector<std::string> agreed, talk->Round(verdicts, deadline));
  for (size_t i = 0; i < peers_.size(); ++i) {
    if (agreed[i] == "+" && verdicts[i] == "+") continue;
    if (peers_[i].why.empty()) peers_[i].why = agreed[i].substr(std::min(agreed[i].size(), size_t{1}));
    peers_[i].region = PeerRegion();
  }
  return OkStatus();
}

/// Where any pair of the server needs pinned slots, all ranks make the memory for them together.
Status IpcTransport::ConnectPinned(Talk* talk, Deadline deadline) {
  const auto needs = [](const Peer& peer) { return peer.region.base() == nullptr; };
  const bool mine = std::any_of(peers_.begin(), peers_.end(), needs);
  MYCEL_ASSIGN_OR_RETURN(const std::vector<std::string> wanted,
                         talk->Round(std::vector<std::string>(peers_.size(), mine ? "1" : "0"), deadline));
  if (!mine && std::find(wanted.begin(), wanted.end(), "1") == wanted.end()) return OkStatus();
  pinned_ = ipc_options_.host();
  TransportOptions options = options_;
  options.communicator ^= 0x9e3779b97f4a7c15U;  // beside the first one
  StatusOr<std::string> address = pinned_->Prepare(options);
  const std::string say = address.ok() ? "+" + *address : "-" + StatusMessage(address.status()).substr(0, 1024);
  MYCEL_ASSIGN_OR_RETURN(const std::vector<std::string> heard,
                         talk->Round(std::vector<std::string>(peers_.size(), say), deadline));
  MYCEL_RETURN_IF_ERROR(address.status());
  std::vector<std::string> addresses(static_cast<size_t>(options_.rank_count));
  addresses[options_.rank.index()] = *address;
  for (size_t i = 0; i < peers_.size(); ++i) {
    if (heard[i].empty() || heard[i][0] != '+') {
      return RemoteError(RankText(peers_[i].rank) + " has no memory for pinned slots: " + heard[i].substr(1));
    }
    addresses[peers_[i].rank.index()] = heard[i].substr(1);
  }
  return pinned_->Connect(addresses, deadline);
}

const IpcTransport::Peer* IpcTransport::PeerOf(Rank rank) const {
  const auto found = std::find_if(peers_.begin(), peers_.end(), [rank](const Peer& peer) { return peer.rank == rank; });
  return found == peers_.end() ? nullptr : &*found;
}

StatusOr<ChannelEnd> IpcTransport::Open(Rank source, Rank target, int32_t index) {
  const Rank other = source == options_.rank ? target : source;
  const Peer* peer = connected_ ? PeerOf(other) : nullptr;
  if (peer == nullptr || index < 0 || index >= options_.channels_per_pair) {
    return InvalidArgument("there is no GPU channel " + std::to_string(index) + " from " + RankText(source) + " to " +
                           RankText(target) + ": each ordered pair of ranks on one server has channels 0 to " +
                           std::to_string(options_.channels_per_pair - 1) + ", after Connect");
  }
  ChannelEnd end;
  if (peer->region.base() == nullptr) {
    MYCEL_ASSIGN_OR_RETURN(end, OpenPinned(source, target, index));
  } else {
    std::byte* base = target == options_.rank ? region_->base() : peer->region.base();
    end = ChannelAt(base + layout_.ChannelOffset(source, target, index), options_.payload_bytes);
  }
  end.peer = other.value();
  end.peer_bell = &host_->BoardOf(other)->bell;
  return end;
}

StatusOr<ChannelEnd> IpcTransport::OpenPinned(Rank source, Rank target, int32_t index) {
  StatusOr<ChannelEnd> opened =
      source == options_.rank ? pinned_->OpenSend(target, index) : pinned_->OpenRecv(source, index);
  MYCEL_RETURN_IF_ERROR(opened.status());
  void* memory = opened->headers;
  if (const auto known = registered_.find(memory); known != registered_.end()) return known->second;
  const GpuScope scope(&driver_, ipc_options_.device);
  MYCEL_RETURN_IF_ERROR(scope.status());
  const size_t bytes = ChannelBytes(options_.payload_bytes);
  // Threads of one process share the mapping: the other end may have pinned it.
  MYCEL_ASSIGN_OR_RETURN(const GpuPointer what, driver_.Locate(memory));
  if (what.memory == GpuMemory::kPinned) return ChannelAt(static_cast<std::byte*>(memory), options_.payload_bytes);
  MYCEL_ASSIGN_OR_RETURN(void* address, driver_.RegisterHost(memory, bytes));
  const ChannelEnd end = ChannelAt(static_cast<std::byte*>(address), options_.payload_bytes);
  registered_.emplace(memory, end);
  return end;
}

void IpcTransport::TellLinks() {
  for (const Peer& peer : peers_) {
    std::string& link = links_[peer.rank.value()];
    if (peer.region.base() == nullptr) {
      link = "pinned memory of the host";
    } else if (peer.bus_id == bus_id_) {
      link = "same device";
    } else {
      link = GpuLinkText(driver_.name(), bus_id_, peer.bus_id);
    }
    MYCEL_LOG(kInfo) << RankText(options_.rank) << " reaches " << RankText(peer.rank) << " over " << link
                     << (peer.why.empty() ? "" : ": " + peer.why);
  }
}

std::string IpcTransport::LinkTo(Rank peer) const {
  const auto found = links_.find(peer.value());
  return found == links_.end() ? std::string() : found->second;
}

size_t IpcTransport::MemoryBytes() const {
  return (region_ == nullptr ? 0 : region_->bytes()) + host_->MemoryBytes() +
         (pinned_ == nullptr ? 0 : pinned_->MemoryBytes());
}

}  // namespace mycel
