// TimeSchedule: which chunk crosses which hop in which epoch, and the recount that believes none of it.
#pragma once

#include <cstdint>
#include <tuple>
#include <vector>

#include "core/base/status.h"
#include "scheduler/timeflow/time_problem.h"

namespace mycel::timeflow {

/// `item` enters `hop` in `epoch`. Where a switch copies what it gets by another send, only the edges from `first` on
/// are crossed anew; `epoch` is when the whole hop would have begun.
struct Send {
  int32_t item = 0;
  int32_t hop = 0;
  int32_t epoch = 0;
  int32_t first = 0;
  friend bool operator==(const Send&, const Send&) = default;
};

/// What is minimised, the first first: weighted ends of the tenants, then how much comes last, then all arrivals.
struct TimeCost {
  int64_t weighted_end = 0;
  int64_t last = 0;      // deliveries in a tenant's last epoch
  int64_t arrivals = 0;  // sum of the epochs of all deliveries
  friend auto operator<=>(const TimeCost&, const TimeCost&) = default;
};

struct TimeSchedule {
  std::vector<std::vector<Send>> sends;  // by item; a rank's own receipt comes before what it sends on
  std::vector<int32_t> ends;             // by tenant: epochs until it is served
  int32_t epochs = 0;                    // of all tenants
  int32_t bound = 0;                     // FinishBound: epochs == bound is a proof
  TimeCost cost;
  int64_t rounds = 0;  // of search
};

/// Arrivals of one item's sends over its targets: their sum, and the last.
struct ItemEnd {
  int32_t end = 0;
  int64_t arrivals = 0;
};
ItemEnd EndOf(const TimeProblem& problem, const Item& item, const std::vector<Send>& sends);

/// Recounts everything from the sends alone: links and their windows, that nothing is sent before it is there, that a
/// switch passes on at once, that no rank receives a chunk twice, that every target is reached, and all numbers but
/// `bound`. InternalError naming the item and the epoch.
Status CheckTimeSchedule(const TimeProblem& problem, const TimeSchedule& schedule);

}  // namespace mycel::timeflow
