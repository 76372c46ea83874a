#include "core/runtime/group.h"

#include <new>
#include <utility>

#include "core/base/clock.h"

namespace mycel {
namespace {

/// Turns of the whole group between two looks at parts that do not move while others do.
constexpr uint32_t kTurnsPerLook = 4096;

/// Where a part stands.
struct Cursor {
  GroupPart* part;
  bool points_started = false;
  size_t next = 0;  // collective
  bool done = false;
  bool moved = false;    // since the last look
  int64_t moved_ns = 0;  // the look before which it moved
};

/// Starts the next operation of a part that is between operations; sets done at its end.
Status StartNext(Cursor* cursor) {
  GroupPart& part = *cursor->part;
  if (!cursor->points_started) {
    cursor->points_started = true;
    if (!part.points.empty()) {
      return part.communicator->StartPoints(part.points, part.points_settings, part.points_stream);
    }
  }
  if (cursor->next < part.collectives.size()) return part.communicator->Start(part.collectives[cursor->next++]);
  cursor->done = true;
  return OkStatus();
}

Status Turn(Cursor* cursor) {
  Communicator& communicator = *cursor->part->communicator;
  try {
    if (!communicator.running()) {
      cursor->moved = true;
      return StartNext(cursor);
    }
    bool idle = false;
    MYCEL_RETURN_IF_ERROR(communicator.Advance(&idle));
    cursor->moved |= !idle;
    return OkStatus();
  } catch (const std::bad_alloc&) {
    return communicator.GiveUp(SystemError("the system refuses memory for an operation of a group"));
  }
}

/// The slow checks, each part by its own clock: one that is stuck must not hide behind one that moves.
Status Look(Cursor* cursor) {
  const int64_t now_ns = NowNs();
  if (cursor->moved || cursor->moved_ns == 0) cursor->moved_ns = now_ns;
  cursor->moved = false;
  Communicator& communicator = *cursor->part->communicator;
  if (!communicator.running()) return OkStatus();
  return communicator.CheckWait(static_cast<uint64_t>(now_ns - cursor->moved_ns));
}

}  // namespace

Status RunGroup(std::vector<GroupPart>& parts, const std::function<void(size_t)>& done) {
  if (parts.empty()) return OkStatus();
  std::vector<Cursor> cursors;
  for (GroupPart& part : parts) cursors.push_back({&part});
  // One wait for the whole group: it may sleep on the first bell only, so it never sleeps with several communicators.
  WaitPolicy policy = parts[0].communicator->wait_policy();
  if (parts.size() > 1 && policy.mode != WaitMode::kSpin) policy.mode = WaitMode::kYield;
  Waiter waiter(policy, parts.size() == 1 ? parts[0].communicator->bell() : nullptr);
  Status first;
  size_t left = cursors.size();
  const auto settle = [&](Cursor* cursor, const Status& status) {
    if (!status.ok()) {
      // After a refused call the part goes on: other ranks may have made its calls one by one.
      cursor->done |= !cursor->part->communicator->error().ok();
      if (first.ok()) first = status;
    }
    if (!cursor->done) return;
    const auto index = static_cast<size_t>(cursor - cursors.data());
    if (index == 0) cursor->part->communicator->CountSleeps(waiter.sleeps());
    --left;
    done(index);
  };
  uint32_t turn = 0;
  while (left > 0) {
    ++turn;
    bool moved = false;
    for (Cursor& cursor : cursors) {
      if (cursor.done) continue;
      const bool before = std::exchange(cursor.moved, false);
      settle(&cursor, Turn(&cursor));
      moved |= cursor.moved;
      cursor.moved |= before;
    }
    bool look = turn % kTurnsPerLook == 0;
    if (moved) {
      waiter.Reset();
    } else if (left > 0) {
      look |= waiter.Pause();
    }
    for (Cursor& cursor : cursors) {
      if (look && !cursor.done) settle(&cursor, Look(&cursor));
    }
  }
  return first;
}

}  // namespace mycel
