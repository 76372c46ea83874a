// Spreading: a first schedule for demands in which everybody wants everything: epoch by epoch, every rank takes as many
// new chunks over its links as it can (a maximum matching of its links and the chunks their other ends have), the
// rarest chunks first and, of these, the ones with the longest way before them.
#pragma once

#include <vector>

#include "core/base/rng.h"
#include "scheduler/timeflow/time_schedule.h"

namespace mycel::timeflow {

/// Whether every rank wants every item it has not got, and no switch copies: what Spread is for.
bool IsSpread(const TimeProblem& problem);

/// By item, as in TimeSchedule. `distances` of problem.graph. No link takes a chunk that another could bring more than
/// `patience` epochs sooner.
std::vector<std::vector<Send>> Spread(const TimeProblem& problem, const std::vector<int32_t>& distances,
                                      int32_t patience, Rng* rng);

}  // namespace mycel::timeflow
