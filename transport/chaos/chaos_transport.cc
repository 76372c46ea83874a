#include "transport/chaos/chaos_transport.h"

#include <algorithm>

#include "core/base/check.h"
#include "core/base/mutex.h"

namespace mycel {

/// The lanes of this process, so that a target can pump what its source has opened.
struct ChaosTransport::Registry {
  Mutex mutex;
  std::map<LaneKey, std::shared_ptr<ChaosLane>> lanes ABSL_GUARDED_BY(mutex);

  static Registry& Of() {
    static Registry registry;
    return registry;
  }
};

ChaosTransport::ChaosTransport(std::unique_ptr<Transport> wrapped, const ChaosOptions& options)
    : wrapped_(std::move(wrapped)), options_(options) {
  MYCEL_CHECK(wrapped_ != nullptr && options_.now_ns != nullptr);
}

ChaosTransport::~ChaosTransport() {
  Registry& registry = Registry::Of();
  for (const auto& [key, lane] : outgoing_) {
    lane->FlushAndDetach();
    const MutexLock lock(registry.mutex);
    registry.lanes.erase(key);
  }
}

StatusOr<std::string> ChaosTransport::Prepare(const TransportOptions& options) {
  transport_options_ = options;
  return wrapped_->Prepare(options);
}

StatusOr<ChannelEnd> ChaosTransport::OpenSend(Rank target, int32_t index) {
  const LaneKey key = KeyOf(transport_options_.rank, target, index);
  std::shared_ptr<ChaosLane>& lane = outgoing_[key];
  if (lane == nullptr) {
    const StatusOr<ChannelEnd> back = wrapped_->OpenSend(target, index);
    if (!back.ok()) {
      outgoing_.erase(key);
      return back.status();
    }
    const uint64_t pair =
        static_cast<uint64_t>(transport_options_.rank.value()) << 32 | static_cast<uint64_t>(target.value());
    RankBoard* own = wrapped_->BoardOf(transport_options_.rank);
    lane = std::make_shared<ChaosLane>(*back, own == nullptr ? nullptr : &own->bell, options_,
                                       pair * 64 + static_cast<uint64_t>(index));
    Registry& registry = Registry::Of();
    const MutexLock lock(registry.mutex);
    registry.lanes[key] = lane;
  }
  return lane->SourceEnd();
}

StatusOr<ChannelEnd> ChaosTransport::OpenRecv(Rank source, int32_t index) {
  MYCEL_ASSIGN_OR_RETURN(const ChannelEnd end, wrapped_->OpenRecv(source, index));
  const LaneKey key = KeyOf(source, transport_options_.rank, index);
  const auto same = [&](const Incoming& incoming) { return incoming.key == key; };
  if (std::none_of(incoming_.begin(), incoming_.end(), same)) incoming_.push_back({key, nullptr});
  return end;
}

void ChaosTransport::FindIncoming() {
  Registry& registry = Registry::Of();
  const MutexLock lock(registry.mutex);
  for (Incoming& incoming : incoming_) {
    if (incoming.lane != nullptr) continue;
    const auto found = registry.lanes.find(incoming.key);
    if (found != registry.lanes.end()) incoming.lane = found->second;
  }
}

bool ChaosTransport::Progress() {
  FindIncoming();
  bool moved = false;
  for (const auto& [key, lane] : outgoing_) moved |= lane->Pump();
  for (const Incoming& incoming : incoming_) moved |= incoming.lane != nullptr && incoming.lane->Pump();
  return moved;
}

uint64_t ChaosTransport::NextDueNs() {
  FindIncoming();
  uint64_t due_ns = kNeverDue;
  for (const auto& [key, lane] : outgoing_) due_ns = std::min(due_ns, lane->NextDueNs());
  for (const Incoming& incoming : incoming_) {
    if (incoming.lane != nullptr) due_ns = std::min(due_ns, incoming.lane->NextDueNs());
  }
  return due_ns;
}

}  // namespace mycel
