// What a rank does when nothing moves: deadline, abort, peers' errors and deaths, disagreement; and the texts it
// leaves.
#include <cstdio>
#include <string>
#include <string_view>

#include "core/base/clock.h"
#include "core/base/host_name.h"
#include "core/runtime/communicator.h"
#include "core/runtime/flight.h"
#include "core/runtime/operation_word.h"
#include "core/runtime/trace_file.h"

namespace mycel {
namespace {

// CheckWait is called about once a millisecond; asking the kernel about every peer is dearer.
constexpr uint64_t kChecksPerAliveCheck = 16;
constexpr uint64_t kDyingNs = 500'000'000;
// Between servers boards travel behind the messages, some 10 ms later; so long a text waits for what it is about.
constexpr uint64_t kBoardLateNs = 250'000'000;

/// What `peer` says about its failure; where that is the failure of another rank, what that one said.
std::string FirstFailure(Rank peer, const std::string& said) {
  constexpr std::string_view kFailed = " failed: ";
  const size_t failed = said.rfind(kFailed);
  const size_t rank = failed == std::string::npos ? failed : said.rfind(": rank ", failed);
  if (rank != std::string::npos) return said.substr(rank + 2);
  return "rank " + std::to_string(peer.value()) + std::string(kFailed) + said;
}

std::string Seconds(uint64_t ns) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.1f s", static_cast<double>(ns) * 1e-9);
  return text;
}

/// Waits until `board`, of which only a copy is here, knows of `operation`.
void AwaitRecord(const RankBoard& board, uint64_t operation) {
  WaitPolicy policy;
  policy.mode = WaitMode::kSleep;
  Waiter waiter(policy, nullptr);
  while (board.history.Find(operation).operation == 0 && waiter.WaitedNs() < kBoardLateNs) waiter.Pause();
}

/// gatherv, scatterv: what the two sides of a pair mean by its part.
std::string UnlikePart(const CollectiveCall& call, Rank rank, Rank peer, const Launch& launch) {
  if (call.vector == nullptr || (call.collective != Collective::kGather && call.collective != Collective::kScatter)) {
    return {};
  }
  const ChannelEnd& end = *launch.program->channels[static_cast<size_t>(launch.fault_channel)];
  const uint64_t expected = rank.value() == call.root ? call.vector->recv_counts[peer.index()] : call.count;
  return "sent " + std::to_string(end.headers[end.step % kSlotCountMax].bytes) +
         " bytes (or more, in slices) where this rank expects " + std::to_string(expected * SizeOf(call.type)) +
         ", and ";
}

}  // namespace

Rank Communicator::PeerOf(int32_t channel) const {
  if (channel < 0) return Rank();
  return Rank(current_.launch.program->channels[static_cast<size_t>(channel)]->peer);
}

std::string Communicator::Me() const {
  return "rank " + std::to_string(parts_.rank.value()) + (parts_.name.empty() ? "" : " of " + parts_.name);
}

std::string Communicator::Where() const {
  std::string where = Me() + ", ";
  if (current_.point_to_point) {
    return where + LastFlightText() + " after operation " + std::to_string(sequence_);
  }
  return where + "operation " + std::to_string(sequence_) + " " + Describe(current_.call);
}

/// The operation at hand as the flight recorder has it.
std::string Communicator::LastFlightText() const {
  const uint64_t flights = status_->flights.load(std::memory_order_relaxed);
  if (flights == 0) return "send/recv";
  const FlightRecord& record = status_->records[(flights - 1) % kFlightRecords];
  return OperationText(OperationWord::Unpack(record.what.load(std::memory_order_relaxed)),
                       record.count.load(std::memory_order_relaxed));
}

std::string Communicator::Context() const {
  return " [communicator " + std::string(FieldText(status_->name)) + " of " + std::to_string(parts_.rank_count) +
         " rank(s), host " + HostName() + ", transport " +
         (parts_.transport == nullptr ? "none" : std::string(parts_.transport->name())) + "]";
}

WaitWord Communicator::BlockedWait() const {
  bool receives = false;
  const Rank peer = PeerOf(parts_.device->BlockedOn(current_.launch, &receives));
  if (!peer.valid()) return WaitWord();
  return {receives ? WaitKind::kMessage : WaitKind::kRoom, peer.value()};
}

/// Tells the peers and the status page what this rank waits for; nothing: no more.
void Communicator::PostWait(WaitWord wait, uint64_t waited_ns) {
  current_.waiting = wait.kind != WaitKind::kNothing;
  // relaxed throughout: for texts only, see board.h and status_page.h.
  constexpr auto kRelaxed = std::memory_order_relaxed;
  if (current_.waiting) status_->wait_since_ns.store(static_cast<uint64_t>(NowNs()) - waited_ns, kRelaxed);
  status_->waits.store(wait.Pack(), kRelaxed);
  if (board_ != nullptr) board_->waits.store(wait.Pack(), kRelaxed);
}

/// Where a rank is that does not wait for another, as a clause: "which has finished operation 16 and ...".
std::string Communicator::StandingOf(const RankBoard& board) const {
  const std::string at = std::to_string(board.operation.load(std::memory_order_relaxed));
  if (board.phase.load(std::memory_order_relaxed) == static_cast<uint32_t>(Phase::kIdle)) {
    return "which has finished operation " + at + " and has not called the next one";
  }
  if (board.phase.load(std::memory_order_relaxed) == static_cast<uint32_t>(Phase::kPlanning)) {
    return "which is making the plan for " + PlaceOf(board);
  }
  return "which is alive but not progressing in " + PlaceOf(board);
}

/// "operation 17 allreduce(...)", "send/recv(...) after operation 16".
std::string Communicator::PlaceOf(const RankBoard& board) {
  const std::string at = std::to_string(board.operation.load(std::memory_order_relaxed));
  const OperationWord what = WordOf(board);
  if (what.collective != kBoardSendRecv) return "operation " + at + " " + Describe(board);
  return OperationText(what, board.count.load(std::memory_order_relaxed)) + " after operation " + at;
}

/// "for a message of rank 1, which waits for a message of rank 0: a circle of waits": who waits for whom, from this
/// rank's wait to the rank at the bottom of it.
std::string Communicator::WaitText(WaitWord wait) const {
  std::string text;
  for (int32_t hops = 0; hops < parts_.rank_count; ++hops) {
    const std::string peer = std::to_string(wait.rank);
    text += (wait.kind == WaitKind::kMessage ? "for a message of rank " : "for a receive of rank ") + peer;
    if (wait.rank == parts_.rank.value()) {
      return text + ": a circle of waits" +
             (current_.point_to_point ? "; sends and receives that need each other belong in one group" : "");
    }
    const RankBoard* board = wait.rank < parts_.rank_count ? boards_[static_cast<size_t>(wait.rank)] : nullptr;
    if (board == nullptr) return text;
    const WaitWord next = WaitWord::Unpack(board->waits.load(std::memory_order_relaxed));
    const bool running = board->phase.load(std::memory_order_relaxed) == static_cast<uint32_t>(Phase::kRunning);
    const std::string condition = parts_.transport->ConditionOf(Rank(wait.rank));
    // Then it is the bottom, whatever it waited for when it was stopped.
    const bool stopped = condition.find(" stopped by ") != std::string::npos;
    if (next.kind == WaitKind::kNothing || !running || stopped || hops + 1 == parts_.rank_count) {
      return text + ", " + StandingOf(*board) + (condition.empty() ? "" : " (" + condition + ")");
    }
    text += ", which is in " + PlaceOf(*board) + " and waits ";
    wait = next;
  }
  return text;
}

/// The first of the calls both remember that this rank and `peer` made differently, in words; empty when there is none.
std::string Communicator::Disagreement(Rank peer) const {
  const RankBoard* board = boards_[peer.index()];
  if (board == nullptr || board_ == nullptr) return {};
  const uint64_t first = sequence_ < CallHistory::kKept ? 1 : sequence_ + 1 - CallHistory::kKept;
  for (uint64_t operation = first; operation <= sequence_; ++operation) {
    const CallRecord mine = board_->history.Find(operation);
    const CallRecord theirs = board->history.Find(operation);
    if (mine.operation == 0 || theirs.operation == 0 || mine.signature == theirs.signature) continue;
    return Where() + ": rank " + std::to_string(peer.value()) + " disagrees: its operation " +
           std::to_string(operation) + " is " + Describe(theirs) + ", this rank's " + Describe(mine) +
           "; every rank must make the same calls with the same arguments in the same order";
  }
  return {};
}

Status Communicator::Mismatch() {
  const Launch& launch = current_.launch;
  const Rank peer = PeerOf(launch.fault_channel);
  const RankBoard* board = boards_[peer.index()];
  if (board != nullptr && needs_progress_ && !current_.point_to_point) AwaitRecord(*board, sequence_);
  const std::string disagreement = Disagreement(peer);
  if (!disagreement.empty()) return InvalidUsage(disagreement);
  std::string text = Where() + ": rank " + std::to_string(peer.value()) + " disagrees: it ";
  if (current_.point_to_point) {
    const ChannelEnd& end = *launch.program->channels[static_cast<size_t>(launch.fault_channel)];
    const SlotHeader& header = end.headers[end.step % kSlotCountMax];
    text += "sent a message of " + std::to_string(header.bytes) +
            " bytes (or more, in slices) that has another size or type than this receive expects";
    if (board != nullptr) {
      text += "; it is in " + OperationText(WordOf(*board), board->count.load(std::memory_order_relaxed));
    }
  } else if (launch.fault_signature == launch.signature) {
    // The same operation, so not the caller's mistake.
    const ChannelEnd& end = *launch.program->channels[static_cast<size_t>(launch.fault_channel)];
    return InternalError(Where() + ": from rank " + std::to_string(peer.value()) + " a message of " +
                         std::to_string(end.headers[end.step % kSlotCountMax].bytes) +
                         " bytes arrived where this step expects another size: the transport damaged it");
  } else if (board != nullptr) {
    text += UnlikePart(current_.call, parts_.rank, peer, launch);
    text +=
        "is at operation " + std::to_string(board->operation.load(std::memory_order_relaxed)) + " " + Describe(*board);
  }
  return InvalidUsage(text + "; every rank must make the same calls with the same arguments in the same order");
}

/// Memory that cannot be read any more mostly belongs to a rank that failed or died: say that first.
Status Communicator::DirectReadFailure() {
  const Rank peer = PeerOf(current_.launch.fault_channel);
  // The kernel takes a dying process's memory away a moment before it says that it died.
  WaitPolicy policy;
  policy.mode = WaitMode::kSleep;
  Waiter waiter(policy, nullptr);
  do {
    MYCEL_RETURN_IF_ERROR(AliveStatus(peer));
    waiter.Pause();
  } while (waiter.WaitedNs() < kDyingNs);
  return RemoteError(Where() + ": reading the memory of rank " + std::to_string(peer.value()) +
                     " failed; MYCEL_DIRECT=off avoids direct reads");
}

Status Communicator::PeerStatus(Rank peer, bool blocked_on) {
  const RankBoard* board = boards_[peer.index()];
  if (board == nullptr) return OkStatus();
  // acquire: pairs with the release in Fail; makes error_text readable.
  const uint32_t error = board->error.load(std::memory_order_acquire);
  if (error != 0) {
    const auto code = static_cast<StatusCode>(error - 1);
    const std::string text = Where() + ": " + FirstFailure(peer, board->error_text);
    // A disagreement is the same mistake seen from both sides; everything else is a remote failure to us.
    return code == StatusCode::kFailedPrecondition ? InvalidUsage(text) : RemoteError(text);
  }
  if (!blocked_on) return OkStatus();
  if (board->phase.load(std::memory_order_relaxed) == static_cast<uint32_t>(Phase::kFinalized)) {
    return RemoteError(Where() + ": rank " + std::to_string(peer.value()) +
                       " has left (its communicator was destroyed) while this rank waits for it");
  }
  if (current_.point_to_point) return OkStatus();
  const std::string disagreement = Disagreement(peer);
  return disagreement.empty() ? OkStatus() : InvalidUsage(disagreement);
}

/// Of a peer that this rank waits for: its own words, or that it died or left.
Status Communicator::AliveStatus(Rank peer) {
  MYCEL_RETURN_IF_ERROR(PeerStatus(peer, true));
  const Status alive = parts_.transport->CheckAlive(peer);
  if (alive.ok()) return OkStatus();
  // It may have failed and left between the two looks; then what it said is the reason.
  MYCEL_RETURN_IF_ERROR(PeerStatus(peer, true));
  return MakeStatus(alive.code(), Where() + ": " + StatusMessage(alive));
}

Status Communicator::CheckWait(uint64_t waited_ns) {
  // relaxed: a late sight only delays the end of the wait to the next check.
  if (aborted_.load(std::memory_order_relaxed)) {
    return Fail(AbortedError(Where() + ": the communicator was " + AbortWord()));
  }
  current_.timed = true;
  const WaitWord wait = BlockedWait();
  PostWait(wait, waited_ns);
  const Rank blocked(wait.rank);
  ++wait_checks_;
  for (Rank peer : Ids<Rank>(parts_.rank_count)) {
    if (peer == parts_.rank) continue;
    const bool asks_kernel = peer == blocked && wait_checks_ % kChecksPerAliveCheck == 0;
    const Status status = asks_kernel ? AliveStatus(peer) : PeerStatus(peer, peer == blocked);
    if (status.ok()) continue;
    // What the peer published before it failed or left still counts: look once more before giving up.
    bool idle = true;
    MYCEL_RETURN_IF_ERROR(Advance(&idle));
    return idle && current_.running ? Fail(status) : OkStatus();
  }
  if (waited_ns < static_cast<uint64_t>(current_.timeout_ns)) return OkStatus();
  std::string text = Where() + ": waited " + Seconds(waited_ns);
  if (blocked.valid()) text += " " + WaitText(wait);
  return Fail(TimeoutError(text + "; " +
                           (current_.timeout_ns == parts_.timeout_ns ? "MYCEL_TIMEOUT sets the limit"
                                                                     : "the call's config sets the limit")));
}

bool Communicator::DirectReadThunk(void* context, int32_t peer, uint64_t address, void* target, size_t bytes) {
  auto* self = static_cast<Communicator*>(context);
  if (!self->parts_.transport->DirectRead(Rank(peer), address, target, bytes).ok()) return false;
  // A rank that gave up has returned its buffers to its caller: what we read may be new. acquire: pairs with Fail.
  const RankBoard* board = self->boards_[static_cast<size_t>(peer)];
  return board == nullptr || board->error.load(std::memory_order_acquire) == 0;
}

void Communicator::Abort(const char* how) {
  // relaxed: a text; whoever sees the flag and not yet the word says "aborted".
  abort_word_.store(how, std::memory_order_relaxed);
  // relaxed: a flag that every wait polls; nothing is published with it.
  aborted_.store(true, std::memory_order_relaxed);
  if (parts_.stream_device != nullptr) parts_.stream_device->Abort();
  if (board_ != nullptr) Ring(board_->bell);
}

Status Communicator::Fail(Status status) {
  current_.running = false;
  EndFlightAs(FlightOutcome::kFailed);
  if (status.ok()) status = AbortedError(Where() + ": the communicator was " + AbortWord());
  if (!KeepError(status)) return error();
  // Outside the lock, and not for an abort: files may be slow.
  if (status.code() != StatusCode::kAborted) {
    DumpFlights(*status_, StatusMessage(status));
    if (trace_ != nullptr) WriteTrace(parts_.trace_file, *status_, trace_.get());
  }
  return error();
}

/// False when there is an error already, which stays.
bool Communicator::KeepError(const Status& status) {
  const MutexLock lock(error_mutex_);
  if (!error_.ok()) return false;
  const std::string text = StatusMessage(status);
  error_ = MakeStatus(status.code(), text + Context());
  // release: readers of failed_ that then take the mutex see error_; relaxed would do, release costs nothing here.
  failed_.store(true, std::memory_order_release);
  SetField(status_->error_text, text);
  // release: publishes error_text; its partner is whoever reads the page.
  status_->error.store(1 + static_cast<uint32_t>(status.code()), std::memory_order_release);
  status_->state.store(static_cast<uint32_t>(EntryState::kFailed), std::memory_order_release);
  if (board_ == nullptr) return true;
  SetField(board_->error_text, text);
  // release: publishes error_text; pairs with the acquire in PeerStatus.
  board_->error.store(1 + static_cast<uint32_t>(status.code()), std::memory_order_release);
  for (RankBoard* board : boards_) {
    if (board != nullptr && board != board_) Ring(board->bell);
  }
  return true;
}

Status Communicator::error() const {
  const MutexLock lock(error_mutex_);
  return error_;
}

}  // namespace mycel
