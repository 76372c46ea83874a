// Group: calls of one thread that progress together, on one or several communicators.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "core/base/status.h"
#include "core/runtime/communicator.h"

namespace mycel {

/// One communicator's part of a group: its messages first, all at once, then its collectives in order.
struct GroupPart {
  Communicator* communicator = nullptr;
  std::vector<PointCall> points;
  const CallSettings* points_settings = nullptr;  // of the messages; may be null
  std::vector<CollectiveCall> collectives;
  void* points_stream = nullptr;  // on a StreamDevice: where the messages run
};

/// Runs all parts to their ends in the calling thread, round-robin, so that ranks of one thread can wait for each
/// other. A failing part does not stop the others, nor does a call that all ranks refuse; the first
/// error is returned. Parts name distinct communicators, and
/// the thread is alone in each; `done(i)` tells that part i is over and its communicator free.
Status RunGroup(std::vector<GroupPart>& parts, const std::function<void(size_t)>& done);

}  // namespace mycel
