#include "transport/loopback/loopback_transport.h"

#include <unistd.h>

#include <cstring>
#include <map>
#include <new>
#include <random>
#include <tuple>

#include "core/base/check.h"
#include "core/base/mutex.h"
#include "core/base/rank_text.h"

namespace mycel {
namespace {

uint64_t RandomToken() {
  std::random_device device;
  return (static_cast<uint64_t>(device()) << 32) | device();
}

struct AlignedFree {
  void operator()(std::byte* bytes) const { ::operator delete(bytes, std::align_val_t(4096)); }
};
using AlignedBytes = std::unique_ptr<std::byte[], AlignedFree>;

AlignedBytes ZeroedBytes(size_t bytes) {
  void* memory = ::operator new(bytes, std::align_val_t(4096), std::nothrow);
  if (memory != nullptr) std::memset(memory, 0, bytes);
  return AlignedBytes(static_cast<std::byte*>(memory));
}

}  // namespace

/// What the ranks of one communicator share: their boards, and the channels opened so far. Thread-safe.
class LoopbackSpace {
 public:
  explicit LoopbackSpace(const TransportOptions& options)
      : rank_count_(options.rank_count),
        channels_per_pair_(options.channels_per_pair),
        payload_bytes_(options.payload_bytes),
        boards_(new RankBoard[static_cast<size_t>(options.rank_count)]()),
        states_(static_cast<size_t>(options.rank_count)),
        inbound_bytes_(static_cast<size_t>(options.rank_count)) {}

  /// The space of the communicator, made by the first rank that asks and gone with the last that holds it.
  static StatusOr<std::shared_ptr<LoopbackSpace>> Enter(const TransportOptions& options);
  void Leave(Rank rank) {
    const MutexLock lock(mutex_);
    states_[rank.index()] = State::kLeft;
  }
  bool HasLeft(Rank rank) {
    const MutexLock lock(mutex_);
    return states_[rank.index()] == State::kLeft;
  }

  /// Where the channel lies; allocated at first use, so that a large communicator pays only for what its plans touch.
  StatusOr<std::byte*> Channel(Rank source, Rank target, int32_t index);
  size_t InboundBytes(Rank rank) {
    const MutexLock lock(mutex_);
    return inbound_bytes_[rank.index()];
  }
  RankBoard* BoardOf(Rank rank) { return &boards_[rank.index()]; }
  /// Only ranks that share this object can know it, which proves that they reach each other.
  std::string Address() const { return std::to_string(token_) + "@" + std::to_string(getpid()); }

 private:
  enum class State : uint8_t { kAbsent, kPresent, kLeft };

  const int32_t rank_count_;
  const int32_t channels_per_pair_;
  const size_t payload_bytes_;
  const uint64_t token_ = RandomToken();
  const std::unique_ptr<RankBoard[]> boards_;
  Mutex mutex_;
  std::vector<State> states_ ABSL_GUARDED_BY(mutex_);
  std::map<std::tuple<Rank, Rank, int32_t>, AlignedBytes> channels_ ABSL_GUARDED_BY(mutex_);
  std::vector<size_t> inbound_bytes_ ABSL_GUARDED_BY(mutex_);
};

StatusOr<std::shared_ptr<LoopbackSpace>> LoopbackSpace::Enter(const TransportOptions& options) {
  static Mutex registry_mutex;
  static std::map<uint64_t, std::weak_ptr<LoopbackSpace>> registry;
  const MutexLock registry_lock(registry_mutex);
  std::erase_if(registry, [](const auto& entry) { return entry.second.expired(); });
  std::weak_ptr<LoopbackSpace>& entry = registry[options.communicator];
  std::shared_ptr<LoopbackSpace> space = entry.lock();
  if (space == nullptr) entry = space = std::make_shared<LoopbackSpace>(options);
  if (space->rank_count_ != options.rank_count || space->channels_per_pair_ != options.channels_per_pair ||
      space->payload_bytes_ != options.payload_bytes) {
    return InvalidUsage(RankText(options.rank) +
                        " asks for another number of ranks, channels or payload bytes than the ranks before it: give "
                        "all ranks of the communicator the same options");
  }
  const MutexLock lock(space->mutex_);
  if (space->states_[options.rank.index()] != State::kAbsent) {
    return InvalidUsage(RankText(options.rank) + " is taken in this communicator: give each thread its own rank");
  }
  space->states_[options.rank.index()] = State::kPresent;
  return space;
}

StatusOr<std::byte*> LoopbackSpace::Channel(Rank source, Rank target, int32_t index) {
  const MutexLock lock(mutex_);
  AlignedBytes& bytes = channels_[{source, target, index}];
  if (bytes == nullptr) {
    const size_t need = ChannelBytes(payload_bytes_);
    bytes = ZeroedBytes(need);
    if (bytes == nullptr) {
      return SystemError("no memory for the channel from " + RankText(source) + " to " + RankText(target) + ": " +
                         std::to_string(need) + " bytes needed; lower MYCEL_PAYLOAD_BYTES");
    }
    inbound_bytes_[target.index()] += need;
  }
  return bytes.get();
}

LoopbackTransport::LoopbackTransport() = default;

LoopbackTransport::~LoopbackTransport() {
  if (space_ != nullptr) space_->Leave(options_.rank);
}

StatusOr<std::string> LoopbackTransport::Prepare(const TransportOptions& options) {
  MYCEL_CHECK(space_ == nullptr);
  MYCEL_CHECK(options.rank.valid() && options.rank.value() < options.rank_count);
  MYCEL_ASSIGN_OR_RETURN(space_, LoopbackSpace::Enter(options));
  options_ = options;
  return space_->Address();
}

Status LoopbackTransport::Connect(const std::vector<std::string>& addresses, Deadline /*deadline*/) {
  MYCEL_CHECK(space_ != nullptr);
  MYCEL_CHECK_EQ(addresses.size(), static_cast<size_t>(options_.rank_count));
  const std::string own = space_->Address();
  reaches_.clear();
  for (const std::string& address : addresses) reaches_.push_back(address == own);
  if (!reaches_[options_.rank.index()]) {
    return InvalidArgument(RankText(options_.rank) +
                           " was given another address than its own: pass the addresses in "
                           "rank order");
  }
  return OkStatus();
}

bool LoopbackTransport::Reaches(Rank peer) const {
  return peer.valid() && peer.index() < reaches_.size() && reaches_[peer.index()];
}

StatusOr<ChannelEnd> LoopbackTransport::Open(Rank source, Rank target, Rank peer, int32_t index) {
  if (!Reaches(peer) || peer == options_.rank || index < 0 || index >= options_.channels_per_pair) {
    return InvalidArgument("there is no loopback channel " + std::to_string(index) + " from " + RankText(source) +
                           " to " + RankText(target) +
                           ": each ordered pair of ranks in one process has channels 0 to " +
                           std::to_string(options_.channels_per_pair - 1) + ", after Connect");
  }
  MYCEL_ASSIGN_OR_RETURN(std::byte * base, space_->Channel(source, target, index));
  ChannelEnd end = ChannelAt(base, options_.payload_bytes);
  end.peer = peer.value();
  end.peer_bell = &space_->BoardOf(peer)->bell;
  end.same_address_space = true;
  end.direct_read = true;
  return end;
}

StatusOr<ChannelEnd> LoopbackTransport::OpenSend(Rank target, int32_t index) {
  return Open(options_.rank, target, target, index);
}

StatusOr<ChannelEnd> LoopbackTransport::OpenRecv(Rank source, int32_t index) {
  return Open(source, options_.rank, source, index);
}

RankBoard* LoopbackTransport::BoardOf(Rank rank) { return Reaches(rank) ? space_->BoardOf(rank) : nullptr; }

Status LoopbackTransport::CheckAlive(Rank peer) {
  if (!Reaches(peer) || !space_->HasLeft(peer)) return OkStatus();
  return RemoteError(RankText(peer) + " left the communicator: see its own error, or why it made fewer calls");
}

Status LoopbackTransport::DirectRead(Rank peer, uint64_t address, void* target, size_t bytes) {
  MYCEL_CHECK(Reaches(peer));
  std::memcpy(target, reinterpret_cast<const void*>(address), bytes);
  return OkStatus();
}

size_t LoopbackTransport::MemoryBytes() const {
  return space_ == nullptr ? 0 : space_->InboundBytes(options_.rank) + sizeof(RankBoard);
}

}  // namespace mycel
