#include "transport/shm/shm_transport.h"

#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <type_traits>

#include "core/base/cancel.h"
#include "core/base/check.h"
#include "core/base/log.h"
#include "core/base/rank_text.h"
#include "core/base/wait.h"
#include "transport/bootstrap/rank_list.h"

namespace mycel {
namespace {

using std::chrono::steady_clock;

constexpr uint64_t kAddressMagic = 0x6d68736c6563796dU;
constexpr size_t kSocketNameBytes = 22;
// Far beyond any machine's memory; keeps the layout's arithmetic within 64 bits.
constexpr size_t kPayloadBytesMax = size_t{1} << 40;
constexpr int32_t kRanksMax = 4096;
constexpr int32_t kChannelsPerPairMax = 64;

/// What a rank tells the others. Only ranks on one server read each other's fields, so bytes need no fixed order.
struct ShmAddress {
  uint64_t magic = kAddressMagic;
  uint64_t communicator = 0;
  uint64_t cookie = 0;
  uint64_t payload_bytes = 0;
  int32_t channels_per_pair = 0;
  int32_t rank_count = 0;
  uint64_t machine = 0;
  uint64_t network_namespace = 0;
  uint64_t pid_namespace = 0;
  uint64_t process = 0;
  int32_t pid = 0;
  char socket_name[kSocketNameBytes] = {};
  char padding[6] = {};
};
static_assert(sizeof(ShmAddress) == 104 && std::is_trivially_copyable_v<ShmAddress>);

bool Parse(const std::string& text, ShmAddress* address) {
  if (text.size() != sizeof(ShmAddress)) return false;
  std::memcpy(address, text.data(), sizeof(ShmAddress));
  return address->magic == kAddressMagic;
}

uint64_t RandomWord() {
  uint64_t word = 0;
  MYCEL_CHECK_EQ(getrandom(&word, sizeof(word), 0), static_cast<ssize_t>(sizeof(word)));
  return word;
}

}  // namespace

ShmTransport::~ShmTransport() {
  if (connected_ && segment_ != nullptr) SetPhase(MemberPhase::kLeft);
}

StatusOr<std::string> ShmTransport::Prepare(const TransportOptions& options) {
  MYCEL_CHECK(address_.empty());
  MYCEL_CHECK(options.rank.valid() && options.rank.value() < options.rank_count);
  if (options.rank_count > kRanksMax || options.channels_per_pair < 1 ||
      options.channels_per_pair > kChannelsPerPairMax || options.payload_bytes < 4096 ||
      options.payload_bytes > kPayloadBytesMax) {
    return InvalidArgument(RankText(options.rank) + ": shared memory takes at most " + std::to_string(kRanksMax) +
                           " ranks, 1 to " + std::to_string(kChannelsPerPairMax) +
                           " channels a pair and 4 KiB to 1 TiB of payload a channel; this is " +
                           std::to_string(options.rank_count) + ", " + std::to_string(options.channels_per_pair) +
                           " and " + std::to_string(options.payload_bytes) + " (see MYCEL_PAYLOAD_BYTES)");
  }
  options_ = options;
  *probe_word_ = RandomWord();
  const ProcessIdentity identity = ProcessIdentity::OfThisProcess();
  ShmAddress address;
  address.communicator = options.communicator;
  address.cookie = RandomWord();
  address.payload_bytes = options.payload_bytes;
  address.channels_per_pair = options.channels_per_pair;
  address.rank_count = options.rank_count;
  address.machine = identity.machine;
  address.network_namespace = identity.network_namespace;
  address.pid_namespace = identity.pid_namespace;
  address.process = identity.process;
  address.pid = identity.pid;
  if (options.rank_count > 1) {
    // Any rank may turn out to be its server's leader.
    std::string name;
    MYCEL_ASSIGN_OR_RETURN(listener_, ListenForHandover(RankText(options.rank), &name));
    MYCEL_CHECK_EQ(name.size(), kSocketNameBytes);
    std::memcpy(address.socket_name, name.data(), name.size());
  }
  address_.assign(reinterpret_cast<const char*>(&address), sizeof(address));
  return address_;
}

Status ShmTransport::Connect(const std::vector<std::string>& addresses, Deadline deadline) {
  MYCEL_CHECK(!address_.empty() && members_.empty());
  MYCEL_CHECK_EQ(addresses.size(), static_cast<size_t>(options_.rank_count));
  MYCEL_RETURN_IF_ERROR(Group(addresses));
  if (members_.size() == 1) {
    listener_.Close();
    solo_board_.reset(new RankBoard());
    connected_ = true;
    return OkStatus();
  }
  // A rank that cannot watch the others still meets them, to tell them so.
  Status watched = Watch();
  if (watched.code() == StatusCode::kUnavailable) return watched;
  if (shm_options_.direct != DirectMode::kOff) AllowMemoryReads();
  Status status = Map(deadline);
  if (status.ok()) status = watched;
  if (status.ok()) status = AfterMapping(deadline);
  listener_.Close();
  if (!status.ok()) return segment_ == nullptr ? status : Fail(status);
  memory_.Close();
  connected_ = true;
  return OkStatus();
}

Status ShmTransport::Group(const std::vector<std::string>& addresses) {
  if (addresses[options_.rank.index()] != address_) {
    return InvalidArgument(RankText(options_.rank) +
                           " was given another address than its own: pass the addresses in rank order");
  }
  ShmAddress mine;
  MYCEL_CHECK(Parse(address_, &mine));
  member_of_.assign(addresses.size(), -1);
  for (Rank r : Ids<Rank>(options_.rank_count)) {
    ShmAddress theirs;
    if (!Parse(addresses[r.index()], &theirs)) continue;
    if (theirs.machine != mine.machine || theirs.network_namespace != mine.network_namespace) continue;
    if (theirs.communicator != mine.communicator || theirs.rank_count != mine.rank_count ||
        theirs.channels_per_pair != mine.channels_per_pair || theirs.payload_bytes != mine.payload_bytes) {
      return InvalidUsage(RankText(options_.rank) + " and " + RankText(r) +
                          " disagree about communicator, ranks, channels a pair or payload bytes (" +
                          std::to_string(mine.payload_bytes) + " and " + std::to_string(theirs.payload_bytes) +
                          "): give all ranks the same options and environment");
    }
    Member member;
    member.who.rank = r;
    member.who.name = RankText(r) + " (pid " + std::to_string(theirs.pid) + ")";
    member.identity.pid = theirs.pid;
    member.identity.pid_namespace = theirs.pid_namespace;
    member.identity.process = theirs.process;
    member.same_process = theirs.process == mine.process;
    if (members_.empty()) {
      leader_socket_.assign(theirs.socket_name, kSocketNameBytes);
      key_ = {theirs.communicator, theirs.cookie};
    }
    member_of_[r.index()] = static_cast<int32_t>(members_.size());
    members_.push_back(std::move(member));
  }
  self_ = member_of_[options_.rank.index()];
  return OkStatus();
}

Status ShmTransport::Watch() {
  const uint64_t here = ProcessIdentity::OfThisProcess().pid_namespace;
  for (Member& member : members_) {
    const bool visible = here != 0 && member.identity.pid_namespace == here;
    if (member.same_process || !visible) continue;
    MYCEL_ASSIGN_OR_RETURN(member.process, PeerProcess::Watch(member.identity.pid, member.who.name));
  }
  return OkStatus();
}

Status ShmTransport::Map(Deadline deadline) {
  SegmentLayout layout;
  layout.members = static_cast<int32_t>(members_.size());
  layout.channels_per_pair = options_.channels_per_pair;
  layout.payload_bytes = options_.payload_bytes;
  std::vector<HandoverMember> who;
  for (const Member& member : members_) who.push_back(member.who);
  const auto check_alive = [this] { return CheckAllAlive(); };
  if (self_ == 0) {
    StatusOr<Segment::Made> made = Segment::Make(layout, shm_options_.huge_pages, Self().who.name);
    if (made.ok()) {
      segment_ = made->segment;
      PublishMapped();
    }
    MYCEL_RETURN_IF_ERROR(HandOver(listener_, made, key_, who, deadline, check_alive));
    memory_ = std::move(made->fd);
    return OkStatus();
  }
  // The descriptor of the listener is enough for the socket that comes next: a full table does not stop us here.
  listener_.Close();
  MYCEL_ASSIGN_OR_RETURN(Received received, Receive(leader_socket_, layout, key_, self_, who, deadline, check_alive));
  segment_ = std::move(received.segment);
  memory_ = std::move(received.fd);
  PublishMapped();
  return OkStatus();  // closes received.socket: the leader learns that the phase is set
}

void ShmTransport::PublishMapped() {
  MemberState& state = segment_->StateOf(self_);
  state.probe_address = reinterpret_cast<uint64_t>(probe_word_.get());
  state.probe_word = *probe_word_;
  // relaxed: a fact for error texts.
  segment_->BoardOf(self_).pid.store(getpid(), std::memory_order_relaxed);
  SetPhase(MemberPhase::kMapped);
}

Status ShmTransport::AfterMapping(Deadline deadline) {
  MYCEL_RETURN_IF_ERROR(segment_->AllocateRegion(memory_.get(), self_, shm_options_.huge_pages, Self().who.name));
  MYCEL_RETURN_IF_ERROR(WaitForAll(MemberPhase::kMapped, "map the shared memory", deadline));
  MYCEL_ASSIGN_OR_RETURN(segment_->StateOf(self_).direct, Probe());
  SetPhase(MemberPhase::kReady);
  MYCEL_RETURN_IF_ERROR(WaitForAll(MemberPhase::kReady, "take its part of the shared memory", deadline));
  return AgreeOnDirect();
}

StatusOr<uint32_t> ShmTransport::Probe() {
  if (shm_options_.direct == DirectMode::kOff) return 0U;
  for (size_t m = 0; m < members_.size(); ++m) {
    const Member& member = members_[m];
    if (static_cast<int32_t>(m) == self_) continue;
    const MemberState& state = segment_->StateOf(static_cast<int32_t>(m));
    uint64_t word = 0;
    // Without a common pid namespace its pid may be somebody else's.
    const bool known = member.same_process || member.process != nullptr;
    const pid_t pid = member.same_process ? getpid() : member.identity.pid;
    const int error = known ? ReadProcessMemory(pid, state.probe_address, &word, sizeof(word)) : EPERM;
    if (error == 0 && word == state.probe_word) continue;
    const std::string why =
        Self().who.name + " cannot read the memory of " + member.who.name +
        (known ? ": " + ErrnoText(error == 0 ? EFAULT : error) : ": they are in different pid namespaces");
    if (shm_options_.direct == DirectMode::kAuto) {
      WriteText(why);
      return static_cast<uint32_t>(kDirectAllowed);
    }
    return SystemError(Self().who.name + " cannot read the memory of " + member.who.name + " (" +
                       ErrnoText(error == 0 ? EFAULT : error) +
                       "): set MYCEL_DIRECT=auto, or allow process_vm_readv (same user and pid namespace, "
                       "kernel.yama.ptrace_scope below 2, no seccomp filter against it)");
  }
  return static_cast<uint32_t>(kDirectAllowed | kDirectReads);
}

Status ShmTransport::AgreeOnDirect() {
  uint32_t all = kDirectAllowed | kDirectReads;
  for (size_t m = 0; m < members_.size(); ++m) {
    all &= segment_->StateOf(static_cast<int32_t>(m)).direct;
    if (shm_options_.direct == DirectMode::kOn && (all & kDirectReads) == 0) {
      return SystemError(Self().who.name + " must read other ranks' memory (MYCEL_DIRECT=on), but " +
                         members_[m].who.name + " cannot or may not: set MYCEL_DIRECT alike on all ranks");
    }
  }
  same_address_space_ = (all & kDirectAllowed) != 0;
  direct_read_ = (all & kDirectReads) != 0;
  if (!direct_read_) direct_refusal_ = WhyNoDirectReads();
  // One line for all: the leader's.
  if (self_ == 0 && !direct_read_ && shm_options_.direct == DirectMode::kAuto) {
    MYCEL_LOG(kInfo) << direct_refusal_ << ": large messages of these " << members_.size()
                     << " ranks go through slots, not by direct reads";
  }
  return OkStatus();
}

std::string ShmTransport::WhyNoDirectReads() {
  for (size_t m = 0; m < members_.size(); ++m) {
    const MemberState& state = segment_->StateOf(static_cast<int32_t>(m));
    if ((state.direct & kDirectReads) != 0) continue;
    if ((state.direct & kDirectAllowed) == 0) return members_[m].who.name + " has MYCEL_DIRECT=off";
    return std::string(state.failure_text, strnlen(state.failure_text, sizeof(state.failure_text)));
  }
  return {};
}

Status ShmTransport::WaitForAll(MemberPhase phase, const char* what, Deadline deadline) {
  WaitPolicy policy;
  policy.oversubscribed = true;  // others are mapping and clearing memory: leave them the cores
  Waiter waiter(policy, nullptr);
  // A member may write why it fails and end at once: after a bad verdict the phases are read once more.
  Status verdict;
  while (true) {
    std::vector<Rank> late;
    for (size_t m = 0; m < members_.size(); ++m) {
      // acquire: pairs with the release store in SetPhase of that member.
      const uint32_t seen = segment_->StateOf(static_cast<int32_t>(m)).phase.load(std::memory_order_acquire);
      if (seen == static_cast<uint32_t>(MemberPhase::kFailed)) return CheckMember(static_cast<int32_t>(m));
      // kLeft counts as kReady: a member leaves only after its Connect has succeeded.
      if (seen < static_cast<uint32_t>(phase)) late.push_back(members_[m].who.rank);
    }
    if (late.empty()) return OkStatus();
    MYCEL_RETURN_IF_ERROR(verdict);
    if (!waiter.Pause()) continue;
    verdict = CheckAllAlive();
    if (verdict.ok() && deadline.Passed()) {
      verdict = TimeoutError(Self().who.name + " waited until its deadline for " + RankList(late) + " to " + what +
                             ": see why they are late, or raise the timeout");
    }
  }
}

void ShmTransport::SetPhase(MemberPhase phase) {
  // release: publishes the fields of MemberState that belong to `phase`; pairs with the acquire loads of WaitForAll,
  // CheckMember and the leader's handover.
  segment_->StateOf(self_).phase.store(static_cast<uint32_t>(phase), std::memory_order_release);
}

void ShmTransport::WriteText(const std::string& text) {
  MemberState& state = segment_->StateOf(self_);
  const size_t length = std::min(text.size(), sizeof(state.failure_text) - 1);
  std::memcpy(state.failure_text, text.data(), length);
  state.failure_text[length] = 0;
}

Status ShmTransport::Fail(const Status& status) {
  memory_.Close();
  MemberState& state = segment_->StateOf(self_);
  state.failure_code = static_cast<uint32_t>(status.code());
  WriteText(StatusMessage(status));
  SetPhase(MemberPhase::kFailed);
  return status;
}

Status ShmTransport::CheckMember(int32_t m) const {
  const Member& member = members_[static_cast<size_t>(m)];
  if (m == self_) return OkStatus();
  if (segment_ != nullptr) {
    const MemberState& state = segment_->StateOf(m);
    // acquire: see SetPhase.
    switch (static_cast<MemberPhase>(state.phase.load(std::memory_order_acquire))) {
      case MemberPhase::kFailed: {
        const std::string text(state.failure_text, strnlen(state.failure_text, sizeof(state.failure_text)));
        const bool named = text.rfind(member.who.name, 0) == 0;
        return MakeStatus(static_cast<StatusCode>(state.failure_code), named ? text : member.who.name + ": " + text);
      }
      case MemberPhase::kLeft:
        return RemoteError(member.who.name + " left the communicator: see its own error, or why it made fewer calls");
      case MemberPhase::kAbsent:
      case MemberPhase::kMapped:
      case MemberPhase::kReady:
        break;
    }
  }
  if (member.process != nullptr && !member.process->Alive()) {
    return RemoteError(member.who.name + " died: see its own output and exit status");
  }
  return OkStatus();
}

Status ShmTransport::CheckAllAlive() const {
  MYCEL_RETURN_IF_ERROR(CheckCancelled(members_[static_cast<size_t>(self_)].who.name));
  for (size_t m = 0; m < members_.size(); ++m) {
    const Member& member = members_[m];
    if (member.process != nullptr && !member.process->Alive()) {
      return RemoteError(member.who.name + " died while the communicator was made: see its own output");
    }
  }
  return OkStatus();
}

int32_t ShmTransport::MemberOf(Rank rank) const {
  return connected_ && rank.valid() && rank.index() < member_of_.size() ? member_of_[rank.index()] : -1;
}

StatusOr<ChannelEnd> ShmTransport::Open(Rank source, Rank target, int32_t index) {
  const Rank peer = source == options_.rank ? target : source;
  const int32_t m = MemberOf(peer);
  if (m < 0 || m == self_ || index < 0 || index >= options_.channels_per_pair) {
    return InvalidArgument("there is no shared-memory channel " + std::to_string(index) + " from " + RankText(source) +
                           " to " + RankText(target) + ": each ordered pair of ranks on one server has channels 0 to " +
                           std::to_string(options_.channels_per_pair - 1) + ", after Connect");
  }
  ChannelEnd end = ChannelAt(segment_->ChannelAt(MemberOf(source), MemberOf(target), index), options_.payload_bytes);
  end.peer = peer.value();
  end.peer_bell = &segment_->BoardOf(m).bell;
  end.same_address_space = same_address_space_ && members_[static_cast<size_t>(m)].same_process;
  end.direct_read = direct_read_;
  return end;
}

StatusOr<ChannelEnd> ShmTransport::OpenSend(Rank target, int32_t index) { return Open(options_.rank, target, index); }

StatusOr<ChannelEnd> ShmTransport::OpenRecv(Rank source, int32_t index) { return Open(source, options_.rank, index); }

RankBoard* ShmTransport::BoardOf(Rank rank) {
  const int32_t m = MemberOf(rank);
  if (m < 0) return nullptr;
  return segment_ == nullptr ? solo_board_.get() : &segment_->BoardOf(m);
}

Status ShmTransport::CheckAlive(Rank peer) {
  const int32_t m = MemberOf(peer);
  return m < 0 ? OkStatus() : CheckMember(m);
}

std::string ShmTransport::ConditionOf(Rank peer) {
  const int32_t m = MemberOf(peer);
  if (m < 0 || members_[static_cast<size_t>(m)].process == nullptr) return std::string();
  return members_[static_cast<size_t>(m)].process->Condition();
}

Status ShmTransport::DirectRead(Rank peer, uint64_t address, void* target, size_t bytes) {
  const int32_t m = MemberOf(peer);
  MYCEL_CHECK(m >= 0 && direct_read_);
  const Member& member = members_[static_cast<size_t>(m)];
  for (const auto& [number, window] : member.windows) {
    const std::byte* found = window.Find(address, bytes);
    if (found == nullptr) continue;
    std::memcpy(target, found, bytes);
    ++window_reads_;
    return OkStatus();
  }
  // Between threads of one process as well: a buffer that its owner took back on an error is then an error, no crash.
  const int error = ReadProcessMemory(member.same_process ? getpid() : member.identity.pid, address, target, bytes);
  if (error == 0) return OkStatus();
  MYCEL_RETURN_IF_ERROR(CheckMember(m));
  return SystemError(Self().who.name + " cannot read " + std::to_string(bytes) + " bytes of the memory of " +
                     member.who.name + ": " + ErrnoText(error) +
                     "; was that rank's buffer freed during the operation? MYCEL_DIRECT=off avoids such reads");
}

int32_t ShmTransport::MapWindow(uint64_t window, const std::vector<WindowPart>& parts) {
  MYCEL_CHECK_EQ(parts.size(), static_cast<size_t>(options_.rank_count));
  // Where nothing is read directly a mapping would serve nobody.
  if (!direct_read_) return 0;
  int32_t mapped = 0;
  for (Member& member : members_) {
    const WindowPart& part = parts[member.who.rank.index()];
    if (part.bytes == 0 || part.fd < 0 || member.process == nullptr) continue;
    StatusOr<PeerWindow> made = PeerWindow::Map(member.identity.pid, part);
    if (!made.ok()) {
      MYCEL_LOG(kInfo) << Self().who.name << " reads the window of " << member.who.name
                       << " without mapping it: " << StatusMessage(made.status());
      continue;
    }
    member.windows.emplace_back(window, *std::move(made));
    ++mapped;
  }
  return mapped;
}

void ShmTransport::UnmapWindow(uint64_t window) {
  for (Member& member : members_) {
    std::vector<std::pair<uint64_t, PeerWindow>> kept;
    for (auto& entry : member.windows) {
      if (entry.first != window) kept.push_back(std::move(entry));
    }
    member.windows.swap(kept);
  }
}

size_t ShmTransport::MemoryBytes() const {
  if (segment_ == nullptr) return solo_board_ == nullptr ? 0 : sizeof(RankBoard);
  const SegmentLayout& layout = segment_->layout();
  // The control part is the leader's.
  return layout.RegionBytes() + (self_ == 0 ? layout.ControlBytes() : 0);
}

}  // namespace mycel
