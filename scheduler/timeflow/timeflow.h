// Planner timeflow: time-expanded scheduling of chunks, after TE-CCL (SIGCOMM 2024, arXiv 2305.13479). See README.md.
#pragma once

#include <cstdint>

#include "core/base/rational.h"
#include "core/base/status.h"
#include "core/spi/planner.h"

namespace mycel {

const Planner& TimeflowPlanner();

namespace timeflow {

/// What the search found, for eyes and reports. For allreduce the two halves are added up.
struct TimeFacts {
  int32_t chunks = 1;  // of a block (of the widest, where blocks differ)
  int32_t epochs = 0;
  int32_t bound = 0;  // no schedule of these chunks and epochs ends sooner
  Rational epoch_ns{1};
  int64_t rounds = 0;  // of search
};
StatusOr<TimeFacts> TimeFactsOf(const Topology& topology, const PlanRequest& request);

}  // namespace timeflow
}  // namespace mycel
