// The time-expanded search: a first schedule by list scheduling with look-ahead, then better ones by taking some chunks
// out and bringing them back another way, as long as that is no worse. No clock: its effort counts looked-at epochs.
#pragma once

#include <cstdint>
#include <functional>

#include "core/base/status.h"
#include "scheduler/timeflow/time_schedule.h"

namespace mycel::timeflow {

struct TimeSearch {
  int32_t starts = 16;                                          // first schedules, the best of which is kept
  int64_t probes_max = 4'000'000;                               // epochs looked at for a place, in all
  uint64_t seed = 1;                                            // equal seeds, equal schedules
  std::function<void(const TimeSchedule&)> progress = nullptr;  // after every schedule that ends sooner
};

/// The best schedule found; it ends where the bound is when it could be proved best. Impossible, naming two ranks, when
/// one does not reach a target; InvalidArgument for an item whose source, target, tenant or weight does not exist.
StatusOr<TimeSchedule> FindTimeSchedule(const TimeProblem& problem, const TimeSearch& search);

}  // namespace mycel::timeflow
