// What this machine could do: copy and reduce speed of one thread alone and of all ranks at once, in cache and in
// memory, and from them the least time a row could take. bench/perf/README.md derives the bound of each collective.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "bench/perf/collective.h"
#include "bench/perf/team.h"

namespace mycel::perf {

/// Speeds for one buffer size, GB/s of payload per rank.
struct RooflineRow {
  size_t bytes = 0;       // of each of the two buffers
  double copy_alone = 0;  // b = a, one thread on an idle machine
  double copy_together = 0;
  double reduce_alone = 0;  // b += a in float32
  double reduce_together = 0;
};

struct Roofline {
  std::vector<RooflineRow> rows;  // from the smallest buffers (in cache) to the largest (in memory)

  /// The least µs for a row whose call of `size_bytes` needs `work`, when each rank's buffers together hold
  /// `footprint_bytes`. Speeds are those of all ranks at once, interpolated between the measured sizes.
  double BoundUs(const Work& work, double size_bytes, double footprint_bytes) const;
};

/// Every worker calls it; all get the same answer. About a second and a half.
StatusOr<Roofline> MeasureRoofline(Worker& worker);

}  // namespace mycel::perf
