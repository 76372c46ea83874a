// The processes of a run and how they meet, outside the library that is being measured: a result of the library must
// not decide whether the library was right. One operation, AllGather, is enough; barriers and reductions are made of
// it.
//
//   SingleProcess  one process
//   LocalJob       processes that --procs forked; a page of shared memory (job_local.cc)
//   MpiJob         started by mpirun or srun with an MPI; its MPI_Allgather, through a plugin (job_mpi.cc)
//   SocketJob      started by srun without an MPI; TCP to process 0 (job_socket.cc)
//
// One thread per process calls (Team, team.h, puts the threads of a process behind it).
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "core/base/status.h"

namespace mycel::perf {

class Job {
 public:
  Job(int rank, int size) : rank_(rank), size_(size) {}
  virtual ~Job() = default;
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }

  /// everyone[r * bytes .. ] = process r's `mine`. An error when another process has failed.
  virtual Status AllGather(const void* mine, size_t bytes, void* everyone) = 0;
  /// This process failed: wake the others out of AllGather where possible.
  virtual void Fail() {}
  /// Collective, at the end of a run that went well.
  virtual Status Leave() { return OkStatus(); }
  /// How the processes were started, for the header: "4 local processes", "mpirun (Open MPI)".
  virtual std::string Description() const = 0;

 protected:
  int rank_;
  int size_;
};

std::unique_ptr<Job> SingleProcess();

/// Looks up an environment variable; nullptr if unset. getenv in production.
using Environment = std::function<const char*(const char*)>;

/// Who started this process.
enum class Launcher { kNone, kOpenMpi, kMpich, kSlurm };

struct Launch {
  Launcher launcher = Launcher::kNone;
  int rank = 0;
  int size = 1;
};

/// Reads the launchers' variables: OMPI_COMM_WORLD_*, PMIX_RANK, PMI_*, SLURM_*. A size of 1 is no launcher.
Launch DetectLaunch(const Environment& environment);

/// Joins the job that the launcher made. `launch.launcher` is not kNone.
StatusOr<std::unique_ptr<Job>> JoinLaunchedJob(const Launch& launch);

StatusOr<std::unique_ptr<Job>> JoinMpiJob(Launcher launcher);
/// Host and port are where process 0 listens.
StatusOr<std::unique_ptr<Job>> JoinSocketJob(int rank, int size, const std::string& host, int port);

}  // namespace mycel::perf
