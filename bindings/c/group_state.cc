#include "bindings/c/group_state.h"

#include <algorithm>
#include <string>
#include <thread>

#include "bindings/c/handle.h"
#include "bindings/c/status_map.h"
#include "bindings/c/stream.h"
#include "core/runtime/group.h"

namespace mycel {
namespace {

/// The calls for one communicator and stream, in order.
struct GroupEntry {
  mycelComm* comm;
  mycelStream_t stream;
  std::vector<PointCall> points;
  std::vector<CollectiveCall> collectives;
};

struct OpenGroup {
  std::vector<GroupEntry> entries;
  std::vector<std::function<Status()>> inits;
  Status refused;  // the first argument error inside the group
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
  group.entries.push_back({comm, stream, {}, {}});
  return group.entries.back();
}

Status CheckStream(mycelStream_t stream, const char* function) {
  if (stream == nullptr || HostStream::IsLive(stream)) return OkStatus();
  return InvalidArgument(std::string(function) + ": the stream was not made by mycelStreamCreate, or is destroyed");
}

/// Queues `run` on the stream, keeping count of the communicators' unfinished work.
void Enqueue(mycelStream_t stream, std::vector<mycelComm*> comms, std::function<Status()> run) {
  for (mycelComm* comm : comms) StreamWorkQueued(comm);
  static_cast<HostStream*>(stream)->Enqueue([comms = std::move(comms), run = std::move(run)] {
    Status status = run();
    for (mycelComm* comm : comms) StreamWorkDone(comm);
    return status;
  });
}

Status RunEntries(std::vector<GroupEntry> entries) {
  std::vector<GroupPart> parts;
  for (GroupEntry& entry : entries) {
    parts.push_back({entry.comm->communicator.get(), std::move(entry.points), std::move(entry.collectives)});
  }
  return RunGroup(parts);
}

/// Creates the communicators of a group: each rank meets the others, hence a thread each.
Status RunInits(std::vector<std::function<Status()>> inits) {
  std::vector<Status> results(inits.size());
  std::vector<std::thread> threads;
  for (size_t i = 0; i < inits.size(); ++i) {
    threads.emplace_back([&results, &inits, i] { results[i] = inits[i](); });
  }
  for (std::thread& thread : threads) thread.join();
  for (const Status& status : results) MYCEL_RETURN_IF_ERROR(status);
  return OkStatus();
}

Status EndGroup(OpenGroup group) {
  MYCEL_RETURN_IF_ERROR(group.refused);
  if (!group.inits.empty()) MYCEL_RETURN_IF_ERROR(RunInits(std::move(group.inits)));
  // A communicator or stream may have been destroyed since its call was added.
  for (const GroupEntry& entry : group.entries) {
    MYCEL_RETURN_IF_ERROR(CheckHandle(entry.comm, "mycelGroupEnd"));
    MYCEL_RETURN_IF_ERROR(CheckStream(entry.stream, "mycelGroupEnd"));
  }
  // One batch a stream. The NULL stream runs now, last, so that what was queued goes first.
  Status first;
  std::vector<GroupEntry> now;
  while (!group.entries.empty()) {
    const mycelStream_t stream = group.entries.front().stream;
    std::vector<GroupEntry> batch;
    std::vector<GroupEntry> rest;
    for (GroupEntry& entry : group.entries) (entry.stream == stream ? batch : rest).push_back(std::move(entry));
    group.entries = std::move(rest);
    if (stream == nullptr) {
      now = std::move(batch);
      continue;
    }
    std::vector<mycelComm*> comms;
    for (const GroupEntry& entry : batch) comms.push_back(entry.comm);
    Enqueue(stream, std::move(comms), [batch = std::move(batch)] { return RunEntries(batch); });
  }
  for (const GroupEntry& entry : now) AwaitStreams(entry.comm);
  if (!now.empty()) first = RunEntries(std::move(now));
  return first;
}

}  // namespace

bool InGroup() { return t_depth > 0; }

mycelResult_t Refuse(const Status& status) {
  if (InGroup() && ThisGroup().refused.ok()) ThisGroup().refused = status;
  return Report(status);
}

void DeferInit(std::function<Status()> init) { ThisGroup().inits.push_back(std::move(init)); }

mycelResult_t Submit(mycelComm* comm, const CollectiveCall& call, mycelStream_t stream, const char* function) {
  if (stream == nullptr && !InGroup()) [[likely]] {
    AwaitStreams(comm);
    comm->communicator->Enter();
    const Status status = comm->communicator->Run(call);
    comm->communicator->Leave();
    return status.ok() ? mycelSuccess : Report(status);
  }
  const Status usable = CheckStream(stream, function);
  if (!usable.ok()) return Refuse(usable);
  if (InGroup()) {
    EntryFor(comm, stream).collectives.push_back(call);
    return mycelSuccess;
  }
  Enqueue(stream, {comm}, [comm, call] {
    comm->communicator->Enter();
    Status status = comm->communicator->Run(call);
    comm->communicator->Leave();
    return status;
  });
  return mycelSuccess;
}

mycelResult_t SubmitPoints(mycelComm* comm, std::vector<PointCall> calls, mycelStream_t stream, const char* function) {
  const Status usable = CheckStream(stream, function);
  if (!usable.ok()) return Refuse(usable);
  if (InGroup()) {
    std::vector<PointCall>& points = EntryFor(comm, stream).points;
    points.insert(points.end(), calls.begin(), calls.end());
    return mycelSuccess;
  }
  const auto run = [comm](const std::vector<PointCall>& points) {
    comm->communicator->Enter();
    Status status = comm->communicator->RunPoints(points);
    comm->communicator->Leave();
    return status;
  };
  if (stream == nullptr) {
    AwaitStreams(comm);
    return Report(run(calls));
  }
  Enqueue(stream, {comm}, [run, calls = std::move(calls)] { return run(calls); });
  return mycelSuccess;
}

}  // namespace mycel

extern "C" {

mycelResult_t mycelGroupStart(void) {
  ++mycel::t_depth;
  return mycelSuccess;
}

mycelResult_t mycelGroupEnd(void) {
  if (mycel::t_depth == 0) {
    return mycel::Report(mycel::InvalidUsage("mycelGroupEnd: no group is open; call mycelGroupStart first"));
  }
  if (--mycel::t_depth > 0) return mycelSuccess;
  mycel::OpenGroup closed = std::move(mycel::ThisGroup());
  mycel::ThisGroup() = mycel::OpenGroup();
  return mycel::Report(mycel::EndGroup(std::move(closed)));
}

}  // extern "C"
