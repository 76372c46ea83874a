#include "bindings/c/group_state.h"

#include <algorithm>
#include <map>
#include <memory>
#include <new>
#include <set>
#include <string>
#include <utility>

#include "bindings/c/call_config.h"
#include "bindings/c/compose.h"
#include "bindings/c/group_time.h"
#include "bindings/c/guard.h"
#include "bindings/c/handle.h"
#include "bindings/c/status_map.h"
#include "bindings/c/stream.h"
#include "core/runtime/group.h"

namespace mycel {
namespace {

/// The arrays of a v-collective that runs after its caller may have changed them.
struct OwnedArrays {
  std::vector<size_t> numbers;
  VectorArrays arrays;
};

std::shared_ptr<const OwnedArrays> Own(const VectorArrays* arrays, int32_t rank_count) {
  if (arrays == nullptr) return nullptr;
  auto owned = std::make_shared<OwnedArrays>();
  owned->arrays = *arrays;
  const auto n = static_cast<size_t>(rank_count);
  owned->numbers.reserve(4 * n);
  VectorArrays& own = owned->arrays;
  for (const size_t** array : {&own.send_counts, &own.send_at, &own.recv_counts, &own.recv_at}) {
    if (*array == nullptr) continue;
    const size_t first = owned->numbers.size();
    owned->numbers.insert(owned->numbers.end(), *array, *array + n);
    *array = owned->numbers.data() + first;
  }
  return owned;
}

/// `call` with the arrays and settings it may keep.
CollectiveCall Keeping(CollectiveCall call, const std::shared_ptr<const OwnedArrays>& owned,
                       const std::shared_ptr<const CallSettings>& settings, mycelStream_t stream = nullptr) {
  call.stream = stream;
  if (owned != nullptr) call.vector = &owned->arrays;
  call.settings = settings.get();
  return call;
}

/// The calls for one communicator and stream, in order.
struct GroupEntry {
  mycelComm* comm;
  uint64_t generation;  // of the communicator that the calls were made for
  mycelStream_t stream;
  std::vector<PointCall> points;
  std::vector<CollectiveCall> collectives;
  std::vector<std::shared_ptr<const void>> kept;  // what `collectives` point to
  std::shared_ptr<const CallSettings> points_settings;
};

struct OpenGroup {
  std::vector<GroupEntry> entries;
  std::vector<std::function<Status()>> inits;
  Status refused;            // the first argument error inside the group
  bool in_progress = false;  // some of it goes on after the end
};

/// Apart from the rest, so that the common question costs one load.
constinit thread_local int t_depth = 0;

OpenGroup& ThisGroup() {
  thread_local OpenGroup group;
  return group;
}

GroupEntry& EntryFor(mycelComm* comm, mycelStream_t stream) {
  OpenGroup& group = ThisGroup();
  for (GroupEntry& entry : group.entries) {
    if (entry.comm == comm && entry.stream == stream) return entry;
  }
  group.entries.push_back({comm, comm->generation.load(std::memory_order_relaxed), stream, {}, {}, {}, nullptr});
  return group.entries.back();
}

Status CheckStream(const mycelComm& comm, mycelStream_t stream, const char* function) {
  if (comm.device.driver != nullptr) return CheckStreamOf(comm.device, stream, function);
  return stream == nullptr ? OkStatus() : HostStream::CheckHandle(stream, function);
}

/// Ends the turn of every ticket, whatever happens.
class Turns {
 public:
  explicit Turns(const std::vector<Ticket>& tickets) : tickets_(tickets) {
    for (const Ticket& ticket : tickets_) AwaitTurn(ticket);
  }
  ~Turns() {
    for (const Ticket& ticket : tickets_) TurnDone(ticket);
  }
  Turns(const Turns&) = delete;
  Turns& operator=(const Turns&) = delete;

 private:
  const std::vector<Ticket>& tickets_;
};

/// Queues `run` on the stream. Operations of one communicator run in the order of these calls, whatever their streams.
/// NULL is the own stream of the only communicator.
Status Enqueue(mycelStream_t stream, const std::vector<mycelComm*>& comms, const char* function,
               std::function<Status()> run) {
  const MutexLock lock(TicketMutex());
  HostStream* queue = stream == nullptr ? comms.front()->own_stream.get() : static_cast<HostStream*>(stream);
  if (queue == nullptr) {
    return AbortedError(std::string(function) +
                        ": the communicator was aborted or destroyed before this operation began");
  }
  const std::vector<Ticket> tickets = TakeTickets(comms);
  const bool own = stream == nullptr;
  Status queued = Guarded(function, [&] {
    queue->Enqueue([tickets, function, own, run = std::move(run)] {
      const Turns turns(tickets);
      Status status = Guarded(function, run);
      // Nobody synchronises with a communicator's own stream: mycelCommGetAsyncError tells.
      if (own && !status.ok()) NoteAsyncError(tickets.front(), status);
      return status;
    });
    return OkStatus();
  });
  if (!queued.ok()) ReturnTickets(tickets);
  return queued;
}

/// Runs `f` alone in the communicator; what it throws in the middle of an operation fails the communicator for good.
template <typename F>
Status RunIn(const Inside& inside, const char* function, F&& f) {
  if (!inside.status().ok()) [[unlikely]]
    return inside.status();
  try {
    return f(inside.communicator());
  } catch (const std::exception&) {
    return inside.communicator().GiveUp(Guarded(function, []() -> Status { throw; }));
  }
}

/// Runs the calls; a communicator that has ended since fails its part and no other.
Status RunEntries(std::vector<GroupEntry> entries, const char* function) {
  // One order for all threads, so that two groups over the same communicators cannot wait for each other.
  std::sort(entries.begin(), entries.end(), [](const GroupEntry& a, const GroupEntry& b) { return a.comm < b.comm; });
  Status first;
  std::vector<GroupPart> parts;
  std::vector<std::unique_ptr<Inside>> inside;
  for (GroupEntry& entry : entries) {
    auto place = std::make_unique<Inside>(entry.comm, function, entry.generation);
    if (!place->status().ok()) {
      if (first.ok()) first = place->status();
      continue;
    }
    parts.push_back(
        {&place->communicator(), std::move(entry.points), entry.points_settings.get(), std::move(entry.collectives)});
    inside.push_back(std::move(place));
  }
  const Status ran = RunGroup(parts, [&inside](size_t part) { inside[part]->Leave(); });
  return first.ok() ? ran : first;
}

/// Creates the communicators of a group: each rank meets the others, hence a thread each.
Status RunInits(const std::vector<std::function<Status()>>& inits) {
  std::vector<Status> results(inits.size());
  RunThreads(
      inits.size(), [&](size_t i) { results[i] = inits[i](); },
      [&](size_t i, const Status& status) { results[i] = status; });
  for (const Status& status : results) MYCEL_RETURN_IF_ERROR(status);
  return OkStatus();
}

/// One batch a stream. The NULL stream, of communicators that block, runs now, last, so that what was queued goes
/// first.
bool RunsNow(const GroupEntry& entry) { return entry.stream == nullptr && entry.comm->blocking; }
bool IsOnDevice(const GroupEntry& entry) { return entry.comm->device.driver != nullptr; }

/// The parts of a group that are on GPUs: put into their streams now. Where several communicators share a stream, each
/// gets one of its own for the group, since their kernels wait for each other.
Status RunOnDevices(std::vector<GroupEntry> entries, const char* function) {
  std::sort(entries.begin(), entries.end(), [](const GroupEntry& a, const GroupEntry& b) { return a.comm < b.comm; });
  std::map<mycelStream_t, std::set<mycelComm*>> users;
  for (const GroupEntry& entry : entries) users[entry.stream].insert(entry.comm);
  std::vector<GroupPart> parts;
  std::vector<std::unique_ptr<Inside>> inside;
  std::vector<std::pair<Communicator*, mycelStream_t>> forks;
  const mycelComm* last = nullptr;
  Status first;
  for (GroupEntry& entry : entries) {
    if (entry.comm != last) {
      last = entry.comm;
      auto place = std::make_unique<Inside>(entry.comm, function, entry.generation);
      if (!place->status().ok()) return place->status();
      parts.push_back({});
      parts.back().communicator = &place->communicator();
      inside.push_back(std::move(place));
    }
    GroupPart& part = parts.back();
    mycelStream_t stream = entry.stream;
    if (users[stream].size() > 1) {
      MYCEL_ASSIGN_OR_RETURN(stream, part.communicator->Fork(entry.stream));
      forks.emplace_back(part.communicator, entry.stream);
    }
    if (!entry.points.empty() && !part.points.empty()) {
      return InvalidUsage(std::string(function) +
                          ": the group has messages of one communicator on several streams; put them on one");
    }
    if (!entry.points.empty()) {
      part.points = std::move(entry.points);
      part.points_settings = entry.points_settings.get();
      part.points_stream = stream;
    }
    for (CollectiveCall& call : entry.collectives) {
      call.stream = stream;
      part.collectives.push_back(call);
    }
  }
  first = RunGroup(parts, [](size_t /*part*/) {});
  for (const auto& [communicator, stream] : forks) {
    const Status joined = communicator->Join(stream);
    if (first.ok()) first = joined;
  }
  return first;
}

Status EndGroup(OpenGroup group, bool* in_progress) {
  *in_progress = group.in_progress;
  MYCEL_RETURN_IF_ERROR(group.refused);
  if (!group.inits.empty()) MYCEL_RETURN_IF_ERROR(RunInits(group.inits));
  // A communicator or stream may have been destroyed since its call was added.
  for (const GroupEntry& entry : group.entries) {
    MYCEL_RETURN_IF_ERROR(CheckHandle(entry.comm, "mycelGroupEnd"));
    if (entry.comm->generation.load(std::memory_order_relaxed) != entry.generation) {
      return InvalidArgument("mycelGroupEnd: a communicator of the group was destroyed before the group ended");
    }
    MYCEL_RETURN_IF_ERROR(CheckStream(*entry.comm, entry.stream, "mycelGroupEnd"));
  }
  Status first;
  std::vector<GroupEntry> now;
  std::vector<GroupEntry> on_devices;
  for (GroupEntry& entry : group.entries) {
    if (IsOnDevice(entry)) on_devices.push_back(std::move(entry));
  }
  std::erase_if(group.entries, [](const GroupEntry& entry) { return IsOnDevice(entry); });
  if (!on_devices.empty()) MYCEL_RETURN_IF_ERROR(RunOnDevices(std::move(on_devices), "mycelGroupEnd"));
  while (!group.entries.empty()) {
    const mycelStream_t stream = group.entries.front().stream;
    const bool runs_now = RunsNow(group.entries.front());
    const bool own = stream == nullptr && !runs_now;
    std::vector<GroupEntry> batch;
    std::vector<GroupEntry> rest;
    for (GroupEntry& entry : group.entries) {
      // Own streams are one for each communicator.
      const bool together = entry.stream == stream && RunsNow(entry) == runs_now && !(own && !batch.empty());
      (together ? batch : rest).push_back(std::move(entry));
    }
    group.entries = std::move(rest);
    if (runs_now) {
      now = std::move(batch);
      continue;
    }
    *in_progress |= own;
    std::vector<mycelComm*> comms;
    for (const GroupEntry& entry : batch) comms.push_back(entry.comm);
    MYCEL_RETURN_IF_ERROR(Enqueue(stream, comms, "mycelGroupEnd",
                                  [batch = std::move(batch)] { return RunEntries(batch, "mycelGroupEnd"); }));
  }
  for (const GroupEntry& entry : now) AwaitStreams(entry.comm);
  if (!now.empty()) first = RunEntries(std::move(now), "mycelGroupEnd");
  return first;
}

/// What the group's collectives would take. Not `asked`: only whether it can be said, since that takes planning.
StatusOr<double> TimeOf(const OpenGroup& group, bool asked) {
  MYCEL_RETURN_IF_ERROR(group.refused);
  if (!group.inits.empty()) {
    return InvalidUsage("mycelGroupSimulateEnd: the group creates communicators, which only mycelGroupEnd does");
  }
  double microseconds = 0;
  for (const GroupEntry& entry : group.entries) {
    MYCEL_RETURN_IF_ERROR(CheckHandle(entry.comm, "mycelGroupSimulateEnd"));
    const std::shared_ptr<const Lineage> lineage = LineageOf(entry.comm);
    if (lineage == nullptr) return InvalidArgument("mycelGroupSimulateEnd: a communicator of the group has ended");
    if (!asked) continue;
    for (const CollectiveCall& call : entry.collectives) {
      MYCEL_ASSIGN_OR_RETURN(const double time, TimeUsOf(call, entry.comm->rank_count, *lineage));
      microseconds += time;
    }
  }
  return microseconds;
}

}  // namespace

bool InGroup() { return t_depth > 0; }

mycelResult_t Refuse(const Status& status) {
  if (InGroup() && ThisGroup().refused.ok()) ThisGroup().refused = status;
  return Report(status);
}

mycelResult_t Caught(const char* function) noexcept {
  try {
    return Refuse(Guarded(function, []() -> Status { throw; }));
  } catch (const std::bad_alloc&) {
    return mycelSystemError;  // not even for the text
  }
}

void NoteInProgress() {
  if (InGroup()) ThisGroup().in_progress = true;
}

void DeferInit(std::function<Status()> init) { ThisGroup().inits.push_back(std::move(init)); }

namespace {

/// An operation outside of groups: now, or on its stream. `run(communicator)` may be copied.
template <typename F>
Status RunOrQueue(mycelComm* comm, mycelStream_t stream, const char* function, F run) {
  if ((stream == nullptr && comm->blocking) || comm->device.driver != nullptr) {
    AwaitStreams(comm);
    return RunIn(Inside(comm, function), function, run);
  }
  const uint64_t generation = comm->generation.load(std::memory_order_relaxed);
  return Guarded(function, [&] {
    return Enqueue(stream, {comm}, function, [comm, generation, function, run = std::move(run)] {
      return RunIn(Inside(comm, function, generation), function, run);
    });
  });
}

/// What a call that was queued returns.
mycelResult_t Accepted(const mycelComm* comm, mycelStream_t stream) {
  return stream == nullptr && !comm->blocking && !InGroup() ? mycelInProgress : mycelSuccess;
}

}  // namespace

mycelResult_t Submit(mycelComm* comm, const CollectiveCall& call, mycelStream_t stream, const char* function,
                     const std::shared_ptr<const void>& kept) {
  if (stream == nullptr && comm->blocking && !InGroup()) [[likely]] {
    AwaitStreams(comm);
    CollectiveCall now;
    const CollectiveCall* run = &call;
    if (SettingsOfThread() != nullptr) [[unlikely]] {
      now = call;
      now.settings = SettingsOfThread();
      run = &now;
    }
    const Status status =
        RunIn(Inside(comm, function), function, [run](Communicator& communicator) { return communicator.Run(*run); });
    return status.ok() ? mycelSuccess : Report(status);
  }
  const Status usable = CheckStream(*comm, stream, function);
  if (!usable.ok()) return Refuse(usable);
  const Status accepted = Guarded(function, [&] {
    const auto owned = Own(call.vector, comm->rank_count);
    const auto settings = KeptSettingsOfThread();
    if (InGroup()) {
      GroupEntry& entry = EntryFor(comm, stream);
      entry.collectives.push_back(Keeping(call, owned, settings));
      if (owned != nullptr) entry.kept.push_back(owned);
      if (kept != nullptr) entry.kept.push_back(kept);
      if (settings != nullptr) entry.kept.push_back(settings);
      return OkStatus();
    }
    return RunOrQueue(comm, stream, function,
                      [call = Keeping(call, owned, settings, stream), owned, kept,
                       settings](Communicator& communicator) { return communicator.Run(call); });
  });
  return accepted.ok() ? Accepted(comm, stream) : Refuse(accepted);
}

mycelResult_t SubmitPoints(mycelComm* comm, std::span<const PointCall> calls, mycelStream_t stream,
                           const char* function) {
  const Status usable = CheckStream(*comm, stream, function);
  if (!usable.ok()) return Refuse(usable);
  if (InGroup()) {
    const Status added = Guarded(function, [&] {
      GroupEntry& entry = EntryFor(comm, stream);
      entry.points.insert(entry.points.end(), calls.begin(), calls.end());
      entry.points_settings = KeptSettingsOfThread();
      return OkStatus();
    });
    return added.ok() ? mycelSuccess : Refuse(added);
  }
  if ((stream == nullptr && comm->blocking) || comm->device.driver != nullptr) {
    AwaitStreams(comm);
    return Report(RunIn(Inside(comm, function), function, [calls, stream](Communicator& communicator) {
      return communicator.RunPoints(calls, SettingsOfThread(), stream);
    }));
  }
  const Status queued = Guarded(function, [&] {
    return RunOrQueue(comm, stream, function,
                      [kept = std::vector<PointCall>(calls.begin(), calls.end()), settings = KeptSettingsOfThread()](
                          Communicator& communicator) { return communicator.RunPoints(kept, settings.get()); });
  });
  return queued.ok() ? Accepted(comm, stream) : Report(queued);
}

}  // namespace mycel

extern "C" {

mycelResult_t mycelGroupStart(void) {
  ++mycel::t_depth;
  return mycelSuccess;
}

mycelResult_t mycelGroupEnd(void) try {
  if (mycel::t_depth == 0) {
    return mycel::Report(mycel::InvalidUsage("mycelGroupEnd: no group is open; call mycelGroupStart first"));
  }
  if (--mycel::t_depth > 0) return mycelSuccess;
  mycel::OpenGroup closed = std::move(mycel::ThisGroup());
  mycel::ThisGroup() = mycel::OpenGroup();
  bool in_progress = false;
  const mycel::Status status = mycel::Guarded(
      "mycelGroupEnd", [&closed, &in_progress] { return mycel::EndGroup(std::move(closed), &in_progress); });
  return status.ok() && in_progress ? mycelInProgress : mycel::Report(status);
} catch (...) {
  return mycel::Caught("mycelGroupEnd");
}

mycelResult_t mycelGroupSimulateEnd(double* microseconds) try {
  if (mycel::t_depth == 0) {
    return mycel::Report(mycel::InvalidUsage("mycelGroupSimulateEnd: no group is open; call mycelGroupStart first"));
  }
  double time = 0;
  if (--mycel::t_depth == 0) {
    const mycel::OpenGroup closed = std::exchange(mycel::ThisGroup(), mycel::OpenGroup());
    const mycel::StatusOr<double> found = mycel::TimeOf(closed, microseconds != nullptr);
    if (!found.ok()) return mycel::Report(found.status());
    time = *found;
  }
  if (microseconds != nullptr) *microseconds = time;
  return mycelSuccess;
} catch (...) {
  return mycel::Caught("mycelGroupSimulateEnd");
}

}  // extern "C"
