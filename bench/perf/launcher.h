// --procs N: the parent forks N rank processes, waits for them, and lets none outlive the run, whichever way it ends.
#pragma once

#include <functional>
#include <string>

#include "bench/perf/job.h"

namespace mycel::perf {

/// Forks `procs` processes that run `body` and exit with what it returns; call it before any thread exists.
///
/// Returns in the parent: 0 when all went well, else the first failure's exit code (1 for a signal, 128 + signal when
/// the parent itself was asked to stop). A process that dies or fails is named on standard error with `program`; the
/// others then have `grace_s` seconds to end by themselves and report, and are killed afterwards. If the parent dies,
/// even by kill -9, the kernel kills the children. `ranks_per_process` is used to name ranks.
int RunLocalProcesses(const std::string& program, int procs, int ranks_per_process, int grace_s,
                      const std::function<int(Job&)>& body);

inline constexpr int kGraceSeconds = 10;

}  // namespace mycel::perf
