#include "bench/perf/perf.h"

#include <cstdio>
#include <cstdlib>
#include <memory>

#include "bench/perf/launcher.h"
#include "bench/perf/process.h"

namespace mycel::perf {
namespace {

int UsageError(const std::string& program, const std::string& message) {
  std::fprintf(stderr, "%s: %s\n", program.c_str(), message.c_str());
  return kExitUsage;
}

// Under mpirun or srun: this process is one of several already.
int RunLaunched(const Collective& collective, const Options& options, const Launch& launch, int argc, char** argv) {
  const std::string program(collective.program);
  if (options.procs > 1) {
    return launch.rank == 0 ? UsageError(program, "--procs starts processes, but mpirun or srun has started " +
                                                      std::to_string(launch.size) + " already: leave one of them out")
                            : kExitUsage;
  }
  StatusOr<std::unique_ptr<Job>> job = JoinLaunchedJob(launch);
  if (!job.ok()) {
    std::fprintf(stderr, "%s: %s\n", program.c_str(), StatusMessage(job.status()).c_str());
    return kExitError;
  }
  return RunProcess(collective, options, **job, argc, argv);
}

}  // namespace

int PerfMain(const Collective& collective, int argc, char** argv) {
  // Whole lines, so that the output of a running benchmark can be watched through a pipe.
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  const std::string program(collective.program);
  const Launch launch = DetectLaunch([](const char* name) { return std::getenv(name); });
  const ParsedOptions parsed = ParseOptions(collective.program, collective.takes_demand, argc, argv);
  if (!parsed.options.has_value()) {
    if (launch.rank == 0) std::fputs(parsed.text.c_str(), parsed.exit_code == 0 ? stdout : stderr);
    return parsed.exit_code;
  }
  const Options& options = *parsed.options;
  ExportOptions(options);
  if (launch.launcher != Launcher::kNone) return RunLaunched(collective, options, launch, argc, argv);

  const int ranks_per_process = options.threads * options.ranks_per_thread;
  const Status root = CheckRoot(collective, options, options.procs * ranks_per_process);
  if (!root.ok()) return UsageError(program, StatusMessage(root));
  if (options.procs == 1) {
    const std::unique_ptr<Job> job = SingleProcess();
    return RunProcess(collective, options, *job, argc, argv);
  }
  return RunLocalProcesses(program, options.procs, ranks_per_process, kGraceSeconds,
                           [&](Job& job) { return RunProcess(collective, options, job, argc, argv); });
}

}  // namespace mycel::perf
