#include "bench/perf/job.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace mycel::perf {
namespace {

class SingleProcessJob final : public Job {
 public:
  SingleProcessJob() : Job(0, 1) {}
  Status AllGather(const void* mine, size_t bytes, void* everyone) override {
    std::memcpy(everyone, mine, bytes);
    return OkStatus();
  }
  std::string Description() const override { return "1 process"; }
};

// A whole number from the environment, or `missing`.
int NumberOf(const Environment& environment, const char* name, int missing) {
  const char* text = environment(name);
  if (text == nullptr || *text == '\0') return missing;
  char* end = nullptr;
  const long value = std::strtol(text, &end, 10);
  return *end == '\0' && value >= 0 && value < (1 << 24) ? static_cast<int>(value) : missing;
}

// Slurm writes node lists like "n[3-5,9],m1": the first name is where process 0 runs.
std::string FirstHost(const std::string& list) {
  const size_t bracket = list.find('[');
  const size_t comma = list.find(',');
  if (bracket == std::string::npos || comma < bracket) return list.substr(0, comma);
  const size_t end = list.find_first_of(",-]", bracket);
  return list.substr(0, bracket) + list.substr(bracket + 1, end - bracket - 1);
}

}  // namespace

std::unique_ptr<Job> SingleProcess() { return std::make_unique<SingleProcessJob>(); }

Launch DetectLaunch(const Environment& environment) {
  const struct {
    Launcher launcher;
    const char* size;
    const char* rank;
  } kinds[] = {
      {Launcher::kOpenMpi, "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"},
      {Launcher::kMpich, "PMI_SIZE", "PMI_RANK"},
      // srun --mpi=pmix says the rank itself and leaves the size to Slurm.
      {Launcher::kOpenMpi, "SLURM_STEP_NUM_TASKS", "PMIX_RANK"},
      {Launcher::kSlurm, "SLURM_STEP_NUM_TASKS", "SLURM_PROCID"},
  };
  for (const auto& kind : kinds) {
    const int size = NumberOf(environment, kind.size, 1);
    const int rank = NumberOf(environment, kind.rank, -1);
    if (size > 1 && rank >= 0 && rank < size) return {kind.launcher, rank, size};
  }
  return {};
}

StatusOr<std::unique_ptr<Job>> JoinLaunchedJob(const Launch& launch) {
  if (launch.launcher != Launcher::kSlurm) return JoinMpiJob(launch.launcher);
  // Every task of a step sees the same names, so all agree on process 0's address without talking.
  const Environment environment = [](const char* name) { return std::getenv(name); };
  const char* nodes = environment("SLURM_STEP_NODELIST");
  if (nodes == nullptr) {
    return InvalidUsage("started by srun, but SLURM_STEP_NODELIST is not set: use srun --mpi=pmix or mpirun");
  }
  constexpr int kFirstPort = 20000;
  constexpr int kPorts = 10000;
  const int seed = NumberOf(environment, "SLURM_JOB_ID", 0) * 31 + NumberOf(environment, "SLURM_STEP_ID", 0);
  return JoinSocketJob(launch.rank, launch.size, FirstHost(nodes), kFirstPort + seed % kPorts);
}

}  // namespace mycel::perf
