#include "core/runtime/group.h"

#include <algorithm>

#include "core/base/check.h"

namespace mycel {
namespace {

/// Where a part stands.
struct Cursor {
  GroupPart* part;
  bool points_started = false;
  size_t next = 0;  // collective
  bool done = false;
};

/// Starts the next operation of a part that is between operations; sets done at its end.
Status StartNext(Cursor* cursor) {
  GroupPart& part = *cursor->part;
  if (!cursor->points_started) {
    cursor->points_started = true;
    if (!part.points.empty()) return part.communicator->StartPoints(part.points);
  }
  if (cursor->next < part.collectives.size()) return part.communicator->Start(part.collectives[cursor->next++]);
  cursor->done = true;
  return OkStatus();
}

Status Turn(Cursor* cursor, bool* moved) {
  Communicator& communicator = *cursor->part->communicator;
  if (!communicator.running()) {
    *moved = true;
    return StartNext(cursor);
  }
  bool idle = false;
  MYCEL_RETURN_IF_ERROR(communicator.Advance(&idle));
  *moved |= !idle;
  return OkStatus();
}

}  // namespace

Status RunGroup(std::vector<GroupPart>& parts) {
  if (parts.empty()) return OkStatus();
  std::vector<Cursor> cursors;
  for (GroupPart& part : parts) cursors.push_back({&part});
  // One order for all threads, so that two groups over the same communicators cannot wait for each other.
  std::vector<Communicator*> entered;
  for (const GroupPart& part : parts) entered.push_back(part.communicator);
  std::sort(entered.begin(), entered.end());
  MYCEL_CHECK(std::adjacent_find(entered.begin(), entered.end()) == entered.end());
  for (Communicator* communicator : entered) communicator->Enter();

  Status first;
  const auto record = [&first](Cursor* cursor, const Status& status) {
    if (status.ok()) return;
    cursor->done = true;
    if (first.ok()) first = status;
  };
  // One wait for the whole group: it may sleep on the first bell only, so it never sleeps with several communicators.
  WaitPolicy policy = parts[0].communicator->wait_policy();
  if (parts.size() > 1 && policy.mode != WaitMode::kSpin) policy.mode = WaitMode::kYield;
  Waiter waiter(policy, parts.size() == 1 ? parts[0].communicator->bell() : nullptr);
  for (bool all_done = false; !all_done;) {
    bool moved = false;
    all_done = true;
    for (Cursor& cursor : cursors) {
      if (cursor.done) continue;
      record(&cursor, Turn(&cursor, &moved));
      all_done &= cursor.done;
    }
    if (moved) {
      waiter.Reset();
    } else if (!all_done && waiter.Pause()) {
      for (Cursor& cursor : cursors) {
        if (!cursor.done && cursor.part->communicator->running()) {
          record(&cursor, cursor.part->communicator->CheckWait(waiter.WaitedNs()));
        }
      }
    }
  }
  parts[0].communicator->CountSleeps(waiter.sleeps());
  for (Communicator* communicator : entered) communicator->Leave();
  return first;
}

}  // namespace mycel
