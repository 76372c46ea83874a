#include "transport/bootstrap/room.h"

#include <algorithm>

#include "core/base/check.h"
#include "transport/bootstrap/rank_list.h"

namespace mycel {
namespace {

/// Answers must arrive before the rank's own deadline.
SteadyTime AnswerBy(SteadyTime now, std::chrono::milliseconds patience) {
  const auto margin = std::min(patience / 10, std::chrono::milliseconds(200));
  return now + patience - margin;
}

std::string SecondsText(std::chrono::milliseconds time) {
  const auto tenths = time.count() / 100;
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " s";
}

}  // namespace

std::shared_ptr<const std::string> FailureFrame(const Status& status) {
  std::string payload;
  PutInteger(&payload, static_cast<uint64_t>(status.code()), 4);
  payload += StatusMessage(status);
  return Encode(FrameType::kFailure, payload);
}

void Room::Tell(Guest* guest, const std::shared_ptr<const std::string>& frame) {
  guest->waiting = false;
  if (!guest->connection.Send(frame)) guest->broken = true;
}

void Room::TellAll(const std::shared_ptr<const std::string>& frame) {
  for (const bool at_home : {false, true}) {
    for (Guest* guest : guests_) {
      if (guest != nullptr && guest->waiting && guest->at_home == at_home) Tell(guest, frame);
    }
  }
}

void Room::Wait(Guest* guest, SteadyTime now) {
  guest->waiting = true;
  guest->deadline = AnswerBy(now, guest->patience);
}

void Room::Fail(const Status& status) {
  if (!failed_.ok()) return;
  failed_ = status;
  TellAll(FailureFrame(status));
}

void Room::Register(Guest* guest, int32_t rank_count, SteadyTime now) {
  const auto n = static_cast<int32_t>(guests_.size());
  const auto refuse = [&](const Status& status) {
    Fail(status);
    Tell(guest, FailureFrame(failed_));
    guest->rank = Rank();
  };
  if (!failed_.ok()) return refuse(failed_);
  if (rank_count != n) {
    const auto other = std::find_if(guests_.begin(), guests_.end(), [](const Guest* g) { return g != nullptr; });
    const std::string first = other == guests_.end() ? "an earlier rank" : (*other)->who;
    return refuse(InvalidUsage(guest->who + " says there are " + std::to_string(rank_count) + " ranks, " + first +
                               " says " + std::to_string(n) + ": give all ranks the same number and the same id"));
  }
  if (guest->rank.value() < 0 || guest->rank.value() >= n) {
    return refuse(InvalidArgument(guest->who + " does not exist: there are " + std::to_string(n) + " ranks, 0 to " +
                                  std::to_string(n - 1)));
  }
  Guest*& place = guests_[guest->rank.index()];
  if (place != nullptr) {
    return refuse(InvalidUsage("a rank is claimed twice, by " + place->who + " and by " + guest->who +
                               ": give each process or thread its own rank"));
  }
  place = guest;
  Wait(guest, now);
  if (++registered_ < guests_.size()) return;
  full_ = true;
  TellAll(Encode(FrameType::kRegistered, std::string()));
}

void Room::Bring(Guest* guest, const std::string& value, SteadyTime now) {
  if (!full_ || guest->waiting) {
    guest->broken = true;  // no rank of ours does that
    return;
  }
  if (!failed_.ok()) return Tell(guest, FailureFrame(failed_));
  values_[guest->rank.index()] = value;
  Wait(guest, now);
  if (!Missing().empty()) return;
  std::string payload;
  for (std::string& each : values_) {
    PutInteger(&payload, each.size(), 8);
    payload += each;
    each.clear();
  }
  TellAll(Encode(FrameType::kTable, payload));
}

void Room::Leave(Guest* guest) {
  if (!guest->rank.valid()) return;
  MYCEL_CHECK(guests_[guest->rank.index()] == guest);
  guests_[guest->rank.index()] = nullptr;
  guest->waiting = false;
  Fail(RemoteError(guest->who + " left or lost its connection" + (full_ ? "" : " before all ranks had joined") +
                   ": see its own error"));
}

std::vector<Rank> Room::Missing() const {
  std::vector<Rank> missing;
  for (size_t r = 0; r < guests_.size(); ++r) {
    const bool here = guests_[r] != nullptr && (!full_ || guests_[r]->waiting);
    if (!here) missing.push_back(Rank(static_cast<int64_t>(r)));
  }
  return missing;
}

void Room::CheckDeadlines(SteadyTime now) {
  if (!failed_.ok()) return;
  for (const Guest* guest : guests_) {
    if (guest == nullptr || !guest->waiting || guest->deadline > now) continue;
    return Fail(TimeoutError(guest->who + " waited " + SecondsText(guest->patience) + " in vain for " +
                             RankList(Missing()) +
                             (full_ ? ": see why they are late, or raise MYCEL_TIMEOUT"
                                    : " to join: were they started with this id, can they reach this machine "
                                      "(MYCEL_INTERFACE), is MYCEL_TIMEOUT long enough?")));
  }
}

SteadyTime Room::NextDeadline() const {
  SteadyTime next = SteadyTime::max();
  for (const Guest* guest : guests_) {
    if (guest != nullptr && guest->waiting && failed_.ok()) next = std::min(next, guest->deadline);
  }
  return next;
}

bool Room::HasGuests() const {
  return std::any_of(guests_.begin(), guests_.end(), [](const Guest* guest) { return guest != nullptr; });
}

}  // namespace mycel
