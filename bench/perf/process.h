// One process of a run: meets the others, makes its ranks, runs its threads, reports if it is the first.
#pragma once

#include "bench/perf/collective.h"
#include "bench/perf/job.h"
#include "bench/perf/options.h"

namespace mycel::perf {

/// The whole life of one process once it has its job. Returns its exit code (perf.h).
int RunProcess(const Collective& collective, Options options, Job& job, int argc, char** argv);

/// InvalidArgument when -r names no rank of a run with that many ranks.
Status CheckRoot(const Collective& collective, const Options& options, int ranks);

}  // namespace mycel::perf
