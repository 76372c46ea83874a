// A communicator on a StreamDevice. What moves the program's data is put into the call's stream and the call returns;
// what ranks' hosts have to say to each other (agreeing on a new plan, comparing counts) runs as on any communicator,
// before that. A thread of the communicator's own watches the launches on their way: it ends them on an abort, at their
// deadlines (counted from when the stream came to them), and when a peer fails, dies or leaves, and puts the reason on
// record, which the next call and mycelCommGetAsyncError return.
#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/runtime/communicator.h"
#include "core/runtime/flight.h"

namespace mycel {
namespace {

constexpr auto kLook = std::chrono::milliseconds(1);
constexpr auto kLookAtGraphs = std::chrono::milliseconds(10);  // nothing was submitted, but may be replayed
constexpr uint64_t kLooksPerPeers = 16;
constexpr int64_t kEndNs = 2'000'000'000;     // so long a launch may take to end after it was told to
constexpr int64_t kUnstartedNs = 50'000'000;  // peers' calls are compared after so long

}  // namespace

const void* Communicator::KernelFor(const CollectiveCall& call) const {
  if (!has_stream() || call.internal != 0) return parts_.device->KernelFor(call.type, call.op);
  return parts_.stream_device->KernelFor(call.type, call.op);
}

std::vector<ChannelTraffic> Communicator::Traffic() const {
  if (!has_stream()) return channels_.Traffic();
  return stream_channels_.Traffic([this](ChannelEnd* end) { return parts_.stream_device->ReadCounts(end); });
}

/// The launch is filled in. The operation is over for its caller when it is in the stream.
Status Communicator::Submit(const BoundProgram& program) {
  if (failed_.load(std::memory_order_relaxed)) return Fail(error());
  if (program.lanes.empty()) return Finish();
  const bool kept = &program != &points_;
  StatusOr<uint64_t> number = parts_.stream_device->Submit(current_.launch, kept, current_.call.stream);
  if (!number.ok()) return Fail(MakeStatus(number.status().code(), Where() + ": " + StatusMessage(number.status())));
  StreamFlight flight;
  flight.number = *number;
  flight.operation = sequence_;
  flight.call = current_.call;
  flight.point_to_point = current_.point_to_point;
  flight.timeout_ns = current_.timeout_ns;
  {
    const MutexLock lock(flights_->mutex);
    flights_->last_operation = sequence_;
    if (*number != 0) flights_->flying.push_back(flight);
    flights_->changed.NotifyAll();
  }
  return Finish();
}

Status Communicator::ScaleOnStream(const CollectiveCall& call, size_t elements) {
  StatusOr<std::byte*> scaled = parts_.stream_device->Scaled(std::max<size_t>(elements * SizeOf(call.type), 1));
  if (!scaled.ok()) return Fail(scaled.status());
  const DynamicOp& op = *call.dynamic;
  const Status put = elements == 0 ? OkStatus()
                                   : parts_.stream_device->Scale(call.type, op.factor, op.factor_at, call.send, *scaled,
                                                                 elements, call.stream);
  if (!put.ok()) return Fail(put);
  current_.launch.bases[static_cast<size_t>(OperandBase::kSend)] = *scaled;
  return OkStatus();
}

void Communicator::StartWatch() {
  flights_ = std::make_unique<StreamFlights>();
  flights_->watch = std::thread([this] { Watch(); });
}

/// Returns when nothing is on its way, for which the watch sees to an end.
void Communicator::EndWatch() {
  {
    const MutexLock lock(flights_->mutex);
    flights_->closing = true;
    flights_->changed.NotifyAll();
  }
  flights_->watch.join();
}

void Communicator::Watch() {
  pthread_setname_np(pthread_self(), "mycel-watch");
  StreamFlights& flights = *flights_;
  flights.mutex.Lock();
  while (!flights.closing || !flights.flying.empty()) {
    if (flights.flying.empty() && parts_.stream_device->captured() == 0) {
      flights.changed.Wait(flights.mutex);
      continue;
    }
    const auto pause = flights.flying.empty() ? kLookAtGraphs : kLook;
    flights.changed.WaitUntil(flights.mutex, std::chrono::steady_clock::now() + pause);
    flights.mutex.Unlock();
    LookAtFlights();
    flights.mutex.Lock();
  }
  flights.mutex.Unlock();
}

/// "operation 17 allreduce(count 8, float, sum)".
std::string Communicator::FlightText(const StreamFlight& flight) const {
  if (flight.operation == 0 && !flight.point_to_point) return Me() + ", a graph's replay";
  if (flight.point_to_point) return Me() + ", send/recv after operation " + std::to_string(flight.operation);
  CollectiveCall call = flight.call;
  call.settings = nullptr;  // may be gone
  return Me() + ", operation " + std::to_string(flight.operation) + " " + Describe(call);
}

std::string Communicator::DisagreementAbout(Rank peer, uint64_t last, const std::string& where) const {
  const RankBoard* board = boards_[peer.index()];
  if (board == nullptr || board_ == nullptr) return {};
  const uint64_t first = last < CallHistory::kKept ? 1 : last + 1 - CallHistory::kKept;
  for (uint64_t operation = first; operation <= last; ++operation) {
    const CallRecord mine = board_->history.Find(operation);
    const CallRecord theirs = board->history.Find(operation);
    if (mine.operation == 0 || theirs.operation == 0 || mine.signature == theirs.signature) continue;
    return where + ": rank " + std::to_string(peer.value()) + " disagrees: its operation " + std::to_string(operation) +
           " is " + Describe(theirs) + ", this rank's " + Describe(mine) +
           "; every rank must make the same calls with the same arguments in the same order";
  }
  return {};
}

Status Communicator::JudgeFault(const StreamFault& fault, uint64_t last, const std::string& where) const {
  const std::string peer = "rank " + std::to_string(fault.peer);
  if (fault.kind == StreamFault::Kind::kMismatch) {
    const std::string about = DisagreementAbout(Rank(fault.peer), last, where);
    return InvalidUsage(!about.empty() ? about
                                       : where + ": " + peer +
                                             " disagrees: it sent a message of another operation, size or type than "
                                             "this rank expects; every rank must make the same calls with the same "
                                             "arguments in the same order");
  }
  return InternalError(where + ": the device could not run it (step " + std::to_string(fault.step) + " with " + peer +
                       ")");
}

/// Whether any peer has failed, died or left.
Status Communicator::CheckPeers() {
  for (const Rank peer : Ids<Rank>(parts_.rank_count)) {
    if (peer == parts_.rank || parts_.transport == nullptr) continue;
    const RankBoard* board = boards_[peer.index()];
    // acquire: pairs with the release in KeepError; makes error_text readable.
    const uint32_t error = board == nullptr ? 0 : board->error.load(std::memory_order_acquire);
    if (error != 0) {
      const std::string text = "rank " + std::to_string(peer.value()) + " failed: " + board->error_text;
      const bool same = static_cast<StatusCode>(error - 1) == StatusCode::kFailedPrecondition;
      return same ? InvalidUsage(text) : RemoteError(text);
    }
    MYCEL_RETURN_IF_ERROR(parts_.transport->CheckAlive(peer));
  }
  return OkStatus();
}

/// Ends what is on its way, and keeps why. `tells_wait`: for whom it waited belongs to the text.
void Communicator::FailStreams(const Status& cause, const std::string& where, bool tells_wait) {
  flights_->told = true;
  parts_.stream_device->Abort();
  std::string text = StatusMessage(cause);
  if (tells_wait) {
    WaitPolicy policy;
    policy.mode = WaitMode::kSleep;
    Waiter waiter(policy, nullptr);
    StreamFault fault = parts_.stream_device->Fault();
    while (fault.kind == StreamFault::Kind::kNone && waiter.WaitedNs() < kEndNs) {
      waiter.Pause();
      fault = parts_.stream_device->Fault();
    }
    if (fault.peer >= 0) {
      text += std::string(" ") + (fault.receives ? "for a message of rank " : "for a receive of rank ") +
              std::to_string(fault.peer);
      const RankBoard* board = boards_[static_cast<size_t>(fault.peer)];
      if (board != nullptr) text += ", which " + StandingOf(*board).substr(std::string("which ").size());
    }
    text += "; MYCEL_TIMEOUT or the call's config sets the limit";
  }
  const Status status = MakeStatus(cause.code(), where + ": " + text);
  if (KeepError(status) && status.code() != StatusCode::kAborted) DumpFlights(*status_, StatusMessage(status));
}

void Communicator::LookAtFlights() {
  StreamFlights& flights = *flights_;
  StreamDevice& device = *parts_.stream_device;
  ++flights.looks;
  StreamFlight oldest;
  {
    const MutexLock lock(flights.mutex);
    while (!flights.flying.empty() && device.Look(flights.flying.front().number) == StreamState::kDone) {
      // What a fault is about stays, to be named.
      if (!flights.told && device.Fault().kind != StreamFault::Kind::kNone) break;
      flights.flying.pop_front();
    }
    if (!flights.flying.empty()) {
      StreamFlight& front = flights.flying.front();
      if (front.begun_ns == 0 && device.Look(front.number) != StreamState::kQueued) front.begun_ns = NowNs();
      oldest = front;
    }
  }
  if (flights.told) return;
  const std::string where = FlightText(oldest);
  // relaxed: a late sight only delays the end to the next look.
  if (aborted_.load(std::memory_order_relaxed)) {
    return FailStreams(AbortedError(std::string("the communicator was ") + AbortWord()), where, false);
  }
  if (failed_.load(std::memory_order_relaxed)) {
    flights.told = true;
    return device.Abort();
  }
  const StreamFault fault = device.Fault();
  if (fault.kind == StreamFault::Kind::kMismatch || fault.kind == StreamFault::Kind::kDamaged) {
    const Status judged = JudgeFault(fault, oldest.operation, where);
    return FailStreams(MakeStatus(judged.code(), StatusMessage(judged).substr(where.size() + 2)), where, false);
  }
  if (oldest.number == 0 && device.captured() == 0) return;
  const int64_t waited_ns = oldest.begun_ns == 0 ? 0 : NowNs() - oldest.begun_ns;
  if (flights.looks % kLooksPerPeers == 0) {
    Status peers = CheckPeers();
    // What a peer published before it left still counts: a launch that needs no more of it ends by itself.
    if (!peers.ok() && (oldest.number == 0 || (waited_ns > kUnstartedNs))) return FailStreams(peers, where, false);
    if (waited_ns > kUnstartedNs && !oldest.point_to_point) {
      for (const Rank peer : Ids<Rank>(parts_.rank_count)) {
        const std::string about = DisagreementAbout(peer, oldest.operation, where);
        if (!about.empty()) return FailStreams(InvalidUsage(about.substr(where.size() + 2)), where, false);
      }
    }
  }
  if (oldest.timeout_ns > 0 && waited_ns >= oldest.timeout_ns) {
    char seconds[32];
    std::snprintf(seconds, sizeof(seconds), "%.1f s", static_cast<double>(waited_ns) * 1e-9);
    FailStreams(TimeoutError(std::string("waited ") + seconds), where, true);
  }
}

}  // namespace mycel
