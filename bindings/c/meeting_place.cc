#include "bindings/c/meeting_place.h"

#include <cstring>
#include <map>
#include <string>

#include "core/base/env.h"
#include "core/base/mutex.h"
#include "transport/bootstrap/tcp.h"

namespace mycel {
namespace {

/// Meetings of this process by number. The number is the first 8 bytes of the place.
struct Meetings {
  Mutex mutex;
  uint64_t last ABSL_GUARDED_BY(mutex) = 0;
  std::map<uint64_t, std::weak_ptr<Meeting>> open ABSL_GUARDED_BY(mutex);
};

Meetings& OfProcess() {
  static auto* meetings = new Meetings();
  return *meetings;
}

}  // namespace

StatusOr<UniqueId> NewUniqueId() {
  MYCEL_ASSIGN_OR_RETURN(const std::string agreed, EnvText(Env::kCommId));
  if (!agreed.empty()) return UniqueIdFromHostPort(agreed);
  MYCEL_ASSIGN_OR_RETURN(const std::string interfaces, EnvText(Env::kInterface));
  return MakeUniqueId(interfaces);
}

StatusOr<HostedPlace> HostPlace(bool one_process, int32_t rank_count) {
  HostedPlace place;
  if (!one_process) {
    MYCEL_ASSIGN_OR_RETURN(const std::string interfaces, EnvText(Env::kInterface));
    MYCEL_ASSIGN_OR_RETURN(place.id, MakeUniqueId(interfaces));
    return place;
  }
  place.meeting = Meeting::Make(rank_count);
  Meetings& meetings = OfProcess();
  const MutexLock lock(meetings.mutex);
  std::erase_if(meetings.open, [](const auto& entry) { return entry.second.expired(); });
  const uint64_t number = ++meetings.last;
  meetings.open[number] = place.meeting;
  std::memcpy(place.id.bytes, &number, sizeof(number));
  return place;
}

StatusOr<std::unique_ptr<Bootstrap>> JoinPlace(const UniqueId& id, bool one_process, Rank rank, int32_t rank_count,
                                               Deadline deadline) {
  if (!one_process) return JoinTcp(id, rank, rank_count, deadline);
  uint64_t number = 0;
  std::memcpy(&number, id.bytes, sizeof(number));
  std::shared_ptr<Meeting> meeting;
  {
    Meetings& meetings = OfProcess();
    const MutexLock lock(meetings.mutex);
    const auto found = meetings.open.find(number);
    if (found != meetings.open.end()) meeting = found->second.lock();
  }
  if (meeting == nullptr) {
    return RemoteError("rank " + std::to_string(rank.value()) +
                       " came too late: the rank that offered the place to meet has failed or given up; see its own "
                       "error");
  }
  return meeting->Join(rank);
}

}  // namespace mycel
