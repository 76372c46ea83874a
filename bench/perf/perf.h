// The program behind every *_perf: options, launch, sweep, report.
#pragma once

#include "bench/perf/collective.h"

namespace mycel::perf {

/// Exit codes: 0 all right; 1 wrong elements, or bandwidth below NCCL_TESTS_MIN_BW; 2 usage; 3 an error.
inline constexpr int kExitWrong = 1;
inline constexpr int kExitUsage = 2;
inline constexpr int kExitError = 3;

int PerfMain(const Collective& collective, int argc, char** argv);

}  // namespace mycel::perf
