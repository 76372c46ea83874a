#include "transport/ucx/ucx_transport.h"

#include "core/base/check.h"
#include "core/base/log.h"
#include "core/base/rank_text.h"
#include "transport/discover/network_devices.h"

namespace mycel {
namespace {}  // namespace

bool UcxIsBuilt() { return true; }

StatusOr<std::unique_ptr<Transport>> MakeUcxTransport(const UcxOptions& options) {
  return std::unique_ptr<Transport>(std::make_unique<UcxTransport>(options));
}

StatusOr<std::string> UcxTransport::Prepare(const TransportOptions& options) {
  MYCEL_CHECK(engine_ == nullptr && options.rank.valid());
  options_ = options;
  RankBoard* board = ucx_options_.board;
  if (board == nullptr) {
    own_board_ = std::make_unique<RankBoard>();
    board = own_board_.get();
  }
  if (options.rank_count == 1) return std::string("alone");
  MYCEL_ASSIGN_OR_RETURN(const UcxLibrary* ucx, LoadUcx());
  std::vector<std::string> devices = ucx_options_.devices;
  if (devices.empty()) devices.push_back(NetworkDevices().front());
  std::vector<std::unique_ptr<Rail>> rails;
  for (const std::string& device : devices) {
    MYCEL_ASSIGN_OR_RETURN(std::unique_ptr<Rail> rail, Rail::Open(*ucx, device));
    MYCEL_LOG(kInfo) << RankText(options.rank) << " reaches other servers through " << device << " (" << ucx->version
                     << ")";
    rails.push_back(std::move(rail));
  }
  engine_ = std::make_unique<Engine>(options, std::move(rails), board);
  return engine_->address().Encode();
}

Status UcxTransport::Connect(const std::vector<std::string>& addresses, Deadline deadline) {
  return engine_ == nullptr ? OkStatus() : engine_->Connect(addresses, deadline);
}

bool UcxTransport::Reaches(Rank peer) const {
  return peer == options_.rank || (peer.valid() && engine_ != nullptr && engine_->Reaches(peer));
}

Status UcxTransport::CheckChannel(Rank source, Rank target, Rank peer, int32_t index) const {
  if (peer != options_.rank && Reaches(peer) && index >= 0 && index < options_.channels_per_pair) return OkStatus();
  return InvalidArgument("there is no UCX channel " + std::to_string(index) + " from " + RankText(source) + " to " +
                         RankText(target) + ": each ordered pair of connected ranks has channels 0 to " +
                         std::to_string(options_.channels_per_pair - 1) + ", after Connect");
}

StatusOr<ChannelEnd> UcxTransport::OpenSend(Rank target, int32_t index) {
  MYCEL_RETURN_IF_ERROR(CheckChannel(options_.rank, target, target, index));
  return engine_->OpenSend(target, index);
}

StatusOr<ChannelEnd> UcxTransport::OpenRecv(Rank source, int32_t index) {
  MYCEL_RETURN_IF_ERROR(CheckChannel(source, options_.rank, source, index));
  return engine_->OpenRecv(source, index);
}

RankBoard* UcxTransport::BoardOf(Rank rank) {
  if (rank == options_.rank) return ucx_options_.board != nullptr ? ucx_options_.board : own_board_.get();
  return Reaches(rank) ? engine_->BoardOf(rank) : nullptr;
}

Status UcxTransport::CheckAlive(Rank peer) {
  return engine_ == nullptr || peer == options_.rank ? OkStatus() : engine_->CheckAlive(peer);
}

size_t UcxTransport::MemoryBytes() const {
  return (engine_ == nullptr ? 0 : engine_->MemoryBytes()) + sizeof(RankBoard);
}

}  // namespace mycel
