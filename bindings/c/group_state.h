// The group of calls that this thread has open between mycelGroupStart and mycelGroupEnd, and the one door through
// which operations reach a communicator.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "bindings/c/mycel.h"
#include "core/base/status.h"
#include "core/runtime/call.h"

namespace mycel {

/// Whether this thread is between GroupStart and GroupEnd.
bool InGroup();
/// Runs, queues on the stream, or adds to the open group. `function` begins error texts. The arrays of a v-collective
/// are copied where the call outlives this one; then `kept`, which owns what else the call refers to, is held until it
/// ends.
mycelResult_t Submit(mycelComm* comm, const CollectiveCall& call, mycelStream_t stream, const char* function,
                     const std::shared_ptr<const void>& kept = nullptr);
/// The same for messages that must progress together (send, recv, the legs of an alltoallv).
mycelResult_t SubmitPoints(mycelComm* comm, std::span<const PointCall> calls, mycelStream_t stream,
                           const char* function);
/// Inside a group: makes its outermost end return mycelInProgress, if nothing fails.
void NoteInProgress();
/// Adds a communicator's creation to the open group.
void DeferInit(std::function<Status()> init);
/// Inside a group: remembers an argument error so that GroupEnd reports it and runs nothing.
mycelResult_t Refuse(const Status& status);

}  // namespace mycel
